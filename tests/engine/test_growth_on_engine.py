"""The proof's words on growth against pools that scale on the real scheduler, over two simulated clouds."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML

from dra_fleet.rehearsal.home import Home
from tests.engine.growth_mixes import agree, draw, settings

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

SEEDS = range(30)
QUICK = 6


@pytest.fixture(scope="module")
def home(rehearsed: Rehearsed) -> Home:
    """A rehearsal of both clusters without workloads."""
    content = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": settings()}
    file = rehearsed.files / "growth.yaml"
    yaml = YAML(typ="safe", pure=True)
    yaml.dump({"config": content}, file)  # pyright: ignore[reportUnknownMemberType]
    (rehearsed.files / "hardware").mkdir(exist_ok=True)
    (rehearsed.files / "hardware" / "growth.yaml").write_text("clusters: {}\n")
    rehearsed.up(file)
    return Home.at(rehearsed.home)


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
