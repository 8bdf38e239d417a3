from tests.clouds.aks.aks_fleets import mig, vgpu
from tests.fleet.plan.tables import Case, table


@table(__file__, vgpu, mig)
def test_plan(case: Case) -> None:
    case.verify()
