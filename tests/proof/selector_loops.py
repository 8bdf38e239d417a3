"""Random loops and bindings within each other, whose variables are read wherever they can be."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

Scope = tuple[str, ...]

_LISTS = ("[1]", "[1, 2]", "[3, 1, 2]", "[1, 1, 2, 2]", "[0, -1]", "[]")
_NUMBERS = ("0", "1", "2", "-1", "device.attributes['gpu.example.com'].index", "size(device.driver)")
_TRUTHS = (
    "true",
    "false",
    "device.driver == 'gpu.example.com'",
    "device.attributes['gpu.example.com'].healthy",
)


class Loops:
    """Expressions of bool and int, made of loops."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = count()

    def truth(self, depth: int, scope: Scope = ()) -> str:
        """A bool."""
        if depth <= 0:
            return self._comparison(depth, scope) if scope else self._chance.choice(_TRUTHS)
        rules: tuple[Callable[[int, Scope], str], ...] = (
            self._loop,
            self._loop,
            self._loop,
            self._bound_truth,
            self._both,
            self._either,
            self._conditional,
            self._comparison,
            self._filtered,
        )
        return self._chance.choice(rules)(depth - 1, scope)

    def _name(self) -> str:
        return f"x{next(self._numbers)}"

    def _number(self, depth: int, scope: Scope) -> str:
        roll = self._chance.random()
        if depth > 0 and roll < 0.25:
            name = self._name()
            bound = self._number(depth - 1, scope)
            return f"cel.bind({name}, {bound}, {self._number(depth - 1, (*scope, name))})"
        if scope and roll < 0.8:
            return self._chance.choice(scope)
        return self._chance.choice(_NUMBERS)

    def _list(self, depth: int, scope: Scope) -> str:
        if depth <= 0 or self._chance.random() < 0.5:
            return self._chance.choice(_LISTS)
        inside = self._list(depth - 1, scope)
        kind, *names = self._chance.choice(
            (("map", "x"), ("map", "x"), ("transformList", "i", "x"), ("sortBy", "x"))
        )
        names = [self._name() for _ in names]
        return f"{inside}.{kind}({', '.join(names)}, {self._number(depth - 1, (*scope, *names))})"

    def _loop(self, depth: int, scope: Scope) -> str:
        inside = self._list(depth, scope)
        if self._chance.random() < 0.3:
            kind, names = (
                self._chance.choice(("all", "exists", "exists_one", "existsOne")),
                (self._name(), self._name()),
            )
            return f"{inside}.{kind}({', '.join(names)}, {self.truth(depth, (*scope, *names))})"
        kind, name = self._chance.choice(("all", "exists", "exists", "exists_one")), self._name()
        return f"{inside}.{kind}({name}, {self.truth(depth, (*scope, name))})"

    def _bound_truth(self, depth: int, scope: Scope) -> str:
        name = self._name()
        bound = self._number(depth, scope)
        return f"cel.bind({name}, {bound}, {self.truth(depth, (*scope, name))})"

    def _both(self, depth: int, scope: Scope) -> str:
        return f"({self.truth(depth, scope)} && {self.truth(depth, scope)})"

    def _either(self, depth: int, scope: Scope) -> str:
        return f"({self.truth(depth, scope)} || {self.truth(depth, scope)})"

    def _conditional(self, depth: int, scope: Scope) -> str:
        return f"({self.truth(0, scope)} ? {self.truth(depth, scope)} : {self.truth(depth, scope)})"

    def _comparison(self, depth: int, scope: Scope) -> str:
        order = self._chance.choice(("<", "<=", "==", "!=", ">"))
        return f"{self._number(depth, scope)} {order} {self._number(depth, scope)}"

    def _filtered(self, depth: int, scope: Scope) -> str:
        name = self._name()
        return f"size({self._list(depth, scope)}.filter({name}, {self.truth(depth, (*scope, name))})) > 1"
