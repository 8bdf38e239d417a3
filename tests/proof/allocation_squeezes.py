"""Questions whose first choice is a dead end, because only a later request can use its devices."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.proof.allocation_values import NODE

Object = dict[str, Any]

_RARE = 3
_ASKS_FOR_RARE = f"device.attributes[device.driver].?size.orValue(0) == {_RARE}"
_TOO_MANY = 0.15
_HINDRANCES = (
    "taints",
    "allowMultipleAllocations",
    "consumesCounters",
    "bindingConditions",
    "bindingFailureConditions",
)


def squeeze(case: Object, chance: random.Random) -> None:
    """Make the devices that are tried first rare, and ask for them last, in place.

    Some of the questions ask for one rare device more than there is.
    """
    rare = _make_rare(case["slices"])
    names = [tuple(name) for name in rare]
    for kept in ("inUse", "consumed"):
        case[kept] = [
            item for item in case[kept] if (item["driver"], item["pool"], item["device"]) not in names
        ]
    requested = max(len(rare), 1) + (chance.random() < _TOO_MANY)
    tight = _exactly(requested) | {"selectors": [{"cel": {"expression": _ASKS_FOR_RARE}}]}
    shape: Callable[[Object, Object], list[Object]] = chance.choice((_one_claim, _two_claims, _a_choice))
    case["claims"] = shape(_exactly(chance.choice((1, 1, 2))), tight)


def _make_rare(slices: list[Object]) -> list[tuple[str, str, str]]:
    """The first device of each slice is rare, and no other is."""
    found: list[tuple[str, str, str]] = []
    for driver, pool, devices in _seen(slices):
        for index, device in enumerate(devices):
            device["attributes"]["size"] = {"int": _RARE if index == 0 else 1}
        for key in _HINDRANCES:
            devices[0].pop(key, None)
        for value in devices[0].get("capacity", {}).values():
            value.pop("requestPolicy", None)
        found.append((driver, pool, devices[0]["name"]))
    return found


def _seen(slices: list[Object]) -> Iterator[tuple[str, str, list[Object]]]:
    """The devices of every slice that the node sees, of pools that are complete."""
    pools: dict[tuple[str, str], list[Object]] = {}
    for spec in (item["spec"] for item in slices):
        pools.setdefault((spec["driver"], spec["pool"]["name"]), []).append(spec)
    for pool, specs in pools.items():
        generation = max(spec["pool"]["generation"] for spec in specs)
        newest = [spec for spec in specs if spec["pool"]["generation"] == generation]
        if len(newest) != newest[0]["pool"]["resourceSliceCount"]:
            continue
        for spec in newest:
            if spec.get("nodeName") == NODE and spec.get("devices"):
                yield (*pool, spec["devices"])


def _exactly(count: int) -> Object:
    return {"deviceClassName": "any", "allocationMode": "ExactCount", "count": count}


def _one_claim(loose: Object, tight: Object) -> list[Object]:
    return [_claim(0, {"name": "r0", "exactly": loose}, {"name": "r1", "exactly": tight})]


def _two_claims(loose: Object, tight: Object) -> list[Object]:
    return [_claim(0, {"name": "r0", "exactly": loose}), _claim(1, {"name": "r0", "exactly": tight})]


def _a_choice(loose: Object, tight: Object) -> list[Object]:
    alternatives = [{**loose, "name": "s0", "count": 2}, {**loose, "name": "s1", "count": 1}]
    return [_claim(0, {"name": "r0", "firstAvailable": alternatives}, {"name": "r1", "exactly": tight})]


def _claim(index: int, *requests: Object) -> Object:
    return {
        "metadata": {"name": f"claim-{index}", "namespace": "default"},
        "spec": {"devices": {"requests": list(requests), "constraints": []}},
    }
