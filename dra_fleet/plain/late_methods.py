"""Dataclasses whose methods cost nothing until they are used.

The library's decorator compiles up to six functions for each class when its module is imported, a sixth of a
short command (docs/adr/0009-start-up.md). Here `__init__` is compiled when the first value is made, and the
others are closures over the names of the fields. To everybody else, `dataclasses.replace` and `fields` among
them, such a class is a dataclass.
"""

from __future__ import annotations

import dataclasses
import operator
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
_ORDER = (operator.lt, operator.le, operator.gt, operator.ge)


@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(
    *, frozen: bool = False, kw_only: bool = False, eq: bool = True, order: bool = False
) -> Callable[[type[T]], type[T]]:
    """Make a dataclass, as the library's decorator does with the same options.

    Args:
        frozen: No attribute of a value is ever assigned.
        kw_only: Fields are given by name.
        eq: Values with equal fields are equal; with `frozen` they have a hash.
        order: Values are sorted by their fields.
    """

    def decorate(cls: type[T]) -> type[T]:
        own = dict(vars(cls))
        dataclasses.dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)
        fields = dataclasses.fields(cls)  # pyright: ignore[reportArgumentType] - it has just become one
        made: dict[str, Any] = {"__init__": _init_at_first_use(cls, frozen), "__repr__": _repr(fields)}
        if eq:
            compared = _key([item.name for item in fields if item.compare])
            made["__eq__"] = _comparing(operator.eq, compared)
            made |= {f"__{ask.__name__}__": _comparing(ask, compared) for ask in _ORDER if order}
            if own.get("__hash__") is None:
                own.pop("__hash__", None)  # Python's own answer to a class with an `__eq__` of its own
                made["__hash__"] = _hash(compared) if frozen else None
        for name, method in made.items():
            if name not in own:
                setattr(cls, name, method)
        if frozen:
            cls.__setattr__ = _refuse_to_assign
            cls.__delattr__ = _refuse_to_delete
        return cls

    return decorate


def _refuse_to_assign(_self: object, name: str, _value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _key(names: Sequence[str]) -> Callable[[object], object]:
    """What tells one value from another."""
    return operator.attrgetter(*names) if names else type


def _comparing(
    ask: Callable[[Any, Any], bool], key: Callable[[object], object]
) -> Callable[[object, object], bool]:
    def compare(self: object, other: object) -> bool:
        return ask(key(self), key(other)) if other.__class__ is self.__class__ else NotImplemented

    return compare


def _hash(key: Callable[[object], object]) -> Callable[[object], int]:
    def __hash__(self: object) -> int:  # noqa: N807
        return hash(key(self))

    return __hash__


def _repr(fields: Sequence[dataclasses.Field[Any]]) -> Callable[[object], str]:
    @recursive_repr()
    def __repr__(self: object) -> str:  # noqa: N807
        told = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in fields if item.repr)
        return f"{self.__class__.__qualname__}({told})"

    return __repr__


def _init_at_first_use(cls: type, frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its own place."""

    def __init__(self: object, *args: object, **given: object) -> None:  # noqa: N807
        cls.__init__ = compiled = _compiled_init(cls, frozen)
        compiled(self, *args, **given)

    return __init__


def _compiled_init(cls: type, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"MISSING": dataclasses.MISSING, "assign": object.__setattr__}
    positional: list[str] = []
    by_name: list[str] = []
    lines: list[str] = []
    for item in dataclasses.fields(cls):
        name, value = item.name, item.name
        if item.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"] = item.default_factory
            value = f"make_{name}() if {name} is MISSING else {name}" if item.init else f"make_{name}()"
            default = "=MISSING"
        elif item.default is not dataclasses.MISSING:
            known[f"default_{name}"] = item.default
            default = f"=default_{name}"
        else:
            default = ""
        if item.init:
            (by_name if item.kw_only else positional).append(name + default)
        if item.init or value != name:
            lines.append(f"assign(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    taken = ", ".join(["self", *positional, *(["*", *by_name] if by_name else [])])
    exec(f"def __init__({taken}):\n " + "\n ".join(lines or ["pass"]), known)  # noqa: S102 - the fields' names
    init: Callable[..., None] = known["__init__"]
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    return init
