"""A resource's properties as rules see them: each value is known, absent, or unknown at preview.

Rules never meet an exception for an unknown value and cannot overlook one: asking a `Value` for anything
notes the place if it is unknown, and the one who runs the rule turns the notes into findings. A value that is
secret says so and shows itself as `[secret]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator

Step = str | int
Path = tuple[Step, ...]

REDACTED: Final = "[secret]"
_LONGEST = 120


class Missing(Enum):
    """Reason why there is no value."""

    ABSENT = "absent"
    UNKNOWN = "unknown at preview"

    def __repr__(self) -> str:
        return f"[{self.value}]"


class Secret(Struct, frozen=True):
    """A value that the engine keeps secret."""

    value: object

    def __repr__(self) -> str:
        return REDACTED


class Value:
    """A place in a resource's properties.

    Attributes:
        path: where it is, from the resource's properties.
        secret: whether it, or what it is part of, is secret.
    """

    __slots__ = ("_raw", "_unknowns", "path", "secret")

    def __init__(self, raw: object, path: Path, unknowns: dict[str, None], *, secret: bool = False) -> None:
        """Wrap what is at a place.

        Args:
            raw: the decoded value, `Missing` or a `Secret`; null counts as absent.
            path: where it is.
            unknowns: the notes of unknown places that were asked for, in order.
            secret: whether what holds it is secret.
        """
        while isinstance(raw, Secret):
            secret, raw = True, raw.value
        self._raw: object = Missing.ABSENT if raw is None else raw
        self._unknowns = unknowns
        self.path = path
        self.secret = secret

    def __repr__(self) -> str:
        return f"Value({self.place}: {self.shown})"

    def get(self, *steps: Step) -> Value:
        """Return the value at a path below this one; absent if there is none, unknown below an unknown."""
        raw, secret = self._raw, self.secret
        for number, step in enumerate(steps):
            if raw is Missing.UNKNOWN:  # what is unknown is the whole
                return Value(raw, (*self.path, *steps[:number]), self._unknowns, secret=secret)
            # Most is a dictionary: a call less, where rules ask tens of thousands of times.
            raw = cast("dict[object, object]", raw).get(step) if type(raw) is dict else _below(raw, step)
            while isinstance(raw, Secret):
                secret, raw = True, raw.value
        return Value(raw, (*self.path, *steps), self._unknowns, secret=secret)

    @property
    def place(self) -> str:
        """The path as text, `spec.devices.requests[0].name`."""
        text = ""
        for step in self.path:
            text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
        return text

    @property
    def shown(self) -> str:
        """The value for a message: quoted, shortened, `[secret]` if it is secret."""
        if self.secret:
            return REDACTED
        if isinstance(self._raw, Missing):
            return self._raw.value
        text = repr(_bare(self._raw))
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    @property
    def unknown(self) -> bool:
        """True if the value is unknown at preview; reading this notes it."""
        if self._raw is Missing.UNKNOWN:
            self._unknowns[self.place] = None
            return True
        return False

    @property
    def absent(self) -> bool:
        """True if the value is missing or null. An unknown value is noted and is not absent."""
        return not self.unknown and self._raw is Missing.ABSENT

    @property
    def given(self) -> bool:
        """True if the value is present and known."""
        return self._raw is not Missing.ABSENT and not self.unknown

    @property
    def known(self) -> object:
        """The value as it is; None if absent or unknown. What it holds may be unknown: see `plain`."""
        return self._raw if self.given else None

    @property
    def text(self) -> str | None:
        """The value if it is known text, else None."""
        return self._raw if self.given and isinstance(self._raw, str) else None

    @property
    def flag(self) -> bool | None:
        """Return a known boolean, or text that providers of the engine read as one; else None."""
        if not self.given:
            return None
        if isinstance(self._raw, str):
            return _FLAGS.get(self._raw)
        return self._raw if isinstance(self._raw, bool) else None

    @property
    def number(self) -> int | float | None:
        """Return a known number, or text that is one; else None. Whole numbers are ints."""
        known = self.known
        if isinstance(known, str) and _NUMBER.fullmatch(known):
            known = float(known)
        if isinstance(known, bool) or not isinstance(known, int | float):
            return None
        return int(known) if known == int(known) else known

    @property
    def items(self) -> list[Value]:
        """The items of a known list; nothing for anything else."""
        return [self.get(index) for index in range(len(_list(self._raw)))] if self.given else []

    @property
    def entries(self) -> list[tuple[str, Value]]:
        """The keys and values of a known mapping; nothing for anything else."""
        return [(key, self.get(key)) for key in _mapping(self._raw)] if self.given else []

    def every(self, *steps: Step) -> list[Value]:
        """Return the values at a path in which `*` is each item of a list or a mapping.

        Unknowns are noted.
        """
        found: list[Value] = [self]
        start = 0
        for number, step in enumerate(steps):
            if step == "*":
                found = [below for value in found for below in value.get(*steps[start:number]).each]
                start = number + 1
        return [value.get(*steps[start:]) for value in found] if start < len(steps) else found

    @property
    def each(self) -> list[Value]:
        """The values that a known list or mapping holds; nothing for anything else."""
        return self.items or [value for _, value in self.entries]

    @property
    def plain(self) -> object:
        """The whole value without marks; None if any part of it is unknown, which is noted, or if absent."""
        if not self.given:
            return None
        unknown = [value for value in self.walk() if value.unknown]
        return None if unknown else _bare(self._raw)

    def walk(self) -> Iterator[Value]:
        """Yield this value and everything below it, from the top."""
        yield self
        for key in _mapping(self._raw):
            yield from self.get(key).walk()
        for index in range(len(_list(self._raw))):
            yield from self.get(index).walk()

    def leaves(self) -> Iterator[Value]:
        """Every scalar, unknown or absent value at or below this place; looking notes nothing."""
        for value in self.walk():
            if not isinstance(value._raw, Mapping | list):  # noqa: SLF001 - own class
                yield value

    @property
    def peek(self) -> object:
        """The value, or None if unknown, without noting it: for a rule that checks an unknown otherwise."""
        return None if isinstance(self._raw, Missing) else self._raw

    @property
    def possible(self) -> bool:
        """True if the value is or may be present; notes no unknown value."""
        return self._raw is not Missing.ABSENT

    def secrets(self) -> Iterator[str]:
        """Every secret scalar at or below this place, as text."""
        for value in self.leaves():
            if value.secret and value.peek is not None:
                yield str(value.peek)


_FLAGS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}
"""https://pkg.go.dev/strconv#ParseBool, by which bridged providers read text."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?", re.ASCII)


def _below(raw: object, step: Step) -> object:
    if isinstance(step, str):
        return _mapping(raw).get(step)
    items = _list(raw)
    return items[step] if -len(items) <= step < len(items) else None


def _list(raw: object) -> list[object]:
    return cast("list[object]", raw) if isinstance(raw, list) else []


def _mapping(raw: object) -> Mapping[str, object]:
    if isinstance(raw, dict):  # what is decoded, and recognised sooner than any mapping
        return cast("dict[str, object]", raw)
    return cast("Mapping[str, object]", raw) if isinstance(raw, Mapping) else {}


def _bare(raw: object) -> object:
    if isinstance(raw, Secret):
        return _bare(raw.value)
    if isinstance(raw, Mapping):
        mapping = cast("Mapping[str, object]", raw)
        return {key: _bare(value) for key, value in mapping.items()}
    if isinstance(raw, list):
        return [_bare(value) for value in cast("list[object]", raw)]
    return raw
