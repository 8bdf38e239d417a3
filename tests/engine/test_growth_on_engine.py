"""The proof's words on growth against pools that scale on the real scheduler, over two simulated clouds."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.home import Home
from tests.engine.growth_mixes import CLUSTERS, agree, draw, settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

SEEDS = range(30)
QUICK = 6


@pytest.fixture(scope="module")
def home(rehearsed: Rehearsed) -> Home:
    """A rehearsal of both clusters without workloads."""
    rehearsed.up(stack_file(rehearsed, settings()))
    return Home.at(rehearsed.home)


def stack_file(rehearsed: Rehearsed, fleet: dict[str, Any], quota: int = 1000) -> Path:
    """Write a stack, and the quota of its vGPUs in vCPUs."""
    file = rehearsed.files / "growth.yaml"
    yaml = YAML(typ="safe", pure=True)
    (rehearsed.files / "hardware").mkdir(exist_ok=True)
    hardware = {"clusters": {}, "aks": {"quotas": {"standardNVADSA10v5Family": quota}}}
    yaml.dump(hardware, rehearsed.files / "hardware" / "growth.yaml")  # pyright: ignore[reportUnknownMemberType]
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    yaml.dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    return file


@pytest.mark.full
@pytest.mark.engine
def test_the_status_names_the_quota_that_prevents_growth_and_a_larger_quota_lets_the_pool_grow(
    own_rehearsed: Rehearsed,
) -> None:
    workload = {"cluster": "desk", "claim": "any", "copies": 2}
    fleet = settings({"desk-any": workload})
    desk = CLUSTERS["desk"]
    fleet["clusters"] = {"desk": {**desk, "pools": {"sixth": desk["pools"]["sixth"]}}}

    short = own_rehearsed.run(
        "rehearse", "up", str(stack_file(own_rehearsed, fleet, quota=6)), "--wait", "15", "--json"
    )
    reason = short.json["clusters"]["desk"]["workloads"]["desk-any"]["reason"]
    grown = own_rehearsed.up(stack_file(own_rehearsed, fleet))

    assert short.code == 3
    assert "the autoscaler: scale-up of pool sixth" in reason
    assert "Insufficient vcpu quota requested 6, remaining 0" in reason
    assert grown["all_allocated"]
    assert "cluster desk: the simulated autoscaler added 1 of the 2 nodes of pool sixth" in grown["notes"]


def test_the_mixes_have_every_verdict_often_enough() -> None:
    for seeds in (SEEDS[:QUICK], SEEDS):
        mixes = [mix for seed in seeds for mix in draw(seed).values()]
        words = Counter(item.word for mix in mixes for item in mix.proof.workloads)
        growing = [one for mix in mixes for one in mix.proof.workloads if one.word != one.at_min]
        assert words["guaranteed"] > len(seeds)
        assert len(growing) > len(seeds) / 2
        assert any(mix.without_a_place() for mix in mixes)
    assert any(mix.never_first for seed in SEEDS for mix in draw(seed).values())


async def run(home: Home, seed: int) -> list[str]:
    mixes = draw(seed).items()
    keep_one = seed % 3 == 0
    return await asyncio.gather(
        *(agree(home, name, mix, f"mix-{seed}", keep_one=keep_one) for name, mix in mixes)
    )


@pytest.mark.engine
@pytest.mark.parametrize("seed", SEEDS[:QUICK])
def test_guaranteed_pods_get_nodes_and_idle_nodes_are_removed(home: Home, seed: int) -> None:
    print(*asyncio.run(run(home, seed)), sep="\n")  # noqa: T201 - the outcome is part of the result


@pytest.mark.engine
@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS[QUICK:])
def test_guaranteed_pods_of_all_other_mixes_get_nodes(home: Home, seed: int) -> None:
    print(*asyncio.run(run(home, seed)), sep="\n")  # noqa: T201 - the outcome is part of the result
