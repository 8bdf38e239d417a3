"""Finds in a selector's syntax tree what can be told without a device: comparisons and literals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.cel import evaluator, syntax

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.cel.syntax import Node, Tree

_COMPARISONS = {"_==_": "==", "_!=_": "!=", "_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
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


def tree_of(expression: str, minor: int) -> Tree:
    """The tree of an expression that compiles."""
    return syntax.parse(evaluator.checked(expression, minor).serialize())


def comparisons(tree: Tree) -> Iterator[Comparison]:
    """Every look-up that is compared with a literal."""
    for node in _calls(tree):
        operator = _COMPARISONS.get(str(node.call.function))
        if operator is None or len(node.call.args) != _PAIR:
            continue
        first, second = node.call.args
        for side, other in ((first, second), (second, first)):
            access, literal = _access(side), _literal(other)
            if access is not None and literal:
                yield Comparison(access, operator, literal, syntax.string_constant(other) or "")


def conversions(tree: Tree) -> Iterator[Conversion]:
    """Every literal that is made a quantity or a version."""
    for node in _calls(tree):
        if node.call.function in ("quantity", "semver") and len(node.call.args) == 1:
            text = syntax.string_constant(node.call.args[0])
            if text is not None:
                yield Conversion(str(node.call.function), text)


def _calls(tree: Tree) -> Iterator[Node]:
    return (node for node in syntax.walk(tree.expr) if node.WhichOneof("kind") == "call")


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
