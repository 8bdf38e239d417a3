"""Random names, keys and amounts of resource.k8s.io/v1, now and then broken."""

from random import Random
from typing import Any

Object = dict[str, Any]

EXPRESSIONS = (
    "device.driver == 'gpu.nvidia.com'",
    "true",
    "device.capacity['d'].m.compareTo(quantity('1Gi')) >= 0",
)
NAMES = ("gpu", "a", "0", "nic-1", "b" * 63)
BAD_NAMES = ("", "A", "-a", "a-", "a.b", "b" * 64, "a_b", "é")
SUBDOMAINS = ("gpu.example.com", "a", "a.b-c", "x" * 63 + ".y")
BAD_SUBDOMAINS = ("", "a..b", ".a", "A", "a_b", "a/b", "a." * 130 + "a")
DRIVERS = ("gpu.example.com", "GPU.Example.com", "d")
BAD_DRIVERS = ("", "a_b", "x" * 64, "a..b")
ATTRIBUTES = ("gpu.example.com/model", "d/_x9", "resource.kubernetes.io/pcieRoot")
BAD_ATTRIBUTES = ("", "model", "d/", "/m", "d/9x", "d/a-b", "d/" + "x" * 33, "a/b/c", "a_b/c")
QUANTITIES = ("1", "1Gi", "500m", "1e3", "0", "2048Mi", "9728Mi", "1.5Gi", ".5")
BAD_QUANTITIES = ("", "x", "1GiB", "1 Gi", "--1", "Gi")
LABEL_KEYS = ("a", "example.com/a", "A.b_c-d", "x" * 63)
BAD_LABEL_KEYS = ("/a", "a/", "a/b/c", "x" * 64, "-a", "A_/b")
LABEL_VALUES = ("", "a", "A.b_c", "x" * 63)
BAD_LABEL_VALUES = ("-a", "x" * 64, "a b", "a/b")


class ValueMaker:
    """Makes values from a seeded source; each is broken with the given chance."""

    def __init__(self, random: Random, broken: float) -> None:
        self.random = random
        self.broken = broken
        self._count = 0

    def _object(self, kind: str, spec: Object) -> Object:
        self._count += 1
        name = self._of((f"o{self._count}", f"o{self._count}.x"), BAD_SUBDOMAINS[1:])
        metadata: Object = {"name": name}
        if self.random.random() < 0.2:
            metadata["labels"] = {self._label_key(): self._label_value()}
        return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}

    def _name(self) -> str:
        return self._of(NAMES, BAD_NAMES)

    def _label_key(self) -> str:
        return self._of(LABEL_KEYS, BAD_LABEL_KEYS)

    def _label_value(self) -> str:
        return self._of(LABEL_VALUES, BAD_LABEL_VALUES)

    def _quantity(self) -> Any:
        return self._of(QUANTITIES, BAD_QUANTITIES)

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
            if item["name"] in NAMES and not self._bad():
                item["name"] = f"{item['name'][:50]}{index}"
        return items
