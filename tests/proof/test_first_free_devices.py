import random
from typing import Any

import pytest

from dra_fleet.model.nodes import NODE
from dra_fleet.proof.allocator import (
    Allocation,
    CandidateNode,
    DeviceId,
    Inventory,
    Steps,
    allocate,
    allocate_alike,
)
from dra_fleet.proof.demand.asks import ask_of, class_objects
from dra_fleet.proof.search.packing import NodeUse
from dra_fleet.proof.search.placements import Placements
from dra_fleet.proof.supply.prediction import inventory_of, predict
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool

LARGE = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('60Gi')) >= 0"
MACHINES: dict[str, Any] = {
    "alike": pool("hgx-h100-8", "p"),
    "sizes": pool(gpus(6), "p"),
    "parts": pool("dgx-a100-40-8", "p", sharing={"strategy": "mig", "layout": {"1g.5gb": 7}}),
}


def devices_of(inventory: Inventory) -> list[DeviceId]:
    return [device.id for part in inventory.slices for device in part.devices]


CONSTRAINTS: dict[str, list[dict[str, str]]] = {
    "free": [],
    "of one architecture": [{"matchAttribute": "gpu.nvidia.com/architecture"}],
    "apart": [{"distinctAttribute": "gpu.nvidia.com/uuid"}],
    "of what none has": [{"matchAttribute": "example.com/rack"}],
}


@pytest.mark.parametrize("minor", [pytest.param("1.34", marks=pytest.mark.slow), "1.36"])
@pytest.mark.parametrize("constraints", CONSTRAINTS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.slow), 5])
@pytest.mark.parametrize("selectors", [[], [{"cel": {"expression": LARGE}}]], ids=["any", "large"])
def test_a_plain_claim_gets_what_the_allocator_gives_whatever_is_in_use(
    machine: str, count: int, selectors: list[Any], constraints: str, minor: str
) -> None:
    settings = {**fleet({"p": MACHINES[machine]}), "kubernetes": minor}
    cluster = plan_of(settings).clusters[0]
    classes = class_objects(cluster)
    (group,) = predict(cluster)
    shape, inventory = group.shape, inventory_of(group.shape)
    exactly = {"deviceClassName": "gpu.nvidia.com", "count": count, "selectors": selectors}
    devices = {"requests": [{"name": "r", "exactly": exactly}], "constraints": CONSTRAINTS[constraints]}
    claim = ask_of("c", {"devices": devices}, classes)
    placements = Placements(classes, minor)
    likeness = placements.likeness(shape, [claim])
    chance = random.Random(count)
    node = CandidateNode(NODE, shape.labels)
    for taken in range(len(shape.devices)):
        in_use = NodeUse(frozenset(chance.sample(devices_of(inventory), min(taken, 8))))
        expected = allocate([claim.body], classes, inventory, node, in_use=in_use.for_allocator, minor=minor)
        placed = placements.place(claim, shape, in_use)
        given = None if placed is None else [device for _, _, device in placed.given]
        assert given == (
            [item.device.device for item in expected.claims[0]] if isinstance(expected, Allocation) else None
        )
        everything = allocate_alike(
            [claim.body],
            classes,
            inventory,
            node,
            in_use=in_use.for_allocator,
            minor=minor,
            alike=likeness.after(in_use),
            steps=Steps(100_000),
        )
        sorts = [
            [item.device.device for item in one.claims[0]]
            for one in everything
            if isinstance(one, Allocation)
        ]
        found = placements.choices(claim, shape, in_use, likeness).placed
        assert [[device for _, _, device in one.given] for one in found] == sorts
