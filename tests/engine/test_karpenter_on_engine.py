"""The proof's words on growth against Karpenter's own controller, which calls the simulated EC2."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.home import Home
from tests.engine.growth_mixes import KARPENTER, MOST_ON_KARPENTER, agree, draw, settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.growth_mixes import GrowthMix
    from tests.engine.rehearsed import Rehearsed

SEEDS = (7, 9, 10, 0, 3, 5, 6, 11, 12, 17, 19, 20, 23)
QUICK = 3


def mix_of(seed: int) -> GrowthMix:
    return draw(seed, MOST_ON_KARPENTER, KARPENTER)["dots"]


def stack_file(rehearsed: Rehearsed, fleet: dict[str, Any], **limits: object) -> Path:
    file = rehearsed.files / "karpenter.yaml"
    yaml = YAML(typ="safe", pure=True)
    (rehearsed.files / "hardware").mkdir(exist_ok=True)
    yaml.dump({"clusters": {}, "eks": limits}, rehearsed.files / "hardware" / "karpenter.yaml")  # pyright: ignore[reportUnknownMemberType]
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    yaml.dump({"config": config}, file)  # pyright: ignore[reportUnknownMemberType]
    return file


@pytest.fixture(scope="module")
def home(rehearsed: Rehearsed) -> Home:
    """A rehearsal of the cluster without workloads."""
    rehearsed.up(stack_file(rehearsed, settings(clusters=KARPENTER)))
    return Home.at(rehearsed.home)


def test_the_mixes_have_every_verdict_often_enough() -> None:
    for seeds in (SEEDS[:QUICK], SEEDS):
        mixes = [mix_of(seed) for seed in seeds]
        words = Counter(item.word for mix in mixes for item in mix.proof.workloads)
        assert words["guaranteed"] > len(seeds) / 2
        assert words["never"]
        assert not any(mix.never_first for mix in mixes)


@pytest.mark.engine
@pytest.mark.parametrize("seed", SEEDS[:QUICK])
def test_karpenter_makes_nodes_for_guaranteed_pods_and_removes_idle_nodes(home: Home, seed: int) -> None:
    print(asyncio.run(agree(home, "dots", mix_of(seed), f"mix-{seed}", keep_one=seed % 3 == 0)))  # noqa: T201


@pytest.mark.engine
@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS[QUICK:])
def test_karpenter_makes_nodes_for_guaranteed_pods_of_all_other_mixes(home: Home, seed: int) -> None:
    print(asyncio.run(agree(home, "dots", mix_of(seed), f"mix-{seed}", keep_one=seed % 3 == 0)))  # noqa: T201


@pytest.mark.full
@pytest.mark.engine
def test_the_status_names_the_quota_and_the_shortage_that_prevent_nodes(own_rehearsed: Rehearsed) -> None:
    workloads = {
        "dots-ada": {"cluster": "dots", "claim": "ada", "copies": 1},
        "dots-three": {"cluster": "dots", "claim": "three", "copies": 1},
    }
    fleet = settings(workloads, KARPENTER)
    limits = {"quotas": {"G and VT": 8}, "stockOuts": ["g6.xlarge"]}

    short = own_rehearsed.run(
        "rehearse", "up", str(stack_file(own_rehearsed, fleet, **limits)), "--wait", "20", "--json"
    )
    found = short.json["clusters"]["dots"]["workloads"]

    assert short.code == 3
    assert (
        "InsufficientInstanceCapacity: We currently do not have sufficient g6.xlarge"
        in found["dots-ada"]["reason"]
    )
    assert "current vCPU limit of 8 allows for the instance bucket G and VT" in found["dots-three"]["reason"]
