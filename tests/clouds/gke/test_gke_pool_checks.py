from tests.clouds.gke.gke_fleets import l4, part, tpu
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table


@table(__file__, l4, tpu, part)
def test_plan(case: Case) -> None:
    case.verify()


def test_as_many_chips_as_every_node_has_may_be_counted() -> None:
    fleet = tpu()
    fleet["claims"]["node"]["requests"]["tpu"] = {"class": "tpu.google.com", "count": 4}
    planned(fleet)
