"""The worst-case cost of one call, and how long its result can be.

Sources: ``functionCost`` of https://github.com/google/cel-go/blob/v0.29.2/checker/cost.go, the estimators of
its ext package, and https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/library/cost.go, which is
asked first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import list_cost
from dra_fleet.kubernetes.cel.sizes import MOST, UNKNOWN_SIZE, Range, fixed, size_at

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.list_cost import Result, Rule
    from dra_fleet.kubernetes.cel.sizes import Sizes
    from dra_fleet.kubernetes.cel.syntax import Node

_ONE = fixed(1)
_TRAVERSAL, _PATTERN = 0.1, 0.25
_ADDRESS = Range(4, 16)
_FORMAT_NAME = Range(1, 64)
_LONGEST_FORMAT = 128
_STRING, _BYTES = 5, 6
_SIZED = ("_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_")


def estimate(tree: Sizes, node: Node, overload: str, arguments: list[Range]) -> Result:
    """The cost of a call with its arguments, and the size of its result where it is known."""
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


def _element(tree: Sizes, node: Node) -> tuple[bool, Range] | None:
    """Whether the elements of a list are texts, and how long one can be; None for what is no list."""
    kind = tree.type_of(node)
    if kind is None or kind.WhichOneof("kind") != "list_type":
        return None
    element = kind.list_type.elem_type
    is_text = element.WhichOneof("kind") == "primitive" and element.primitive in (_STRING, _BYTES)
    path = tree.path(node)
    found = size_at((*path, "@items")) if path else None
    return is_text, UNKNOWN_SIZE if found is None else found


def _over_list(tree: Sizes, node: Node, overload: str) -> Result | None:
    del overload
    if not node.call.HasField("target"):
        return None
    size, element = tree.size(node.call.target), _element(tree, node.call.target)
    if element is None:
        return size.scaled(_TRAVERSAL), None
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


def _replacements(length: int, old: int, *, longer: bool) -> tuple[int, int]:
    """How often something is replaced, and how much of the text stays."""
    if old == 0:
        return min(length + 1, MOST), length
    if not longer:
        return 0, length
    return min(math.ceil(float(length) / float(old)), MOST), 0


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


def _opaque(tree: Sizes, left: Node, right: Node) -> str:
    """The type of Kubernetes' own that both sides have, if they do."""
    first = tree.type_of(left)
    if first is None or first.WhichOneof("kind") != "message_type" or first != tree.type_of(right):
        return ""
    return str(first.message_type)


_RULES: dict[str, Rule] = {
    **list_cost.RULES,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _over_list),
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
