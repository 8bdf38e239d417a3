"""Random class expressions in many ways of writing, some of which reach a whole GPU and some of which do not.

What differs from host to host is read once at most, so that an answer depends on no two readings being alike.
"""

from random import Random
from typing import Final

DRIVER: Final = "gpu.nvidia.com"
_TEXTS: Final = {
    "type": ("mig", "gpu", "vfio"),
    "architecture": ("Ampere", "Hopper", "Blackwell", "Turing"),
    "brand": ("Nvidia", "Tesla"),
    "productName": ("NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "Tesla T4"),
    "profile": ("1g.10gb", "3g.40gb", "7g.80gb"),
}
_QUANTITIES: Final = ("4Gi", "9728Mi", "20Gi", "40Gi", "70Gi", "300Gi")
_VERSIONS: Final = ("7.5.0", "8.0.0", "9.0.0", "12.0.0")
_HOST: Final = {
    "uuid": "{at}.uuid == 'GPU-0'",
    "driverVersion": "{at}.driverVersion.isGreaterThan(semver('570.0.0'))",
    "pcieRoot": "device.attributes['resource.kubernetes.io'].pcieRoot.startsWith('pci')",
}


class ClassExpressions:
    """Draws expressions; the same seed draws the same.

    Attributes:
        read: what differs from host to host and the last expression reads.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.read: set[str] = set()

    def draw(self) -> str:
        """One expression."""
        self.read.clear()
        clause = self._clause()
        while self._random.random() < 0.55:
            clause = self._joined(clause, self._clause())
        return clause if self._random.random() < 0.6 else f"{self._driver()} && ({clause})"

    def _joined(self, left: str, right: str) -> str:
        chosen = self._random.random()
        if chosen < 0.45:
            return f"({left}) && ({right})"
        if chosen < 0.85:
            return f"({left}) || ({right})"
        return f"({left}) ? ({right}) : ({self._clause()})"

    def _clause(self) -> str:
        kinds = [self._partition, self._partition, self._text, self._text, self._version]
        if "memory" not in self.read:
            kinds.append(self._memory)
        if self.read.isdisjoint(_HOST):
            kinds.append(self._host)
        return self._random.choice(kinds)()

    def _partition(self) -> str:
        """Right or wrong ways to say that it is a partition."""
        at, random = self._at(), self._random
        return random.choice(
            (
                f"{at}.type == {self._literal('mig')}",
                f"{at}.type != {self._literal('gpu')}",
                f"{at}.type in [{self._literal('mig')}, {self._literal('vfio')}]",
                f"!({at}.type == {self._literal('gpu')})",
                f"{at}.type.startsWith({self._literal('mi')})",
                f"{at}.type.matches('^m.g$')",
                f"size({at}.type) == 3",
                f"{self._literal('profile')} in {at}",
                f"!({self._literal('profile')} in {at})",
                f"has({at}.profile)",
                f"{at}.profile.startsWith({self._literal('1g.')})",
                f"{at}.profile != {self._literal('1g.10gb')}",
                f"!has({at}.profile) || {at}.profile == '1g.10gb'",
            )
        )

    def _text(self) -> str:
        name = self._random.choice([name for name in _TEXTS if name not in self.read])
        if name == "productName":
            self.read.add(name)
        value = self._random.choice(_TEXTS[name])
        at = self._field(name)
        return self._random.choice(
            (
                f"{at} == {self._literal(value)}",
                f"{at} != {self._literal(value)}",
                f"{self._literal(value)} == {at}",
                f"{at}.contains({self._literal(value[:4])})",
                f"{at}.lowerAscii() == {self._literal(value.lower())}",
                f"[{self._literal(value)}].exists(one, one == {at})",
            )
        )

    def _memory(self) -> str:
        self.read.add("memory")
        published = f"device.capacity[{self._domain()}].memory"
        requested = self._random.choice(_QUANTITIES)
        return self._random.choice(
            (
                f"{published}.compareTo(quantity('{requested}')) >= 0",
                f"{published}.isLessThan(quantity('{requested}'))",
                f"!({published}.isGreaterThan(quantity('{requested}')))",
            )
        )

    def _version(self) -> str:
        published, requested = self._field("cudaComputeCapability"), self._random.choice(_VERSIONS)
        compared = self._random.choice(("isGreaterThan", "isLessThan"))
        return self._random.choice(
            (
                f"{published}.{compared}(semver('{requested}'))",
                f"{published}.major() == {requested.partition('.')[0]}",
            )
        )

    def _host(self) -> str:
        name = self._random.choice(list(_HOST))
        self.read.add(name)
        return _HOST[name].format(at=self._at())

    def _driver(self) -> str:
        return f"device.driver == {self._literal(DRIVER)}"

    def _at(self) -> str:
        return f"device.attributes[{self._domain()}]"

    def _field(self, name: str) -> str:
        at = self._at()
        return self._random.choice((f"{at}.{name}", f"{at}[{self._key(name)}]"))

    def _domain(self) -> str:
        return "device.driver" if self._random.random() < 0.2 else self._key(DRIVER)

    def _literal(self, text: str) -> str:
        """The text, written in one of many ways."""
        if self._random.random() < 0.1 and len(text) > 1:
            return f"['{text[0]}', '{text[1:]}'].join('')"
        return self._key(text)

    def _key(self, text: str) -> str:
        """The text, in one of the ways whose value is known before any device is."""
        cut = self._random.randrange(1, len(text)) if len(text) > 1 else 1
        escaped = "".join(f"\\x{ord(letter):02x}" for letter in text)
        return self._random.choice(
            (
                f"'{text}'",
                f'"{text}"',
                f"'{text[:cut]}' + '{text[cut:]}'",
                f"(\"{text[:cut]}\" + '{text[cut:]}')",
                f"'''{text}'''",
                f"r'{text}'",
                f"'{escaped}'",
            )
        )
