"""Random resource.k8s.io/v1 objects, valid and broken, for comparing verdicts with the API server's."""

from typing import Any

from tests.kubernetes.devices.random_slices import SliceMaker
from tests.kubernetes.devices.random_values import (
    ATTRIBUTES,
    BAD_ATTRIBUTES,
    BAD_DRIVERS,
    BAD_SUBDOMAINS,
    DRIVERS,
    EXPRESSIONS,
    SUBDOMAINS,
    Object,
)


class ObjectMaker(SliceMaker):
    """Makes objects of every kind."""

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
        value: Object = {"deviceClassName": self._of(SUBDOMAINS, BAD_SUBDOMAINS)}
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
        value[key] = self._of(ATTRIBUTES, BAD_ATTRIBUTES)
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
            "driver": self._of(DRIVERS, BAD_DRIVERS),
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
            return {"cel": {"expression": self.random.choice(EXPRESSIONS)}}

        made = self._some(one, 2, huge=33)
        if self._bad():
            made.append({"cel": {"expression": "true || " * 1300 + "true"}})
        return made

    def _extended_resource(self) -> str:
        return self._of(
            ("example.com/gpu", "a/b"),
            ("gpu", "", "kubernetes.io/gpu", "requests.x/y", "x/" + "y" * 64, "a/b/c", "/a", "a_/b", "A/b"),
        )
