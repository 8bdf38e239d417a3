from dra_fleet.clouds.aks.settings import AksClusterSettings
from dra_fleet.fleet import parse
from tests.clouds.aks.aks_fleets import pool, vgpu
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table


@table(__file__, vgpu)
def test_plan(case: Case) -> None:
    case.verify()


def test_defaults_need_no_quota_and_start_nothing_by_themselves() -> None:
    settings = parse(vgpu()).clusters["studio"]
    assert isinstance(settings, AksClusterSettings)
    assert settings.pools["gpu"].upgrade.unavailable == "1"
    assert (settings.upgrades.kubernetes, settings.upgrades.node_image) == ("none", "None")
    assert planned(vgpu()).clusters[0].kubeconfig is None


def test_a_zone_may_be_written_as_a_number() -> None:
    fleet = vgpu()
    pool(fleet)["zones"] = [1, "2"]
    settings = parse(fleet).clusters["studio"]
    assert isinstance(settings, AksClusterSettings)
    assert settings.pools["gpu"].zones == ("1", "2")
