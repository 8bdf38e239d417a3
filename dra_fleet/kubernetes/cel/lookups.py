"""Attributes and capacity that an expression reads; a missing domain reads as an empty map.

On a server ``device.attributes["example.com"]`` of a device without that domain is an empty map, while ``in``
and ``size`` see only existing domains:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/cel/compile.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.kubernetes.cel import syntax
from dra_fleet.kubernetes.cel.verdict import CelUnsupported

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from dra_fleet.kubernetes.cel.device import Place
    from dra_fleet.kubernetes.cel.syntax import Change, CheckedTree, Node

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


def lookups(checked: CheckedTree) -> frozenset[Lookup]:
    """Return all lookups of an expression."""
    return frozenset(_read(*place) for place in checked.identifiers if place[0].ident.name in _DOMAIN_MAPS)


def places(found: Collection[Lookup]) -> tuple[Place, ...] | None:
    """Return each look-up as one place by name; None if one of them may be any of several."""
    named = [(read.variable, read.domain, read.identity) for read in found if read.domain and read.identity]
    return tuple(named) if len(named) == len(found) else None


def _read(node: Node, above: Node | None, beyond: Node | None) -> Lookup:
    """Return the look-up in a map of domains, from the two nodes above it."""
    name = str(node.ident.name)
    if above is None or not _is_value(above) or _container(above).id != node.id:
        return Lookup(name, None, None)
    found = _access(beyond) if beyond is not None else None
    identity = found[1] if found is not None and found[0].id == above.id else None
    domain = _access(above)
    return Lookup(name, None if domain is None else domain[1], identity)


def _access(node: Node) -> tuple[Node, str] | None:
    """Return the container and the constant key of a selection, index, optional access or membership test."""
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
    """Return the text of a constant or of concatenated constants, or None."""
    if node.WhichOneof("kind") != "call" or node.call.function != _PLUS:
        return syntax.string_constant(node)
    parts = [_constant(part) for part in node.call.args]
    return None if None in parts else "".join(part for part in parts if part is not None)


def _is_value(node: Node) -> bool:
    """Return True if a node is one value of its first operand, and fails if there is none."""
    kind = node.WhichOneof("kind")
    if kind == "select":
        return not node.select.test_only
    return bool(kind == "call" and node.call.function == _INDEX)


def _container(node: Node) -> Node:
    return node.select.operand if node.WhichOneof("kind") == "select" else node.call.args[0]


def refuse_escapes(checked: CheckedTree) -> None:
    """Refuse what is not only looked up in: a later look-up would not be met by the rewriting.

    Raises:
        CelUnsupported: All domains are passed on as one value.
    """
    for node, above, _ in checked.identifiers:
        if node.ident.name in _DOMAIN_MAPS and above is not None and not _keeps(above, node):
            raise CelUnsupported(
                f"{node.ident.name} is passed on as a whole; use look-ups, in, size() or iteration"
            )


def _select_domain(checked: CheckedTree, node: Node) -> None:
    container = node.select.operand
    if syntax.identifier(container) not in _DOMAIN_MAPS:
        return
    if node.select.test_only:
        node.constant.bool_value = True
        return
    key = type(node)(id=next(checked.ids))
    key.constant.string_value = node.select.field
    syntax.replace(node, _with_default(checked.ids, container, key))


def _index_domain(checked: CheckedTree, node: Node) -> None:
    container, key = node.call.args
    if syntax.identifier(container) in _DOMAIN_MAPS:
        value = _with_default(checked.ids, container, key)
        is_optional = node.call.function != _INDEX
        syntax.replace(node, syntax.call(checked.ids, "optional.of", value) if is_optional else value)


def _with_default(ids: Iterator[int], container: Node, key: Node) -> Node:
    empty = type(key)(id=next(ids))
    empty.struct.SetInParent()
    present = syntax.call(ids, "@in", key, container)
    return syntax.call(ids, "_?_:_", present, syntax.call(ids, _INDEX, container, key), empty)


def _keeps(node: Node, child: Node) -> bool:
    """Return True if the parent of a map of domains only looks something up in it."""
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


CHANGES: dict[str, Change] = {"select": _select_domain, **dict.fromkeys((_INDEX, *_OPTIONAL), _index_domain)}
"""Every look-up of a domain: ``m[d]`` becomes ``d in m ? m[d] : {}``."""
