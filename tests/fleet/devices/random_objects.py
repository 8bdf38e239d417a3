"""Random resource.k8s.io/v1 objects, valid and broken, for comparing verdicts with the API server's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

Object = dict[str, Any]

_EXPRESSIONS = (
    "device.driver == 'gpu.nvidia.com'",
    "true",
    "device.capacity['d'].m.compareTo(quantity('1Gi')) >= 0",
)
_NAMES = ("gpu", "a", "0", "nic-1", "b" * 63)
_BAD_NAMES = ("", "A", "-a", "a-", "a.b", "b" * 64, "a_b", "é")
_SUBDOMAINS = ("gpu.example.com", "a", "a.b-c", "x" * 63 + ".y")
_BAD_SUBDOMAINS = ("", "a..b", ".a", "A", "a_b", "a/b", "a." * 130 + "a")
_DRIVERS = ("gpu.example.com", "GPU.Example.com", "d")
_BAD_DRIVERS = ("", "a_b", "x" * 64, "a..b")
_ATTRIBUTES = ("gpu.example.com/model", "d/_x9", "resource.kubernetes.io/pcieRoot")
_BAD_ATTRIBUTES = ("", "model", "d/", "/m", "d/9x", "d/a-b", "d/" + "x" * 33, "a/b/c", "a_b/c")
_QUANTITIES = ("1", "1Gi", "500m", "1e3", "0", "2048Mi", "9728Mi", "1.5Gi", ".5")
_BAD_QUANTITIES = ("", "x", "1GiB", "1 Gi", "--1", "Gi")
_LABEL_KEYS = ("a", "example.com/a", "A.b_c-d", "x" * 63)
_BAD_LABEL_KEYS = ("/a", "a/", "a/b/c", "x" * 64, "-a", "A_/b")
_LABEL_VALUES = ("", "a", "A.b_c", "x" * 63)
_BAD_LABEL_VALUES = ("-a", "x" * 64, "a b", "a/b")


_POLICIES: tuple[Object, ...] = (
    {"default": "1", "validValues": ["1", "2", "4"]},
    {"default": "1", "validRange": {"min": "1"}},
    {"default": "2", "validRange": {"min": "1", "max": "5", "step": "1"}},
    {"default": "3"},
    {},
)
_BAD_POLICIES: tuple[Object, ...] = (
    {"default": "3", "validValues": ["1", "2"]},
    {"validValues": ["1"]},
    {"default": "1", "validValues": ["2", "1"]},
    {"default": "1", "validRange": {}},
    {"default": "1", "validRange": {"min": "2"}},
    {"default": "4", "validRange": {"min": "1", "max": "3"}},
    {"default": "2", "validRange": {"min": "1", "step": "2"}},
    {"default": "1", "validValues": ["1"], "validRange": {"min": "1"}},
    {"default": "1", "validValues": ["1", "1000Gi"]},
)


class ObjectMaker:
    """Makes objects from a seeded source; each value is broken with the given chance."""

    def __init__(self, random: Random, broken: float) -> None:
        self.random = random
        self.broken = broken
        self._count = 0

    def any(self) -> tuple[str, Object]:
        """An object of any kind, with its kind."""
        make = self.random.choice((self.device_class, self.claim, self.template, self.template, self.slice))
        value = make()
        return str(value["kind"]), value

    def device_class(self) -> Object:
        spec: Object = {}
        self._maybe(spec, "selectors", self._selectors)
        self._maybe(spec, "config", lambda: self._some(lambda: {"opaque": self._opaque()}, 33))
        self._maybe(spec, "extendedResourceName", self._extended_resource)
        return self._object("DeviceClass", spec)

    def claim(self) -> Object:
        return self._object("ResourceClaim", {"devices": self._devices()})

    def template(self) -> Object:
        spec: Object = {"spec": {"devices": self._devices()}}
        if self._bad():
            spec["metadata"] = self.random.choice(
                ({"name": "x"}, {"labels": {"-": "x"}}, {"labels": {"a": "-"}})
            )
        elif self.random.random() < 0.3:
            spec["metadata"] = {"labels": {self._label_key(): self._label_value()}, "annotations": {"a": "b"}}
        return self._object("ResourceClaimTemplate", spec)

    def slice(self) -> Object:
        spec: Object = {
            "driver": self._of(_DRIVERS, _BAD_DRIVERS),
            "pool": {
                "name": self._of(("n", "a/b.c", "n.0"), ("", "a//b", "A", "x" * 254)),
                "generation": self._of((0, 7), (-1,)),
                "resourceSliceCount": self._of((1, 3), (0, -1)),
            },
        }
        where = self.random.choice(
            ("nodeName", "nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection")
        )
        spec[where] = self._where(where)
        if self._bad():
            other = self.random.choice(("nodeName", "allNodes", "nodeSelector"))
            spec[other] = self._where(other)
        if self._bad():
            spec.pop(where, None)
        if self.random.random() < 0.15 or self._bad():
            spec["sharedCounters"] = self._some(self._counter_set, 9, least=1)
        if "sharedCounters" not in spec or self._bad():
            per_device = where == "perDeviceNodeSelection"
            spec["devices"] = self._some(lambda: self._device(per_device=per_device), 4)
        return self._object("ResourceSlice", spec)

    def _object(self, kind: str, spec: Object) -> Object:
        self._count += 1
        name = self._of((f"o{self._count}", f"o{self._count}.x"), _BAD_SUBDOMAINS[1:])
        metadata: Object = {"name": name}
        if self.random.random() < 0.2:
            metadata["labels"] = {self._label_key(): self._label_value()}
        return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}

    def _devices(self) -> Object:
        devices: Object = {"requests": self._unique(self._some(self._request, 4, huge=33))}
        requests: list[Object] = devices["requests"]
        self._names: list[Any] = [item.get("name", "x") for item in requests]
        for item in requests:
            alternatives: list[Object] = item.get("firstAvailable") or []
            self._names += [f"{item.get('name')}/{sub.get('name')}" for sub in alternatives]
        self._maybe(devices, "constraints", lambda: self._some(self._constraint, 2, huge=33))
        self._maybe(devices, "config", lambda: self._some(self._config, 2, huge=33))
        return devices

    def _request(self) -> Object:
        request: Object = {"name": self._name()}
        if self.random.random() < 0.7:
            request["exactly"] = self._exactly()
        else:
            made = self._some(lambda: {"name": self._name(), **self._requirements()}, 3, least=1, huge=9)
            request["firstAvailable"] = self._unique(made)
        if self._bad():
            change = self.random.choice(("both", "neither", "empty", "unknown"))
            if change == "both":
                request["exactly"], request["firstAvailable"] = (
                    self._exactly(),
                    [{"name": "x", **self._requirements()}],
                )
            if change == "neither":
                request.pop("exactly", None)
                request.pop("firstAvailable", None)
            if change == "empty":
                request["firstAvailable"] = []
            if change == "unknown":
                request["deviceClassName"] = "x"
        return request

    def _exactly(self) -> Object:
        exactly = self._requirements()
        if self._bad():
            exactly["adminAccess"] = self.random.choice((False, "true"))
        return exactly

    def _requirements(self) -> Object:
        value: Object = {"deviceClassName": self._of(_SUBDOMAINS, _BAD_SUBDOMAINS)}
        self._maybe(value, "selectors", self._selectors)
        mode = self.random.choice(("ExactCount", "All", None, ""))
        if self._bad():
            mode = self.random.choice(("Any", 3, "exactCount"))
        if mode is not None:
            value["allocationMode"] = mode
        if mode != "All" and self.random.random() < 0.6:
            value["count"] = self._of((1, 2, 0, None), (-1, "1", 1.5, True, 2**63))
        elif self._bad():
            value["count"] = 1
        self._maybe(value, "tolerations", lambda: self._some(self._toleration, 3), 0.3)
        self._maybe(
            value,
            "capacity",
            lambda: {"requests": {self._of(("memory", "d/memory"), ("a b", "")): self._quantity()}},
            0.25,
        )
        return value

    def _toleration(self) -> Object:
        value: Object = {}
        self._maybe(value, "key", self._label_key, 0.8)
        self._maybe(value, "operator", lambda: self._of(("Exists", "Equal"), ("In", "exists")), 0.7)
        if value.get("operator") != "Exists" or self._bad():
            self._maybe(value, "value", self._label_value)
        self._maybe(
            value, "effect", lambda: self._of(("NoSchedule", "NoExecute", "None", ""), ("PreferNoSchedule",))
        )
        self._maybe(value, "tolerationSeconds", lambda: self._of((0, 300, -1), ("1",)), 0.2)
        return value

    def _constraint(self) -> Object:
        value: Object = {}
        self._maybe(value, "requests", self._references)
        key = "matchAttribute" if self.random.random() < 0.7 else "distinctAttribute"
        value[key] = self._of(_ATTRIBUTES, _BAD_ATTRIBUTES)
        if self._bad():
            change = self.random.choice(("none", "both"))
            if change == "none":
                del value[key]
            else:
                value |= {"matchAttribute": "d/a", "distinctAttribute": "d/b"}
        return value

    def _config(self) -> Object:
        value: Object = {"opaque": self._opaque()}
        self._maybe(value, "requests", self._references)
        if self._bad():
            del value["opaque"]
        return value

    def _references(self) -> list[str]:
        known = [name for name in self._names if isinstance(name, str)] or ["x"]
        picked = self.random.sample(known, self.random.randint(0, min(2, len(known))))
        if self._bad():
            picked.append(self.random.choice(("nope", "a/b/c", "A", known[0], f"{known[0]}/nope", "")))
        return picked

    def _opaque(self) -> Object:
        value: Object = {
            "driver": self._of(_DRIVERS, _BAD_DRIVERS),
            "parameters": {"a": [1, None, {"b": None}]},
        }
        if self._bad():
            value["parameters"] = self.random.choice(([], "x", 3, None, {"a": "x" * 10_300}))
        if self.random.random() < 0.1:
            value["parameters"] = {}
        return value

    def _selectors(self) -> list[Object]:
        def one() -> Object:
            if self._bad():
                return self.random.choice(({}, {"cel": {}}, {"cel": {"expression": ""}}, {"cel": None}))
            return {"cel": {"expression": self.random.choice(_EXPRESSIONS)}}

        made = self._some(one, 2, huge=33)
        if self._bad():
            made.append({"cel": {"expression": "true || " * 1300 + "true"}})
        return made

    def _extended_resource(self) -> str:
        return self._of(
            ("example.com/gpu", "a/b"),
            ("gpu", "", "kubernetes.io/gpu", "requests.x/y", "x/" + "y" * 64, "a/b/c", "/a", "a_/b", "A/b"),
        )

    def _where(self, field: str) -> object:
        if field == "nodeName":
            return self._of(("n", "n.a"), ("", "A", "a/b"))
        if field == "nodeSelector":
            return {"nodeSelectorTerms": self._some(self._term, 1, least=1, huge=2)}
        return self._of((True,), (False,))

    def _term(self) -> Object:
        operator = self._of(("In", "NotIn", "Exists", "DoesNotExist", "Gt"), ("Is", ""))
        expression: Object = {"key": self._label_key(), "operator": operator}
        needs = operator in ("In", "NotIn", "Gt")
        if needs != self._bad():
            expression["values"] = ["1"]
        return {"matchExpressions": [expression]}

    def _device(self, *, per_device: bool) -> Object:
        self._count += 1
        device: Object = {"name": self._of((f"gpu-{self._count}",), _BAD_NAMES)}
        self._maybe(
            device, "attributes", lambda: {self._key(): self._attribute() for _ in range(self._few(35))}, 0.8
        )
        shared = self.random.random() < 0.3
        if shared:
            device["allowMultipleAllocations"] = True
        self._maybe(
            device,
            "capacity",
            lambda: {self._key(): self._capacity(shared=shared) for _ in range(self._few(4))},
        )
        self._maybe(device, "taints", lambda: self._some(self._taint, 2, huge=17), 0.3)
        self._maybe(device, "consumesCounters", lambda: self._some(self._consumption, 1, huge=3), 0.3)
        if self._bad():
            device["bindingConditions"] = self.random.choice((["a"], ["a", "a"], ["/"]))
        if self.random.random() < 0.1:
            device |= {"bindingConditions": ["a"], "bindingFailureConditions": [self._of(("b",), ("a",))]}
        if per_device != self._bad():
            field = self.random.choice(("nodeName", "allNodes", "nodeSelector"))
            device[field] = self._where(field)
        return device

    def _attribute(self) -> Object:
        value: Object = self.random.choice(
            (
                {"int": 3},
                {"bool": False},
                {"string": "x"},
                {"string": ""},
                {"version": "1.2.3-a.1+b"},
                {"version": "1.0.0"},
            )
        )
        if self._bad():
            value = self.random.choice(
                (
                    {},
                    {"int": 1, "bool": True},
                    {"int": "1"},
                    {"string": "x" * 65},
                    {"version": "v1.0.0"},
                    {"version": "1.0"},
                    {"version": "01.0.0"},
                    {"ints": []},
                    {"ints": [1]},
                )
            )
        return value

    def _capacity(self, *, shared: bool) -> Object:
        value: Object = {"value": self.random.choice(("10Gi", "10", "100"))}
        if self._bad():
            value = self.random.choice(({"value": self.random.choice(_BAD_QUANTITIES[1:])}, {"value": 4}))
        if shared != self._bad():
            value["requestPolicy"] = self._of(_POLICIES, _BAD_POLICIES)
        return value

    def _taint(self) -> Object:
        value: Object = {
            "key": self._label_key(),
            "effect": self._of(("NoSchedule", "NoExecute", "None"), ("", "X")),
        }
        self._maybe(value, "value", self._label_value)
        return value

    def _consumption(self) -> Object:
        return {"counterSet": self._name(), "counters": self._counters()}

    def _counter_set(self) -> Object:
        self._count += 1
        return {"name": self._of((f"s{self._count}",), _BAD_NAMES), "counters": self._counters()}

    def _counters(self) -> Object:
        if self._bad():
            return {}
        return {self._name(): {"value": self._quantity()} for _ in range(2)}

    def _key(self) -> str:
        self._count += 1
        return self._of(
            (f"k{self._count}", f"d/k{self._count}"), ("", "a-b", "/x", "d/", "x" * 33, "a/b/c", "9")
        )

    def _name(self) -> str:
        return self._of(_NAMES, _BAD_NAMES)

    def _label_key(self) -> str:
        return self._of(_LABEL_KEYS, _BAD_LABEL_KEYS)

    def _label_value(self) -> str:
        return self._of(_LABEL_VALUES, _BAD_LABEL_VALUES)

    def _quantity(self) -> Any:
        return self._of(_QUANTITIES, _BAD_QUANTITIES)

    def _bad(self) -> bool:
        return self.random.random() < self.broken

    def _of(self, good: tuple[Any, ...], bad: tuple[Any, ...]) -> Any:
        return self.random.choice(bad if self._bad() else good)

    def _few(self, huge: int) -> int:
        return huge if self._bad() else self.random.randint(0, 3)

    def _maybe(self, target: Object, key: str, make: Any, chance: float = 0.4) -> None:
        if self.random.random() < chance:
            target[key] = make()

    def _some(self, make: Any, most: int, *, least: int = 0, huge: int = 0) -> list[Any]:
        count = huge if huge and self._bad() else self.random.randint(least, min(most, 4))
        return [make() for _ in range(count)]

    def _unique(self, items: list[Object]) -> list[Object]:
        """Mostly unique names; now and then a duplicate stays."""
        for index, item in enumerate(items):
            if item["name"] in _NAMES and not self._bad():
                item["name"] = f"{item['name'][:50]}{index}"
        return items
