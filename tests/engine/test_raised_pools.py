"""Every pool on clouds of the dev stack and the examples, raised and lowered by one node."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from ruamel.yaml import YAML

from tests.engine.rehearsed import PROJECT
from tests.engine.test_examples import ALLOCATED, CHECKED_AT_LENGTH

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

ON_CLOUDS: Final = ("ack-", "aks-", "eks-", "gke-", "production")
STACKS: Final = [
    "Pulumi.dev.yaml",
    *(f"examples/{name}.yaml" for name in ALLOCATED | CHECKED_AT_LENGTH if name.startswith(ON_CLOUDS)),
]


@pytest.mark.parametrize("path", STACKS)
def test_pods_keep_their_devices_while_each_pool_is_raised_and_lowered_by_one_node(
    own_rehearsed: Rehearsed, path: str
) -> None:
    yaml: Any = YAML(typ="safe", pure=True)
    stack = yaml.load(PROJECT / path)
    name = Path(path).stem.removeprefix("Pulumi.")
    hardware = PROJECT / "hardware" / f"{name}.yaml"
    if hardware.exists():
        (own_rehearsed.files / "hardware").mkdir()
        shutil.copy(hardware, own_rehearsed.files / "hardware")
    every = stack["config"]["dra-fleet:fleet"]["clusters"]
    clusters = {cluster: item for cluster, item in every.items() if item["cloud"] != "existing"}
    pools = {(one, pool): found for one, item in clusters.items() for pool, found in item["pools"].items()}
    fixed = {key for key, pool in pools.items() if pool["nodes"]["min"] == pool["nodes"]["max"]}

    def deployed(more: int) -> tuple[dict[tuple[str, str], int], object]:
        for pool in pools.values():
            least = 0 if pool.get("karpenter") else more  # such a pool always begins with no node
            nodes = pool["nodes"]
            pool["nodes"] = {"min": nodes["min"] + least, "max": nodes["max"] + more}
        file = own_rehearsed.files / f"{name}.yaml"
        yaml.dump(stack, file)
        up = own_rehearsed.up(file)
        assert up["all_allocated"] is True
        counts = {(one, pool): up["clusters"][one]["pools"][pool]["nodes"] for one, pool in pools}
        assert all(count <= pools[key]["nodes"]["max"] for key, count in counts.items())
        kept = own_rehearsed.state(name)
        urns = {item["urn"] for item in json.loads(kept)["checkpoint"]["latest"]["resources"]}
        return {key: counts[key] for key in fixed}, urns

    before, resources = deployed(0)
    assert deployed(1) == ({key: count + 1 for key, count in before.items()}, resources)
    assert deployed(-1) == (before, resources)
