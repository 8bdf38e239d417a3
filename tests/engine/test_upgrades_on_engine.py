"""Transitions of the upgrade data, rehearsed: claims stay allocated, or nothing is changed."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed, Settings

pytestmark = pytest.mark.engine

GONE_SECONDS = 120.0
EXAMPLE = PROJECT / "examples" / "aks-mig.yaml"


def small(fleet: Settings, driver: str) -> None:
    """Keep one pool of whole GPUs and one workload."""
    fleet["clusters"]["lab"]["drivers"] = {"nvidia": {"version": driver}}
    del fleet["clusters"]["lab"]["pools"]["a100"]
    fleet["workloads"] = {"train": fleet["workloads"]["train"]}
    fleet["claims"] = {"single-gpu": fleet["claims"]["single-gpu"]}
    fleet["classes"] = {"at-least-20g": fleet["classes"]["at-least-20g"]}


def without_driver(fleet: Settings) -> None:
    small(fleet, "0.4.0")
    fleet["clusters"]["lab"]["drivers"] = {}
    del fleet["workloads"]


async def allocated(home: Home, cluster: str = "lab") -> dict[str, Any]:
    """The results of all allocated claims, by the uid of the claim."""
    async with connect(home, cluster) as api:
        claims = (await api.list("resource.k8s.io/v1", "ResourceClaim"))["items"]
    return {
        claim["metadata"]["uid"]: claim["status"]["allocation"]["devices"]["results"]
        for claim in claims
        if claim.get("status", {}).get("allocation")
    }


def deploy(rehearsed: Rehearsed, driver: str) -> dict[str, Any]:
    """Deploy with a driver's version, and return what is allocated afterwards."""
    up = rehearsed.up(rehearsed.stack_file(lambda fleet: small(fleet, driver)))
    assert up["all_allocated"] is True
    return asyncio.run(allocated(Home.at(rehearsed.home)))


def test_claims_stay_allocated_from_0_4_0_to_0_4_1_and_0_5_0(own_rehearsed: Rehearsed) -> None:
    before = deploy(own_rehearsed, "0.4.0")
    assert len(before) == 2
    for version in ("0.4.1", "0.5.0"):
        assert deploy(own_rehearsed, version) == before


@pytest.mark.full
def test_claims_stay_allocated_when_the_owner_of_a_cluster_upgrades_it_from_1_36_to_1_37(
    own_rehearsed: Rehearsed,
) -> None:
    def change(fleet: Settings) -> None:
        small(fleet, "0.5.0")
        fleet["kubernetes"] = "1.37"

    before = deploy(own_rehearsed, "0.5.0")
    file = own_rehearsed.stack_file(change)
    hardware = file.parent / "hardware" / file.name
    hardware.write_text(hardware.read_text().replace("v1.36.3", "v1.37.2"))

    up = own_rehearsed.up(file)

    assert up["clusters"]["lab"]["kubernetes"] == "v1.37.2"
    assert up["all_allocated"] is True
    assert asyncio.run(allocated(Home.at(own_rehearsed.home))) == before


@pytest.mark.full
def test_the_renamed_chart_is_refused_while_the_old_one_publishes_and_follows_after_it(
    own_rehearsed: Rehearsed,
) -> None:
    before = deploy(own_rehearsed, "25.12.0")
    new = own_rehearsed.stack_file(lambda fleet: small(fleet, "0.4.0"))

    refused = own_rehearsed.run("rehearse", "up", str(new))

    assert refused.code == 1
    assert "another installation already publishes" in refused.err
    assert asyncio.run(allocated(Home.at(own_rehearsed.home))) == before

    assert own_rehearsed.run("rehearse", "up", str(own_rehearsed.stack_file(without_driver))).code == 0
    deadline = time.monotonic() + GONE_SECONDS
    while (
        up := own_rehearsed.run("rehearse", "up", str(own_rehearsed.stack_file(_to_0_4_0)), "--json")
    ).code:
        assert "another installation already publishes" in up.err
        assert time.monotonic() < deadline
        time.sleep(2)
    assert up.json["all_allocated"] is True


@pytest.mark.full
def test_claims_stay_allocated_through_upgrades_of_kubernetes_and_operator_before_a_new_layout(
    own_rehearsed: Rehearsed,
) -> None:
    yaml: Any = YAML(typ="safe", pure=True)
    stack = yaml.load(EXAMPLE)
    fleet: Settings = stack["config"]["dra-fleet:fleet"]
    cluster, workloads = fleet["clusters"]["mnist"], fleet["workloads"]
    fleet |= {"environment": "development", "kubernetes": "1.34"}

    def deployed(minor: str) -> dict[str, Any]:
        file = own_rehearsed.files / EXAMPLE.name
        yaml.dump(stack, file)
        up = own_rehearsed.up(file)
        assert up["all_allocated"] is True
        assert up["clusters"]["mnist"]["kubernetes"].startswith(f"v{minor}.")
        return asyncio.run(allocated(Home.at(own_rehearsed.home), "mnist"))

    before = deployed("1.34")
    assert len(before) == 7
    for minor in ("1.35", "1.36"):
        fleet["kubernetes"] = minor
        assert deployed(minor) == before
    cluster["gpuOperator"]["version"] = "v26.7.0"
    assert deployed("1.36") == before
    fleet["workloads"] = {}
    assert deployed("1.36") == {}
    cluster["pools"]["mig"]["sharing"]["layout"] = {"3g.40gb": 2}
    fleet["classes"]["nvidia-mig"]["profile"] = "3g.40gb"
    fleet["workloads"] = workloads
    after = deployed("1.36").values()
    assert {result["device"].rsplit("-", 2)[0][-1] for results in after for result in results} == {"9"}


def _to_0_4_0(fleet: Settings) -> None:
    small(fleet, "0.4.0")
