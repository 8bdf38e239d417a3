"""Reads of an expression from its syntax tree: drivers, comparisons, bounds, look-ups.

Nothing is evaluated here, and no device is needed. Different notations of the same expression give the same
reads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from dra_fleet.kubernetes.cel import evaluator, lookups, minors, syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.kubernetes.cel.lookups import Lookup
    from dra_fleet.kubernetes.cel.syntax import CheckedTree, Node

_COMPARISONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_BOUNDS = {"_<_": False, "_<=_": False, "_>_": True, "_>=_": True, "isLessThan": False, "isGreaterThan": True}
_DRIVER = "device.driver"
_VARIABLES = ("device.attributes", "device.capacity")
_LITERALS = {
    "string_value": "string",
    "int64_value": "int",
    "uint64_value": "int",
    "double_value": "double",
    "bool_value": "bool",
}
_PAIR = 2


class Access(NamedTuple):
    """A look-up with constant keys: `device.attributes["gpu.nvidia.com"].model`."""

    variable: str
    domain: str
    identity: str


class Comparison(NamedTuple):
    """A look-up compared with a literal."""

    access: Access
    operator: str
    literal: str
    """The literal's type: string, int, double or bool."""
    text: str
    """The literal, if it is a string."""


class Conversion(NamedTuple):
    """`quantity("…")` or `semver("…")` of a literal."""

    function: str
    text: str


class Bound(NamedTuple):
    """An amount or a version that a device must have at least or at most."""

    identity: str
    """The capacity, or attribute, by its last name."""
    is_least: bool
    limit: str
    """A quantity or a version, as written."""


class Asked(Struct, frozen=True, kw_only=True):
    """The reads of an expression.

    Attributes:
        drivers: All drivers that it names with `device.driver == '…'`.
        only_driver: The driver, if it requires nothing else; otherwise empty.
        comparisons: Look-ups that are compared with a literal.
        conversions: Literals that are converted to a quantity or version.
        bounds: Bounds that are separate clauses: a device that misses one does not match.
        versions: Version bounds that are separate clauses.
        lookups: All possible look-ups.
    """

    drivers: frozenset[str] = frozenset()
    only_driver: str = ""
    comparisons: tuple[Comparison, ...] = ()
    conversions: tuple[Conversion, ...] = ()
    bounds: tuple[Bound, ...] = ()
    versions: tuple[Bound, ...] = ()
    lookups: frozenset[Lookup] = frozenset()

    def texts(self, identity: str) -> frozenset[str]:
        """Return the texts that an attribute of this name is compared with by `==`."""
        return frozenset(
            found.text
            for found in self.comparisons
            if found.access.identity == identity and found.operator == "==" and found.literal == "string"
        )

    def reads(self, identity: str) -> bool:
        """Return True if it looks up an attribute or capacity of this name."""
        return any(found.identity == identity for found in self.lookups)


@lru_cache(maxsize=4096)
def asked(expression: str) -> Asked:
    """Return the reads of an expression, by the newest minor's functions; none if no server accepts it."""
    try:
        expression.encode()  # the evaluator takes no other text
        checked = syntax.parse(evaluator.checked(expression, minors.NEWEST))
    except (RuntimeError, UnicodeEncodeError):
        return Asked()
    clauses = list(_clauses(checked.tree.expr))
    return Asked(
        drivers=frozenset(name for node in checked.find("_==_") if (name := _driver(node))),
        only_driver=_driver(checked.tree.expr),
        comparisons=tuple(_comparisons(checked)),
        conversions=tuple(_conversions(checked)),
        bounds=tuple(bound for node in clauses if (bound := _bound(node, "quantity")) is not None),
        versions=tuple(bound for node in clauses if (bound := _bound(node, "semver")) is not None),
        lookups=lookups.lookups(checked),
    )


def _comparisons(checked: CheckedTree) -> Iterator[Comparison]:
    """Every look-up that is compared with a literal."""
    for node in checked.find(*_COMPARISONS):
        first, second = node.call.args
        for side, other in ((first, second), (second, first)):
            access, literal = _access(side), _literal(other)
            if access is not None and literal:
                operator = _COMPARISONS[node.call.function]
                yield Comparison(access, operator, literal, syntax.string_constant(other) or "")


def _conversions(checked: CheckedTree) -> Iterator[Conversion]:
    """Every literal that is made a quantity or a version."""
    for node in checked.find("quantity", "semver"):
        if len(node.call.args) == 1:
            text = syntax.string_constant(node.call.args[0])
            if text is not None:
                yield Conversion(str(node.call.function), text)


def _clauses(node: Node) -> Iterator[Node]:
    """Yield the clauses that must all be true, in source order."""
    if node.WhichOneof("kind") == "call" and node.call.function == "_&&_":
        for operand in node.call.args:
            yield from _clauses(operand)
    else:
        yield node


def _driver(node: Node) -> str:
    """Return the driver in a comparison with `device.driver`; empty for other nodes."""
    if node.WhichOneof("kind") != "call" or node.call.function != "_==_":
        return ""
    first, second = node.call.args
    for side, other in ((first, second), (second, first)):
        if syntax.identifier(side) == _DRIVER:
            return syntax.string_constant(other) or ""
    return ""


def _bound(node: Node, function: str) -> Bound | None:
    """`x.memory.compareTo(quantity('20Gi')) >= 0`, or the same by isGreaterThan or isLessThan."""
    if node.WhichOneof("kind") != "call" or node.call.function not in _BOUNDS:
        return None
    operator, compared = str(node.call.function), node
    if len(node.call.args) == _PAIR:
        compared, zero = node.call.args
        is_call = compared.WhichOneof("kind") == "call" and compared.call.function == "compareTo"
        if not is_call or _literal(zero) != "int" or zero.constant.int64_value != 0:
            return None
    (value,) = compared.call.args
    found = _key(compared.call.target)
    if found is None or value.WhichOneof("kind") != "call" or value.call.function != function:
        return None
    limit = syntax.string_constant(value.call.args[0])
    return None if limit is None else Bound(found[1], _BOUNDS[operator], limit)


def _literal(node: Node) -> str:
    if node.WhichOneof("kind") != "constant":
        return ""
    return _LITERALS.get(str(node.constant.WhichOneof("kind")), "")


def _access(node: Node) -> Access | None:
    below = _key(node)
    if below is None:
        return None
    inner, identity = below
    domain = _key(inner)
    name = syntax.identifier(domain[0]) if domain is not None else None
    if domain is None or name not in _VARIABLES:
        return None
    return Access(str(name), domain[1], identity)


def _key(node: Node) -> tuple[Node, str] | None:
    kind = node.WhichOneof("kind")
    if kind == "select" and not node.select.test_only:
        return node.select.operand, str(node.select.field)
    if kind == "call" and node.call.function == "_[_]" and len(node.call.args) == _PAIR:
        text = syntax.string_constant(node.call.args[1])
        return None if text is None else (node.call.args[0], text)
    return None
