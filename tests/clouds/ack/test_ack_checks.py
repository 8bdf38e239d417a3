from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.clouds.ack.account import exposure
from dra_fleet.clouds.ack.facts import is_mainland
from dra_fleet.fleet import parse
from tests.clouds.ack.ack_fleets import a10, adopted, cluster, values
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table

MAINLAND = {"region": "cn-hangzhou", "create": {"network": {"zones": ["cn-hangzhou-i"]}}}


@table(__file__, a10, adopted)
def test_plan(case: Case) -> None:
    case.verify()


@pytest.mark.parametrize("given", ["registry", "values"])
def test_a_mirror_s_image_reaches_the_chart(given: str) -> None:
    fleet = a10()
    cluster(fleet).update(MAINLAND)
    mirror = "registry-vpc.cn-hangzhou.cr.aliyuncs.com/ml"
    if given == "registry":
        cluster(fleet)["registry"] = mirror
    else:
        values(fleet)["image"] = {"repository": f"{mirror}/nvidia-dra-driver-gpu"}
    plan = planned(fleet)
    assert plan.warnings == ()
    image = plan.clusters[0].releases[0].values["image"]
    assert image == {"repository": f"{mirror}/nvidia-dra-driver-gpu"}


def test_hong_kong_is_not_mainland_china() -> None:
    assert [is_mainland(region) for region in ("cn-hongkong", "cn-beijing", "eu-central-1")] == [
        False,
        True,
        False,
    ]


def test_a_public_address_is_everybody_s() -> None:
    fleet = a10()
    cluster(fleet)["access"] = {"public": True}
    (warning,) = planned(fleet).warnings
    assert "its API server has a public address that everybody reaches" in warning
    settings: Any = parse(fleet).clusters["asia"]
    assert next((output.text, output.level) for output in exposure(settings)) == (
        "public address, open to everybody",
        "warning",
    )


def test_every_machine_is_one_of_ack_s_with_gpus() -> None:
    for machine in clouds.named("ack").machines.values():
        assert machine.name.startswith("ecs.")
        assert machine.gpus > 0
