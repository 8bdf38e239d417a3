"""Random ResourceSlices, valid and broken."""

from tests.kubernetes.devices.random_values import (
    BAD_DRIVERS,
    BAD_NAMES,
    BAD_QUANTITIES,
    DRIVERS,
    Object,
    ValueMaker,
)

POLICIES: tuple[Object, ...] = (
    {"default": "1", "validValues": ["1", "2", "4"]},
    {"default": "1", "validRange": {"min": "1"}},
    {"default": "2", "validRange": {"min": "1", "max": "5", "step": "1"}},
    {"default": "3"},
    {},
)
BAD_POLICIES: tuple[Object, ...] = (
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


class SliceMaker(ValueMaker):
    """Makes ResourceSlices."""

    def slice(self) -> Object:
        spec: Object = {
            "driver": self._of(DRIVERS, BAD_DRIVERS),
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
        device: Object = {"name": self._of((f"gpu-{self._count}",), BAD_NAMES)}
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
            value = self.random.choice(({"value": self.random.choice(BAD_QUANTITIES[1:])}, {"value": 4}))
        if shared != self._bad():
            value["requestPolicy"] = self._of(POLICIES, BAD_POLICIES)
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
        return {"name": self._of((f"s{self._count}",), BAD_NAMES), "counters": self._counters()}

    def _counters(self) -> Object:
        if self._bad():
            return {}
        return {self._name(): {"value": self._quantity()} for _ in range(2)}

    def _key(self) -> str:
        self._count += 1
        return self._of(
            (f"k{self._count}", f"d/k{self._count}"), ("", "a-b", "/x", "d/", "x" * 33, "a/b/c", "9")
        )
