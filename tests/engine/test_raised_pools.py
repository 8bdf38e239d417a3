"""Every pool of the examples on clouds, raised and lowered by one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from ruamel.yaml import YAML

from tests.engine.rehearsed import PROJECT
from tests.engine.test_examples import ALLOCATED, CHECKED_AT_LENGTH

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

ON_CLOUDS: Final = ("ack-", "aks-", "eks-", "gke-", "floor-", "production")


@pytest.mark.parametrize(
    "example", [name for name in ALLOCATED | CHECKED_AT_LENGTH if name.startswith(ON_CLOUDS)]
)
def test_pools_follow_when_each_is_raised_and_lowered_by_one_node(
    own_rehearsed: Rehearsed, example: str
) -> None:
    yaml: Any = YAML(typ="safe", pure=True)
    stack = yaml.load(PROJECT / "examples" / f"{example}.yaml")
    clusters = stack["config"]["dra-fleet:fleet"]["clusters"]

    def deployed(more: int) -> dict[str, dict[str, int]]:
        for cluster in clusters.values():
            for pool in cluster["pools"].values():
                pool["nodes"] = {key: count + more for key, count in pool["nodes"].items()}
        file = own_rehearsed.files / f"{example}.yaml"
        yaml.dump(stack, file)
        up = own_rehearsed.up(file)
        assert up["all_allocated"] is True
        return {
            name: {pool: found["nodes"] for pool, found in cluster["pools"].items()}
            for name, cluster in up["clusters"].items()
        }

    before = deployed(0)
    raised = {
        cluster: {name: count + 1 for name, count in pools.items()} for cluster, pools in before.items()
    }
    assert deployed(1) == raised
    assert deployed(-1) == before
