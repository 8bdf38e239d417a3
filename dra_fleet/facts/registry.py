"""What is registered by name: built in, or by an entry point of another installed package.

Entry points are read only when no built-in name answers, so that a stack that names built-in things alone
pays nothing for them, and each process finds the same ones by itself.
"""

from __future__ import annotations

from functools import cache, cached_property
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Generic, TypeVar

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ValueT = TypeVar("ValueT")


_at = cache(resolve_name)
"""What stands at a place, which is asked for again and again; what is not there is looked for again."""


class NotRegistered(TypeError):  # noqa: N818 - it says what the value is not
    """An entry point names something else than its group is for; the message says which and what."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Registry(Generic[ValueT]):
    """Values by name, each resolved when it is first asked for.

    Attributes:
        kind: what the values are instances of.
        group: the entry points' group.
        built_in: by name where the value is, `package.module:NAME`.
    """

    kind: type[ValueT]
    group: str
    built_in: Mapping[str, str]

    def named(self, name: str) -> ValueT | None:
        """The value of a name; None where nobody registered it.

        Raises:
            NotRegistered: The entry point of that name names no such value.
        """
        if name in self.built_in:
            return _at(self.built_in[name])
        return self._registered.get(name)

    def known(self) -> Iterator[ValueT]:
        """Every value, the built-in ones first; entry points are read only after these.

        Raises:
            NotRegistered: An entry point names no such value.
        """
        for name in self.built_in:
            yield _at(self.built_in[name])
        yield from self._registered.values()

    def names(self) -> list[str]:
        """Every name, the built-in ones first."""
        return [*self.built_in, *self._registered]

    @cached_property
    def _registered(self) -> dict[str, ValueT]:
        """What other packages register under names that are not built in."""
        from importlib.metadata import entry_points  # noqa: PLC0415 - who names built-in things needs none

        found: dict[str, ValueT] = {}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: entry.name):
            if entry.name in self.built_in:
                continue
            value = entry.load()
            if not isinstance(value, self.kind):
                msg = (
                    f"entry point {entry.name} of group {self.group}, {entry.value}, is no "
                    f"{self.kind.__name__}"
                )
                raise NotRegistered(msg)
            found[entry.name] = value
        return found
