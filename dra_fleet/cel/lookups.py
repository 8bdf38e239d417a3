"""Which attributes and capacity an expression reads, and how a missing domain reads as an empty map.

On a server ``device.attributes["example.com"]`` of a device without that domain is an empty map, while ``in``
and ``size`` see only what is there:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/cel/compile.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.cel import syntax
from dra_fleet.cel.verdict import CelUnsupported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dra_fleet.cel.device import Place
    from dra_fleet.cel.syntax import Node, Tree

_DOMAIN_MAPS = ("device.attributes", "device.capacity")
_INDEX = "_[_]"
_OPTIONAL = ("_?._", "_[?_]")
_PLUS = "_+_"
_KEY_LAST = 2


class Lookup(NamedTuple):
    """A place an expression reads; None where it may be any domain or any id."""

    variable: str
    domain: str | None
    identity: str | None


def lookups(tree: Tree) -> frozenset[Lookup]:
    """Everything the expression may read."""
    return frozenset(_reads(tree.expr))


def places(found: Collection[Lookup]) -> tuple[Place, ...] | None:
    """The same where each is one place by name; None where one may be any of several."""
    named = [(read.variable, read.domain, read.identity) for read in found if read.domain and read.identity]
    return tuple(named) if len(named) == len(found) else None


def _reads(node: Node) -> Iterator[Lookup]:
    access = _access(node)
    if access is not None:
        container, key = access
        place = _domain(container)
        if place is not None:
            yield Lookup(*place, key)
            return
        computed = _computed_domain(container)
        if computed is not None:
            name, domain = computed
            yield Lookup(name, None, key)
            yield from _reads(domain)
            return
    place = _domain(node)
    if place is not None:
        yield Lookup(*place, None)
        return
    name = syntax.identifier(node)
    if name in _DOMAIN_MAPS:
        yield Lookup(name, None, None)
    for child in syntax.children(node):
        yield from _reads(child)


def _access(node: Node) -> tuple[Node, str] | None:
    """The container and the constant key of a selection, index, optional access or membership test."""
    kind = node.WhichOneof("kind")
    if kind == "select":
        return node.select.operand, str(node.select.field)
    if kind != "call" or len(node.call.args) != _KEY_LAST:
        return None
    container, key = node.call.args
    if node.call.function == "@in":
        container, key = key, container
    elif node.call.function not in (_INDEX, *_OPTIONAL):
        return None
    text = _constant(key)
    return None if text is None else (container, text)


def _constant(node: Node) -> str | None:
    """The text of a constant, or of constants put together."""
    if node.WhichOneof("kind") != "call" or node.call.function != _PLUS:
        return syntax.string_constant(node)
    parts = [_constant(part) for part in node.call.args]
    return None if None in parts else "".join(part for part in parts if part is not None)


def _computed_domain(node: Node) -> tuple[str, Node] | None:
    """The variable of a node that is one whole domain whose name is computed, and what computes it."""
    if node.WhichOneof("kind") != "call" or node.call.function != _INDEX:
        return None
    container, key = node.call.args
    name = syntax.identifier(container)
    return (name, key) if name in _DOMAIN_MAPS else None


def _domain(node: Node) -> tuple[str, str] | None:
    """The variable and domain of a node that is one whole domain."""
    access = _access(node)
    is_value = node.WhichOneof("kind") == "select" or (
        node.WhichOneof("kind") == "call" and node.call.function == _INDEX
    )
    if access is None or not is_value or (node.WhichOneof("kind") == "select" and node.select.test_only):
        return None
    name = syntax.identifier(access[0])
    return (name, access[1]) if name in _DOMAIN_MAPS else None


def give_missing_domains(tree: Tree) -> None:
    """Rewrite every look-up of a domain in place: ``m[d]`` becomes ``d in m ? m[d] : {}``.

    Raises:
        CelUnsupported: All domains are passed on as one value, so that a later look-up would escape.
    """
    _refuse_escapes(tree.expr)
    ids = syntax.fresh_ids(tree)

    def change(node: Node) -> None:
        kind = node.WhichOneof("kind")
        if kind == "select" and syntax.identifier(node.select.operand) in _DOMAIN_MAPS:
            if node.select.test_only:
                node.constant.bool_value = True
                return
            key = type(node)(id=next(ids))
            key.constant.string_value = node.select.field
            syntax.replace(node, _with_default(ids, node.select.operand, key))
        elif kind == "call" and len(node.call.args) == _KEY_LAST:
            container, key = node.call.args
            if syntax.identifier(container) not in _DOMAIN_MAPS:
                return
            if node.call.function == _INDEX:
                syntax.replace(node, _with_default(ids, container, key))
            elif node.call.function in _OPTIONAL:
                syntax.replace(node, syntax.call(ids, "optional.of", _with_default(ids, container, key)))

    syntax.rewrite(tree.expr, change)


def _with_default(ids: Iterator[int], container: Node, key: Node) -> Node:
    empty = type(key)(id=next(ids))
    empty.struct.SetInParent()
    present = syntax.call(ids, "@in", key, container)
    return syntax.call(ids, "_?_:_", present, syntax.call(ids, _INDEX, container, key), empty)


def _refuse_escapes(root: Node) -> None:
    for node in syntax.walk(root):
        for child in syntax.children(node):
            if syntax.identifier(child) in _DOMAIN_MAPS and not _keeps(node, child):
                raise CelUnsupported(
                    f"{child.ident.name} is passed on as a whole; use look-ups, in, size() or iteration"
                )


def _keeps(node: Node, child: Node) -> bool:
    """Whether the parent of a map of domains only looks something up in it."""
    kind = node.WhichOneof("kind")
    if kind == "select":
        return True
    if kind == "comprehension":
        return bool(node.comprehension.iter_range.id == child.id)
    if kind != "call":
        return False
    if node.call.function in (_INDEX, *_OPTIONAL):
        return bool(node.call.args[0].id == child.id)
    return node.call.function in ("@in", "size")
