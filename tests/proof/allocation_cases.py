"""Random small clusters and claims with every feature of an allocation, valid for the API."""

import random
from itertools import combinations
from typing import Any

from tests.proof.allocation_features import features_of, features_of_minor
from tests.proof.allocation_squeezes import squeeze
from tests.proof.allocation_values import ATTRIBUTES, CLASSES, DRIVERS, LABELS, NODE, SELECTORS

Object = dict[str, Any]

_IF_REQUESTED = 0.5
_TRIES = 1000


class AllocationCases:
    """Cases drawn from one seed."""

    def __init__(self, seed: int, *, minor: int) -> None:
        self._random = random.Random(seed)
        self._is_beta = minor >= 36
        self._squeezed = 0.7 if self._is_beta else 0.45
        self._counting = False
        self._requested: frozenset[str] = frozenset()
        self._pairs = combinations(features_of_minor(minor), 2)

    def draw(self) -> Object:
        """Return a question for the upstream reference; the first ones have each pair of features in turn."""
        self._requested = frozenset(next(self._pairs, ()))
        if not self._requested and self._chance(self._squeezed):
            case = self._case()
            squeeze(case, self._random)
            return case
        for _ in range(_TRIES):
            case = self._case()
            if self._requested <= features_of(case):
                return case
        raise AssertionError(f"no case with {sorted(self._requested)} in {_TRIES} tries")

    def _case(self) -> Object:
        self._counting = self._is_beta and self._chance(0.35, "shared counters")
        slices = self._slices()
        devices = [
            (_name(found["spec"], device), device)
            for found in slices
            for device in found["spec"].get("devices", [])
        ]
        shareable = {
            tuple(name.values()): (name, device)
            for name, device in devices
            if device.get("allowMultipleAllocations")
        }
        exclusive = [name for name, _ in devices if tuple(name.values()) not in shareable]
        return {
            "node": NODE,
            "labels": LABELS,
            "classes": list(CLASSES.values()),
            "slices": slices,
            "claims": [
                self._claim(index) for index in range(self._some("several claims", 1, 1, 1, 1, 2, 2, 3))
            ],
            "inUse": [name for name in exclusive if self._chance(0.08, "devices in use")],
            "consumed": [
                name | {"capacity": self._consumed(device)}
                for name, device in shareable.values()
                if self._chance(0.3, "consumed capacity")
            ],
        }

    def _consumed(self, device: Object) -> Object:
        return {key: self._pick("1Gi", "2Gi", "5Gi") for key in device.get("capacity", {})}

    def _chance(self, probability: float, *features: str) -> bool:
        is_requested = any(feature in self._requested for feature in features)
        return self._random.random() < (max(probability, _IF_REQUESTED) if is_requested else probability)

    def _some(self, feature: str, *choices: int) -> int:
        least = 2 if feature in self._requested else 1
        return max(self._random.choice(choices), least)

    def _pick(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _slices(self) -> list[Object]:
        found: list[Object] = []
        for index in range(self._some("several pools", 1, 1, 2, 3)):
            driver = DRIVERS[0] if index == 0 else self._pick(*DRIVERS)
            # Older minors believe whichever slice of a pool they get first.
            name = self._pick(NODE, f"pool-{index}") if self._is_beta else f"pool-{index}"
            found += self._pool(driver, name, index)
        if self._is_beta:
            # Older minors try the slices of a pool in the order in which they get them.
            self._random.shuffle(found)
        return found

    def _pool(self, driver: str, name: str, index: int) -> list[Object]:
        counting = self._counting and self._chance(0.8)
        parts = self._some("several slices", 1, 1, 1, 2)
        total = parts + counting
        generation = self._pick(1, 1, 1, 2)
        count = total + (1 if self._chance(0.06, "incomplete pool") else 0)
        slices = [
            self._slice(
                driver, name, f"{index}-{name}-{part}", generation, count, counting=counting, part=part
            )
            for part in range(parts)
        ]
        if counting:
            slices.append(
                self._envelope(driver, name, f"{index}-{name}-z", generation, count, {"nodeName": NODE})
            )
            slices[-1]["spec"]["sharedCounters"] = [
                {
                    "name": "set",
                    "counters": {
                        "memory": {"value": self._pick("10Gi", "20Gi", "40Gi")},
                        "slots": {"value": "4"},
                    },
                }
            ]
        if self._chance(0.08, "several generations"):
            slices.append(
                self._slice(driver, name, f"{index}-{name}-old", generation - 1, 1, counting=False, part=9)
            )
        if self._chance(0.05, "several generations"):
            other = self._slice(
                driver, name, f"{index}-{name}-new", generation + 1, 1, counting=False, part=9
            )
            other["spec"] |= {"nodeName": self._pick(NODE, "node-b")}
            for key in ("allNodes", "nodeSelector", "perDeviceNodeSelection"):
                other["spec"].pop(key, None)
            for device in other["spec"]["devices"]:
                for key in ("nodeName", "allNodes", "nodeSelector"):
                    device.pop(key, None)
            slices.append(other)
        return slices

    def _envelope(  # noqa: PLR0917 - the fields of a slice in their order
        self, driver: str, pool: str, name: str, generation: int, count: int, where: Object
    ) -> Object:
        return {
            "metadata": {"name": name},
            "spec": {
                "driver": driver,
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
                **where,
            },
        }

    def _where(self) -> Object:
        if self._chance(0.06, "slices of another node"):
            return {"nodeName": "node-b"}
        if self._chance(0.08, "slices for all nodes"):
            return {"allNodes": True}
        if self._chance(0.09, "slices by node selector"):
            return {"nodeSelector": self._node_selector()}
        if self._is_beta and self._chance(0.1, "nodes per device"):
            return {"perDeviceNodeSelection": True}
        return {"nodeName": NODE}

    def _node_selector(self) -> Object:
        rule = self._pick(
            {"key": "zone", "operator": "In", "values": ["one", "two"]},
            {"key": "zone", "operator": "NotIn", "values": ["one"]},
            {"key": "zone", "operator": "Exists"},
            {"key": "absent", "operator": "DoesNotExist"},
            {"key": "rank", "operator": "Gt", "values": ["6"]},
            {"key": "rank", "operator": "Lt", "values": ["6"]},
        )
        return {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}

    def _slice(
        self, driver: str, pool: str, name: str, generation: int, count: int, *, counting: bool, part: int
    ) -> Object:
        found = self._envelope(driver, pool, name, generation, count, self._where())
        first = 0 if self._chance(0.03, "invalid pool") else part * 10
        devices = [
            self._device(f"d{first + index}", driver, counting=counting)
            for index in range(self._pick(2, 3, 4, 5, 6, 8))
        ]
        if found["spec"].get("perDeviceNodeSelection"):
            for device in devices:
                device.update(
                    self._pick(
                        {"nodeName": NODE},
                        {"nodeName": "node-b"},
                        {"allNodes": True},
                        {"nodeSelector": self._node_selector()},
                    )
                )
        found["spec"]["devices"] = devices
        return found

    def _device(self, name: str, driver: str, *, counting: bool) -> Object:  # noqa: C901 - one chance per field
        attributes: Object = {}
        if not self._chance(0.01, "unguarded selector"):
            attributes["type"] = {"string": "gpu" if driver == DRIVERS[0] else "nic"}
        if self._chance(0.85):
            attributes["size"] = (
                self._pick({"int": 1}, {"int": 2}, {"int": 3}, {"string": "2"})
                if self._chance(0.3)
                else {"int": self._pick(1, 2)}
            )
        if self._chance(0.8):
            attributes["example.com/root"] = {"string": self._pick("r0", "r1")}
        device: Object = {"name": name, "attributes": attributes}
        if self._chance(0.85):
            device["capacity"] = {"memory": {"value": self._pick("5Gi", "10Gi", "20Gi")}}
        if not self._is_beta:
            return device
        if self._chance(0.25, "devices for several claims", "request policy", "consumed capacity"):
            device["allowMultipleAllocations"] = True
            if "capacity" in device and self._chance(0.7, "request policy"):
                device["capacity"]["memory"]["requestPolicy"] = self._policy()
        if self._chance(0.12, "taints"):
            device["taints"] = [
                {
                    "key": "broken",
                    "value": self._pick("", "yes"),
                    "effect": self._pick("NoSchedule", "NoExecute", "None"),
                }
            ]
        if counting and self._chance(0.8, "shared counters"):
            device["consumesCounters"] = [
                {
                    "counterSet": "set",
                    "counters": {
                        "memory": {"value": self._pick("5Gi", "10Gi", "20Gi")},
                        "slots": {"value": self._pick("1", "2")},
                    },
                }
            ]
            if self._chance(0.02, "invalid pool"):
                device["consumesCounters"][0]["counterSet"] = "absent"
        if self._chance(0.04, "binding conditions"):
            device |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        return device

    def _policy(self) -> Object:
        return self._pick(
            {"default": "1Gi", "validRange": {"min": "1Gi"}},
            {"default": "1Gi", "validRange": {"min": "1Gi", "max": "4Gi"}},
            {"default": "2Gi", "validRange": {"min": "1Gi", "max": "5Gi", "step": "1Gi"}},
            {"default": "1Gi", "validValues": ["1Gi", "2Gi", "5Gi"]},
            {"default": "3Gi"},
        )

    def _claim(self, index: int) -> Object:
        requests = [
            self._request(f"r{number}") for number in range(self._some("several requests", 1, 1, 1, 2, 2, 3))
        ]
        least = any(kind in self._requested for kind in ("matchAttribute", "distinctAttribute"))
        number = max(self._pick(0, 0, 0, 0, 1, 1, 2), least)
        constraints = [self._constraint(requests) for _ in range(number)]
        return {
            "metadata": {"name": f"claim-{index}", "namespace": "default"},
            "spec": {"devices": {"requests": requests, "constraints": constraints}},
        }

    def _request(self, name: str) -> Object:
        if self._chance(0.25, "alternatives"):
            alternatives = [
                self._exactly() | {"name": f"s{number}"} for number in range(self._pick(1, 2, 2, 3))
            ]
            for alternative in alternatives:
                alternative.pop("adminAccess", None)
            return {"name": name, "firstAvailable": alternatives}
        return {"name": name, "exactly": self._exactly()}

    def _exactly(self) -> Object:
        weights = (9, 6, 1, 4 if "unguarded selector" in self._requested else 0.2)
        entry: Object = {"deviceClassName": self._random.choices(tuple(CLASSES), weights)[0]}
        if self._chance(0.2, "request selector"):
            entry["selectors"] = [{"cel": {"expression": self._pick(*SELECTORS)}}]
        if self._chance(0.12, "all devices requested"):
            entry["allocationMode"] = "All"
        else:
            entry |= {"allocationMode": "ExactCount", "count": self._pick(1, 1, 1, 1, 2, 2, 3, 4)}
            if self._chance(0.02, "more devices than a claim holds"):
                entry["count"] = self._pick(20, 33)
        if self._chance(0.06, "admin access"):
            entry["adminAccess"] = True
        if not self._is_beta:
            return entry
        if self._chance(0.15, "tolerations"):
            entry["tolerations"] = [
                self._pick(
                    {"operator": "Exists"},
                    {"key": "broken", "operator": "Exists", "effect": "NoSchedule"},
                    {"key": "broken", "operator": "Equal", "value": "yes"},
                )
            ]
        if self._chance(0.2, "capacity requested"):
            entry["capacity"] = {
                "requests": {
                    self._pick("memory", "memory", "memory", "absent"): self._pick(
                        "1Gi", "1536Mi", "2Gi", "4Gi", "11Gi"
                    )
                }
            }
        return entry

    def _constraint(self, requests: list[Object]) -> Object:
        names = [request["name"] for request in requests]
        names += [
            f"{request['name']}/{entry['name']}"
            for request in requests
            for entry in request.get("firstAvailable", [])
        ]
        chosen = (
            [] if self._chance(0.6) else self._random.sample(names, k=self._random.randint(1, len(names)))
        )
        kind = (
            "distinctAttribute"
            if self._is_beta and self._chance(0.35, "distinctAttribute")
            else "matchAttribute"
        )
        return {"requests": chosen, kind: self._random.choices(ATTRIBUTES, (5, 3, 2, 1))[0]}


def _name(spec: Object, device: Object) -> Object:
    return {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
