from tests.clouds.aks.aks_fleets import vgpu
from tests.fleet.plan.tables import Case, table


@table(__file__, vgpu)
def test_plan(case: Case) -> None:
    case.verify()
