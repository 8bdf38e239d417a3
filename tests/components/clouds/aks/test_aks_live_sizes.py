from typing import Any

import pulumi
import pytest

from dra_fleet.model.plan import FleetPlan
from dra_fleet.testing import Recorder
from tests.clouds.aks.aks_fleets import cluster, pool, vgpu
from tests.components.clouds.aks.test_aks import CLUSTER, LIVE, POOL, azure, declare, fleet_plan
from tests.components.clouds.test_adopting import Refused, failing

__all__ = ["azure", "failing"]


def scaled(fleet: dict[str, Any]) -> FleetPlan:
    """The fleet with a GPU pool and a system pool of 3 to 6 nodes."""
    pool(fleet)["nodes"] = {"min": 3, "max": 6}
    cluster(fleet)["systemPool"] = {"nodes": {"min": 3, "max": 6}}
    return fleet_plan(fleet)


def asked_for(azure: Recorder) -> dict[str, tuple[int | None, int, int | None]]:
    """By pool: the fewest nodes, the number that is asked for, the most."""
    pools = [*azure.only(CLUSTER).inputs["agentPoolProfiles"], azure.only(POOL).inputs]
    return {one["mode"]: (one.get("minCount"), one["count"], one.get("maxCount")) for one in pools}


def refusing(engine: Recorder, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Azure refuse to describe the cluster."""
    call = engine.call

    def refused(args: Any) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        if args.token == LIVE:
            raise Refused(f"invocation of {LIVE} returned an error: {answer}")
        return call(args)

    monkeypatch.setattr(engine, "call", refused)


@pytest.mark.parametrize(
    ("live", "asked"),
    [([], 3), ([2], 3), ([3], 3), ([5], 5), ([8], 6), ([None], 3)],
    ids=["absent", "at the old minimum", "at its minimum", "grown", "above a lowered maximum", "empty"],
)
def test_autoscaled_pools_are_asked_for_the_nodes_they_have_within_their_bounds(
    live: list[int | None], asked: int, azure: Recorder
) -> None:
    plan = scaled(vgpu())
    declare(azure, plan)
    name = azure.only(POOL).inputs["agentPoolName"]
    azure.registrations.clear()
    azure.answers[LIVE] = {
        "agentPoolProfiles": [{"name": one, "count": count} for one in ("system", name) for count in live]
    }

    declare(azure, plan)

    assert asked_for(azure) == {"System": (3, asked, 6), "User": (3, asked, 6)}


def test_the_pools_of_a_cluster_that_is_not_there_yet_are_not_asked_for(azure: Recorder) -> None:
    azure.preview = True
    declare(azure, scaled(vgpu()))
    assert LIVE not in {token for token, _, _ in azure.calls}


def test_pools_of_a_fixed_size_need_no_one_s_answer(azure: Recorder) -> None:
    fleet = vgpu()
    pool(fleet)["nodes"] = {"min": 4, "max": 4}
    cluster(fleet)["systemPool"] = {"nodes": {"min": 2, "max": 2}}
    declare(azure, fleet_plan(fleet))
    assert asked_for(azure) == {"System": (None, 2, None), "User": (None, 4, None)}
    assert LIVE not in {token for token, _, _ in azure.calls}


@pytest.mark.parametrize("code", ["ResourceNotFound", "ResourceGroupNotFound", "NotFound"])
def test_a_cluster_that_is_not_there_has_no_nodes(
    code: str, azure: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing(azure, f'Status=404 Code="{code}" Message="it is not there"', monkeypatch)
    declare(azure, scaled(vgpu()))
    assert asked_for(azure) == {"System": (3, 3, 6), "User": (3, 3, 6)}


def test_any_other_refusal_ends_the_program_before_a_pool_can_shrink(
    failing: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = 'Status=403 Code="AuthorizationFailed" Message="the client may not read it: NotFound"'
    refusing(failing, refused, monkeypatch)

    with pytest.raises(pulumi.RunError) as stopped:
        declare(failing, scaled(vgpu()))

    assert str(stopped.value) == (
        "dra-fleet:fleet.clusters.studio: "
        "the numbers of nodes that its autoscaled pools have cannot be read\n"
        f"  got: {refused}\n"
        "  allowed: a cluster that your login may read\n"
        "  fix: ask for the permission Microsoft.ContainerService/managedClusters/read"
    )
    assert not {CLUSTER, POOL} & {entry.type for entry in failing.registrations.values()}
