from tests.clouds.gke.gke_fleets import l4, tpu
from tests.fleet.plan.tables import Case, table


@table(__file__, l4, tpu)
def test_plan(case: Case) -> None:
    case.verify()
