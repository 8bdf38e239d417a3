"""The proof's verdicts against the real scheduler: pods come one by one, in an order drawn from a seed.

The simulated driver publishes the ResourceSlices. A pod is checked by its PodScheduled condition alone.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.engine.arrival_mixes import DEVICES, HARDWARE, draw
from tests.engine.arrivals import agree, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine

SEEDS = range(100)
HALF = 50


@pytest.fixture(scope="module")
def cluster(
    rehearsal_simulator: RehearsalWorld, tools: Toolset, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SimulatedCluster]:
    """Four machines whose devices the driver of the plan has published, and the plan's classes."""
    made = rehearsal_simulator.new_cluster(HARDWARE)
    asyncio.run(prepare(made, draw(0), DEVICES, tools, tmp_path_factory.mktemp("values") / "values.json"))
    yield made
    rehearsal_simulator.remove(made)


def test_the_mixes_hold_every_verdict_often_enough() -> None:
    for half in (SEEDS[:HALF], SEEDS[HALF:]):
        mixes = [draw(seed) for seed in half]
        words = Counter(item.word for mix in mixes for item in mix.proof.workloads)
        assert words["guaranteed"] > HALF / 2
        assert words["never"] > HALF / 6
        assert words["possible"] > HALF / 3
        assert sum(not mix.proof.fits for mix in mixes) > HALF / 5
        assert any(not mix.proof.fits and not mix.words("never") for mix in mixes)
        assert any(mix.without_a_place() for mix in mixes)


@pytest.mark.parametrize("seed", SEEDS[:HALF])
def test_no_guaranteed_pod_ever_waits_and_none_called_never_is_placed(
    cluster: SimulatedCluster, seed: int
) -> None:
    asyncio.run(agree(cluster, draw(seed), f"mix-{seed}"))


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS[HALF:])
def test_no_guaranteed_pod_of_the_other_half_ever_waits(cluster: SimulatedCluster, seed: int) -> None:
    asyncio.run(agree(cluster, draw(seed), f"mix-{seed}"))
