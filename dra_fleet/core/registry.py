"""Registry of named values: built in, or from an entry point of another installed package.

Entry points are read only when no built-in name answers, so that a stack that names built-in things alone
pays nothing for them, and each process finds the same ones by itself.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ValueT = TypeVar("ValueT")


class NotRegistered(ExpectedError):  # noqa: N818 - it says what the value is not
    """An entry point of another package does not give a complete value of its group."""


class Registry(Struct, Generic[ValueT], frozen=True, kw_only=True, eq=False, dict=True):
    """Values by name, each loaded on first use.

    Attributes:
        kind: Class of the values.
        group: Group of the entry points.
        built_in: Names of the values of this program.
        load: Returns the value of a built-in name.
    """

    kind: type[ValueT]
    group: str
    built_in: tuple[str, ...]
    load: Callable[[str], ValueT]

    def named(self, name: str) -> ValueT | None:
        """Return the value of a name; None if it is not registered.

        Raises:
            NotRegistered: The entry point of that name names no such value.
        """
        if name in self.built_in:
            return self.load(name)
        return self._registered.get(name)

    def known(self) -> Iterator[ValueT]:
        """Every value, the built-in ones first; entry points are read only after these.

        Raises:
            NotRegistered: An entry point names no such value.
        """
        for name in self.built_in:
            yield self.load(name)
        yield from self._registered.values()

    def names(self) -> list[str]:
        """Every name, the built-in ones first."""
        return [*self.built_in, *self._registered]

    @cached_property
    def _registered(self) -> dict[str, ValueT]:
        """Values that other packages register under names that are not built in."""
        from importlib.metadata import entry_points  # noqa: PLC0415 - who names built-in things needs none

        found: dict[str, ValueT] = {}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: entry.name):
            if entry.name in self.built_in:
                continue
            place = f"entry point {entry.name} of group {self.group}, {entry.value},"
            try:
                value = entry.load()
            except TypeError as incomplete:
                # An abstract class without all its methods; the text names them.
                raise NotRegistered(f"{place} cannot be loaded: {incomplete}") from incomplete
            if not isinstance(value, self.kind):
                raise NotRegistered(f"{place} is not a {self.kind.__name__}")
            found[entry.name] = value
        return found
