"""Names of the features of a random allocation case, so that tests can require every pair."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

Object = dict[str, Any]

_NODE = "node-a"
_MOST_DEVICES = 32
_OF_EVERY_MINOR = (
    "several claims",
    "several requests",
    "several pools",
    "several slices",
    "several devices requested",
    "more devices than a claim holds",
    "all devices requested",
    "alternatives",
    "request selector",
    "unguarded selector",
    "matchAttribute",
    "admin access",
    "devices in use",
    "slices of another node",
    "slices for all nodes",
    "slices by node selector",
    "several generations",
    "incomplete pool",
    "invalid pool",
)
_SINCE_1_36 = (
    "distinctAttribute",
    "taints",
    "tolerations",
    "shared counters",
    "devices for several claims",
    "request policy",
    "consumed capacity",
    "capacity requested",
    "nodes per device",
    "binding conditions",
)
_BETA = 36


def features_of_minor(minor: int) -> tuple[str, ...]:
    """The features that mean something with a minor's default gates."""
    return _OF_EVERY_MINOR + (_SINCE_1_36 if minor >= _BETA else ())


def features_of(case: Object) -> frozenset[str]:
    """The features of a case."""
    return frozenset((*_of_slices(case["slices"]), *_of_claims(case), *_of_use(case)))


def _of_use(case: Object) -> Iterator[str]:
    if case["inUse"]:
        yield "devices in use"
    if case["consumed"]:
        yield "consumed capacity"


def _of_slices(slices: list[Object]) -> Iterator[str]:
    pools = {(found["spec"]["driver"], found["spec"]["pool"]["name"]) for found in slices}
    if len(pools) > 1:
        yield "several pools"
    if len(slices) > len(pools):
        yield "several slices"
    for pool in pools:
        yield from _of_pool([found["spec"] for found in slices if _pool(found) == pool])
    for found in slices:
        spec = found["spec"]
        yield from _true(
            {
                "slices of another node": spec.get("nodeName", _NODE) != _NODE,
                "slices for all nodes": "allNodes" in spec,
                "slices by node selector": "nodeSelector" in spec,
                "nodes per device": "perDeviceNodeSelection" in spec,
            }
        )
        for device in spec.get("devices", []):
            yield from _of_device(device)


def _of_pool(specs: list[Object]) -> Iterator[str]:
    generations = {spec["pool"]["generation"] for spec in specs}
    if len(generations) > 1:
        yield "several generations"
    newest = [spec for spec in specs if spec["pool"]["generation"] == max(generations)]
    if len(newest) != newest[0]["pool"]["resourceSliceCount"]:
        yield "incomplete pool"
    names = Counter(device["name"] for spec in newest for device in spec.get("devices", []))
    sets = {entry["name"] for spec in newest for entry in spec.get("sharedCounters", [])}
    consumed = {
        entry["counterSet"]
        for spec in newest
        for device in spec.get("devices", [])
        for entry in device.get("consumesCounters", [])
    }
    if any(count > 1 for count in names.values()) or consumed - sets:
        yield "invalid pool"


def _of_device(device: Object) -> Iterator[str]:
    yield from _true(
        {
            "taints": "taints" in device,
            "shared counters": "consumesCounters" in device,
            "devices for several claims": "allowMultipleAllocations" in device,
            "request policy": any("requestPolicy" in value for value in device.get("capacity", {}).values()),
            "binding conditions": "bindingConditions" in device,
        }
    )


def _of_claims(case: Object) -> Iterator[str]:
    claims = [claim["spec"]["devices"] for claim in case["claims"]]
    if len(claims) > 1:
        yield "several claims"
    for devices in claims:
        if len(devices["requests"]) > 1:
            yield "several requests"
        yield from (kind for entry in devices["constraints"] for kind in entry if kind != "requests")
        for request in devices["requests"]:
            yield from ["alternatives"] if "firstAvailable" in request else []
            for entry in request.get("firstAvailable") or [request["exactly"]]:
                yield from _of_request(entry)


def _of_request(entry: Object) -> Iterator[str]:
    count = entry.get("count", 1)
    yield from _true(
        {
            "several devices requested": 1 < count <= _MOST_DEVICES,
            "more devices than a claim holds": count > _MOST_DEVICES,
            "all devices requested": entry["allocationMode"] == "All",
            "request selector": "selectors" in entry,
            "unguarded selector": entry["deviceClassName"] == "unguarded",
            "admin access": "adminAccess" in entry,
            "tolerations": "tolerations" in entry,
            "capacity requested": "capacity" in entry,
        }
    )


def _true(found: dict[str, bool]) -> list[str]:
    return [name for name, holds in found.items() if holds]


def _pool(found: Object) -> tuple[str, str]:
    return found["spec"]["driver"], found["spec"]["pool"]["name"]
