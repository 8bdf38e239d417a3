"""Every pool of the examples on clouds, raised and lowered by one node."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from ruamel.yaml import YAML

from tests.engine.rehearsed import PROJECT
from tests.engine.test_examples import ALLOCATED, CHECKED_AT_LENGTH

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

ON_CLOUDS: Final = ("ack-", "aks-", "eks-", "gke-", "production")
EXAMPLES: Final = [name for name in ALLOCATED | CHECKED_AT_LENGTH if name.startswith(ON_CLOUDS)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_pods_keep_their_devices_while_each_pool_is_raised_and_lowered_by_one_node(
    own_rehearsed: Rehearsed, example: str
) -> None:
    yaml: Any = YAML(typ="safe", pure=True)
    stack = yaml.load(PROJECT / "examples" / f"{example}.yaml")
    clusters = stack["config"]["dra-fleet:fleet"]["clusters"]
    pools = {(name, pool): found for name, item in clusters.items() for pool, found in item["pools"].items()}
    fixed = {key for key, pool in pools.items() if pool["nodes"]["min"] == pool["nodes"]["max"]}

    def deployed(more: int) -> tuple[dict[tuple[str, str], int], object]:
        for pool in pools.values():
            pool["nodes"] = {key: count + more for key, count in pool["nodes"].items()}
        file = own_rehearsed.files / f"{example}.yaml"
        yaml.dump(stack, file)
        up = own_rehearsed.up(file)
        assert up["all_allocated"] is True
        nodes = {(name, pool): up["clusters"][name]["pools"][pool]["nodes"] for name, pool in pools}
        assert all(count <= pools[key]["nodes"]["max"] for key, count in nodes.items())
        kept = own_rehearsed.state(example)
        urns = {item["urn"] for item in json.loads(kept)["checkpoint"]["latest"]["resources"]}
        return {key: nodes[key] for key in fixed}, urns

    before, resources = deployed(0)
    assert deployed(1) == ({key: count + 1 for key, count in before.items()}, resources)
    assert deployed(-1) == (before, resources)
