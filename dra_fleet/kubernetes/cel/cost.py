"""The worst-case cost of an expression, by which an API server refuses what could be slow.

A port of ``Cost`` in https://github.com/google/cel-go/blob/v0.29.2/checker/cost.go.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.kubernetes.cel import sizes, syntax
from dra_fleet.kubernetes.cel.sizes import MOST, UNKNOWN_SIZE, Entries, Range, fixed, size_at

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.sizes import Path, Result, Rule, Sizes
    from dra_fleet.kubernetes.cel.syntax import CheckedTree, Node


# The worst-case cost of one call, and how long its result can be.
#
# Sources: ``functionCost`` of https://github.com/google/cel-go/blob/v0.29.2/checker/cost.go, the estimators
# of its ext package, and https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/library/cost.go
# (asked first).

_NOTHING, _ONE = fixed(0), fixed(1)

_TRAVERSAL, _PATTERN = 0.1, 0.25

_ADDRESS = Range(4, 16)

_FORMAT_NAME = Range(1, 64)

_LONGEST_FORMAT = 128

_STRING, _BYTES = 5, 6

_SIZED = ("_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_")


def estimate(tree: Sizes, node: Node, overload: str, arguments: list[Range]) -> Result:
    """Return the cost of a call with its arguments, and the size of its result if it is known."""
    total = fixed(0)
    for argument in arguments:
        total = total.plus(argument)
    special = _logic(tree, node, arguments)
    if special is not None:
        return special
    rule = _RULES.get(node.call.function)
    found = rule(tree, node, overload) if rule is not None else None
    cost, size = found if found is not None else (_ONE, None)
    return cost.plus(total), size


def _parse(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    return tree.size(node.call.args[0]).scaled(_TRAVERSAL), None


def _parse_twice(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    return tree.size(node.call.args[0]).scaled(2 * _TRAVERSAL), None


def _parse_url(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.args[0])
    return size.scaled(_TRAVERSAL), size


def _address(tree: Sizes, node: Node, overload: str) -> Result | None:
    return (_ONE, None) if node.call.HasField("target") else _parse(tree, node, overload)


def _range_contains(tree: Sizes, node: Node, overload: str) -> Result | None:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_TRAVERSAL)
    if node.call.function == "containsCIDR":
        cost = cost.plus(_ADDRESS.scaled(_TRAVERSAL)).plus(_ONE)
    if "string" in overload:
        cost = cost.plus(tree.size(node.call.args[0]).scaled(_TRAVERSAL))
    return cost, None


def _whole_text(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.target)
    return size.scaled(_TRAVERSAL), size


def _over_list(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    if not node.call.HasField("target"):
        return None
    size, element = tree.size(node.call.target), _element(tree, node.call.target)
    if element is None:
        # The target of `includes` can be a list.
        return size.scaled(1 if node.call.function == "includes" else _TRAVERSAL), None
    each = _ONE.plus(element[1].scaled(_TRAVERSAL)) if element[0] else _ONE
    return size.times(each), None


def _replace(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.target)
    old, new = tree.size(node.call.args[0]), tree.size(node.call.args[1])
    most, kept_most = _replacements(size.most, old.least, longer=new.most > old.least)
    least, kept_least = _replacements(size.least, old.most, longer=old.most > new.least)
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return size.scaled(2 * _TRAVERSAL), result


def _split(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.target)
    most = size.most
    if len(node.call.args) > 1 and node.call.args[1].constant.WhichOneof("kind") == "int64_value":
        most = node.call.args[1].constant.int64_value % 2**64
    return size.scaled(2 * _TRAVERSAL), Range(0, most)


def _join(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    length = tree.size(node.call.target)
    element = _element(tree, node.call.target)
    size = length.times(element[1]) if element is not None else fixed(0)
    if node.call.args:
        between = Range(max(length.least - 1, 0), max(length.most - 1, 0))
        size = size.plus(tree.size(node.call.args[0]).times(between))
    return size.scaled(_TRAVERSAL), size


def _search(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.target)
    pattern = tree.size(node.call.args[0]).scaled(_PATTERN)
    return size.plus(_ONE).scaled(_TRAVERSAL).times(pattern), Range(0, size.most)


def _matches(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    operands = [*([node.call.target] if node.call.HasField("target") else []), *node.call.args]
    text, pattern = tree.size(operands[0]), tree.size(operands[1])
    return text.plus(_ONE).scaled(_TRAVERSAL).times(pattern.scaled(_PATTERN)), None


def _affix(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    return tree.size(node.call.args[0]).scaled(_TRAVERSAL), None


def _contains(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    text, part = tree.size(node.call.target), tree.size(node.call.args[0])
    return text.scaled(_TRAVERSAL).times(part.scaled(_TRAVERSAL)), None


def _format(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    return tree.size(node.call.target).scaled(_TRAVERSAL), None


def _validate(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    return tree.size(node.call.args[0]).scaled(_TRAVERSAL).scaled(_LONGEST_FORMAT * _PATTERN), None


def _member(tree: Sizes, node: Node, overload: str) -> Result | None:
    return (tree.size(node.call.args[1]).scaled(1), None) if overload == "in_list" else None


def _quote(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    size = tree.size(node.call.args[0])
    return size.scaled(_TRAVERSAL), Range(min(size.least + 2, MOST), (size.most * 2 + 2) % 2**64)


def _text_or_bytes(tree: Sizes, node: Node, overload: str) -> Result | None:
    size = tree.size(node.call.args[0])
    if overload == "string_to_bytes":
        return size.scaled(_TRAVERSAL), Range(size.least, size.most * 4 % 2**64)
    if overload in ("bytes_to_string", "string(bytes) -> string"):
        return size.scaled(_TRAVERSAL), Range(size.least // 4, size.most)
    return None


def _add(tree: Sizes, node: Node, overload: str) -> Result | None:
    if overload not in ("add_string", "add_bytes", "add_list"):
        return None
    left, right = node.call.args
    size = tree.size(left).plus(tree.size(right))
    entries = tree.entries(left)
    tree.set_entries(node, entries.union(tree.entries(right)) if entries is not None else None)
    return (_ONE if overload == "add_list" else size.scaled(_TRAVERSAL)), size


def _compare(tree: Sizes, node: Node, overload: str) -> Result | None:
    is_equality = node.call.function in ("_==_", "_!=_")
    if not is_equality and not overload.startswith(("string ", "bytes ")):
        return None
    left, right = node.call.args
    opaque = _opaque(tree, left, right) if node.call.function == "_==_" else ""
    if opaque == "kubernetes.NamedFormat":
        return _FORMAT_NAME.scaled(_TRAVERSAL), None
    if opaque == "kubernetes.URL":
        size = tree.computed_size(right) or _ONE
        return Range(1, size.most).scaled(_TRAVERSAL), None
    if opaque:
        return _ONE, None
    smallest = min(tree.size(left).most, tree.size(right).most)
    return Range(1 if smallest else 0, smallest).scaled(_TRAVERSAL), None


_RULES: dict[str, Rule] = {
    **sizes.RULES,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"), _over_list),
    **dict.fromkeys(("quantity", "isQuantity", "semver", "isSemver", "cidr", "isIP", "isCIDR"), _parse),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _whole_text),
    **dict.fromkeys(("find", "findAll"), _search),
    **dict.fromkeys(("containsIP", "containsCIDR"), _range_contains),
    **dict.fromkeys(("startsWith", "endsWith"), _affix),
    **dict.fromkeys(_SIZED, _compare),
    "ip": _address,
    "ip.isCanonical": _parse_twice,
    "url": _parse_url,
    "format": _format,
    "validate": _validate,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "matches": _matches,
    "contains": _contains,
    "@in": _member,
    "strings.quote": _quote,
    "bytes": _text_or_bytes,
    "string": _text_or_bytes,
    "_+_": _add,
}

LIMIT = 1_000_000
"""The highest cost the API server accepts."""


_NEW_LIST, _NEW_MAP, _NEW_MESSAGE = fixed(10), fixed(30), fixed(40)

_SCALARS = (1, 2, 3, 4)

_ACCUMULATORS = ("__result__", "@result")


class _Local(NamedTuple):
    path: Path
    size: Range | None
    entries: Entries | None


class Estimate:
    """A cost estimate of one expression."""

    def __init__(self, checked: CheckedTree) -> None:
        self._types = checked.types
        self._overloads = checked.overloads
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, Entries] = {}
        self._locals: dict[str, list[_Local]] = defaultdict(list)

    def of(self, node: Node) -> Range:
        """Return the cost of a node and everything below it."""
        kind = node.WhichOneof("kind")
        if kind == "ident":
            return self._ident(node)
        if kind == "select":
            return self._select(node)
        if kind == "call":
            return self._call(node)
        if kind in ("list", "struct"):
            return self._literal(node, kind)
        if kind == "comprehension":
            return self._bind(node) if _is_bind(node) else self._loop(node)
        return _NOTHING

    def type_kind(self, node: Node) -> str:
        """Return the kind of a node's type."""
        found = self._types.get(node.id)
        return (found.WhichOneof("kind") or "") if found is not None else ""

    def type_of(self, node: Node) -> Node | None:
        """Return the type message of a node."""
        return self._types.get(node.id)

    def path(self, node: Node) -> Path:
        """Return the path in the variables that a node's value is read from; empty if there is none."""
        name = syntax.identifier(node)
        if name is not None and self._locals[name]:
            return self._locals[name][-1].path
        return self._paths.get(node.id, ())

    def size(self, node: Node) -> Range:
        """Return the length of a node's value."""
        found = self.computed_size(node)
        return UNKNOWN_SIZE if found is None else found

    def entries(self, node: Node) -> Entries | None:
        """Return the length of the entries of a node's value."""
        found = self._entries.get(node.id)
        name = syntax.identifier(node)
        if found is None and name is not None and self._locals[name]:
            return self._locals[name][-1].entries
        return found

    def set_entries(self, node: Node, entries: Entries | None) -> None:
        """Remember how long the entries of a node's value can be."""
        if entries is not None:
            self._entries[node.id] = entries

    def computed_size(self, node: Node) -> Range | None:
        """Return the known length of a node's value, or None."""
        found = self._sizes.get(node.id)
        if found is not None:
            return found
        found = _written_size(node)
        if found is not None:
            return found
        found = size_at(self.path(node))
        if found is not None:
            self._sizes[node.id] = found
            return found
        if _is_scalar(self._types.get(node.id)):
            return _ONE
        name = syntax.identifier(node)
        return self._locals[name][-1].size if name is not None and self._locals[name] else None

    def _keep(self, node: Node, size: Range | None) -> None:
        if size is not None:
            self._sizes[node.id] = size

    def _ident(self, node: Node) -> Range:
        name = node.ident.name
        local = self._locals[name]
        self._paths[node.id] = local[-1].path if local else tuple(name.split("."))
        # On a server `device.driver` is an identifier and a selection.
        return _ONE if local or "." not in name else fixed(2)

    def _select(self, node: Node) -> Range:
        below = self.of(node.select.operand)
        if node.select.test_only:
            return below
        self._paths[node.id] = (*self.path(node.select.operand), node.select.field)
        is_container = self.type_kind(node.select.operand) in ("map_type", "message_type", "type_param")
        return below.plus(_ONE) if is_container else below

    def _call(self, node: Node) -> Range:
        call = node.call
        if call.function == "dyn" and len(call.args) == 1:
            cost = self.of(call.args[0])
            self._keep(node, self.computed_size(call.args[0]))
            self.set_entries(node, self.entries(call.args[0]))
            return cost.plus(_ONE)
        arguments = [self.of(argument) for argument in call.args]
        overloads = self._overloads.get(node.id, [])
        if not overloads:
            return _NOTHING
        target = self.of(call.target) if call.HasField("target") else _NOTHING
        total, size = Range(MOST, 0), None
        for overload in overloads:
            cost, result = estimate(self, node, overload, arguments)
            total = total.union(cost)
            if result is not None:
                size = result if size is None else size.union(result)
            if overload in ("index_list", "index_map"):
                size = self._indexed(node, overload)
            if size is None:
                size = self.computed_size(node)
        self._keep(node, size)
        return target.plus(total)

    def _indexed(self, node: Node, overload: str) -> Range | None:
        container = node.call.args[0]
        inside = "@items" if overload == "index_list" else "@values"
        self._paths[node.id] = (*self.path(container), inside)
        entries = self.entries(container)
        return None if entries is None else entries.value

    def _literal(self, node: Node, kind: str) -> Range:
        if kind == "struct" and node.struct.message_name:
            return self._sum([entry.value for entry in node.struct.entries]).plus(_NEW_MESSAGE)
        if kind == "list":
            elements = list(node.list.elements)
            cost = self._sum(elements)
            self._entries[node.id] = Entries(is_list=True, key=_ONE, value=self._widest(elements))
            return cost.plus(_NEW_LIST)
        keys = [entry.map_key for entry in node.struct.entries]
        values = [entry.value for entry in node.struct.entries]
        cost = self._sum([*keys, *values])
        self._entries[node.id] = Entries(is_list=False, key=self._widest(keys), value=self._widest(values))
        return cost.plus(_NEW_MAP)

    def _sum(self, nodes: list[Node]) -> Range:
        total = _NOTHING
        for node in nodes:
            total = total.plus(self.of(node))
        return total

    def _widest(self, nodes: list[Node]) -> Range:
        widest = Range(MOST if nodes else 0, 0)
        for node in nodes:
            widest = widest.union(self.size(node))
        return widest

    def _bind(self, node: Node) -> Range:
        loop = node.comprehension
        cost = self.of(loop.iter_range).plus(self.of(loop.accu_init))
        self._push(loop.accu_var, loop.accu_init)
        cost = cost.plus(self.of(loop.result))
        # As there: the size that only the variable knew is forgotten with it.
        self._locals[loop.accu_var].pop()
        self._keep(node, self.computed_size(loop.result))
        self.set_entries(node, self.entries(loop.result))
        return cost

    def _push(self, name: str, value: Node) -> None:
        self._locals[name].append(_Local(self.path(value), self.computed_size(value), self.entries(value)))

    def _loop(self, node: Node) -> Range:
        loop = node.comprehension
        cost = self.of(loop.iter_range).plus(self.of(loop.accu_init))
        self._push(loop.accu_var, loop.accu_init)
        local = self._iterated(loop)
        for name, value in local.items():
            self._locals[name].append(value)
        each = self.of(loop.loop_condition).plus(self.of(loop.loop_step))
        for name in local:
            self._locals[name].pop()
        cost = cost.plus(self.of(loop.result))
        self._locals[loop.accu_var].pop()
        length = self.size(loop.iter_range)
        initial = loop.accu_init.WhichOneof("kind")
        if initial == "constant":
            self._keep(node, self.computed_size(loop.accu_init))
        elif initial in ("list", "struct"):
            self._keep(node, length)
            self.set_entries(node, self.entries(loop.loop_step))
        return cost.plus(length.times(each))

    def _iterated(self, loop: Node) -> dict[str, _Local]:
        """Return the values of a loop's variables: keys and values, or one variable's values."""
        path, entries = self.path(loop.iter_range), self.entries(loop.iter_range)
        is_list = entries.is_list if entries is not None else self.type_kind(loop.iter_range) == "list_type"
        keys = (*path, "@indices" if is_list else "@keys")
        key = _Local(keys, None if entries is None else entries.key, None)
        values = (*path, "@items" if is_list else "@values")
        value = _Local(values, None if entries is None else entries.value, None)
        if loop.iter_var2:
            return {loop.iter_var: key, loop.iter_var2: value}
        return {loop.iter_var: value if is_list else key}


def _is_bind(node: Node) -> bool:
    loop = node.comprehension
    is_empty = loop.iter_range.WhichOneof("kind") == "list" and not loop.iter_range.list.elements
    never = (
        loop.loop_condition.WhichOneof("kind") == "constant" and not loop.loop_condition.constant.bool_value
    )
    return bool(is_empty and never and loop.accu_var not in _ACCUMULATORS)


def _written_size(node: Node) -> Range | None:
    kind = node.WhichOneof("kind")
    if kind == "list":
        return fixed(len(node.list.elements))
    if kind == "struct":
        return None if node.struct.message_name else fixed(len(node.struct.entries))
    if kind != "constant":
        return None
    which = node.constant.WhichOneof("kind")
    if which in ("string_value", "bytes_value"):
        return fixed(len(getattr(node.constant, which)))
    return None if which is None else _ONE


def _is_scalar(kind: Node | None) -> bool:
    which = kind.WhichOneof("kind") if kind is not None else None
    if kind is None or which is None:
        return False
    if which == "primitive":
        return kind.primitive in _SCALARS
    if which == "abstract_type" and kind.abstract_type.name == "optional_type":
        return _is_scalar(kind.abstract_type.parameter_types[0])
    return bool(which == "well_known" and kind.well_known in (2, 3))


def highest(checked: CheckedTree) -> int:
    """Return the maximum cost of an expression."""
    return Estimate(checked).of(checked.tree.expr).most


def _logic(tree: Sizes, node: Node, arguments: list[Range]) -> Result | None:
    if node.call.function in ("_&&_", "_||_"):
        return Range(arguments[0].least, arguments[0].plus(arguments[1]).most), None
    if node.call.function != "_?_:_":
        return None
    _, then, otherwise = node.call.args
    first, second = tree.entries(then), tree.entries(otherwise)
    tree.set_entries(node, first.union(second) if first is not None else None)
    size = tree.size(then).union(tree.size(otherwise))
    return arguments[0].plus(arguments[1].union(arguments[2])), size


def _element(tree: Sizes, node: Node) -> tuple[bool, Range] | None:
    """Return whether the elements of a list are texts, and their length; None if it is not a list."""
    kind = tree.type_of(node)
    if kind is None or kind.WhichOneof("kind") != "list_type":
        return None
    element = kind.list_type.elem_type
    is_text = element.WhichOneof("kind") == "primitive" and element.primitive in (_STRING, _BYTES)
    path = tree.path(node)
    found = size_at((*path, "@items")) if path else None
    return is_text, UNKNOWN_SIZE if found is None else found


def _replacements(length: int, old: int, *, longer: bool) -> tuple[int, int]:
    """Return the maximum number of replacements, and the length of the remaining text."""
    if old == 0:
        return min(length + 1, MOST), length
    if not longer:
        return 0, length
    return min(math.ceil(float(length) / float(old)), MOST), 0


def _opaque(tree: Sizes, left: Node, right: Node) -> str:
    """Return Kubernetes' own type that both sides have, or ""."""
    first = tree.type_of(left)
    if first is None or first.WhichOneof("kind") != "message_type" or first != tree.type_of(right):
        return ""
    return str(first.message_type)
