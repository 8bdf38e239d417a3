"""Rules of the API server's compiler beyond types: result, uniform literals, valid constants.

Source: ASTValidators in
https://github.com/kubernetes/apiserver/blob/v0.36.3/pkg/cel/environment/base.go
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING

from cel_expr_python import cel  # pyright: ignore[reportMissingTypeStubs]

from dra_fleet.kubernetes.cel import equality, evaluator, formatting, libraries, syntax, words
from dra_fleet.kubernetes.cel.verdict import CelInvalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.kubernetes.cel.syntax import CheckedTree, Node

_PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {1: "any", 2: "google.protobuf.Timestamp", 3: "google.protobuf.Duration"}
_CONVERSIONS = ("bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint")
_ANY, _BOOL = "any", "bool"


def check(expression: str, checked: CheckedTree, minor: int) -> None:
    """Refuse what the API server refuses although its types are right.

    Raises:
        CelInvalid: With the server's words.
    """
    types = checked.types
    problems = [*_mixed_literals(checked), *_invalid_constants(checked)]
    problems += formatting.problems(checked, lambda node: type_text(types.get(node.id)))
    if problems:
        raise CelInvalid(
            "compilation failed: " + "\n".join(_located(expression, checked, *found) for found in problems)
        )
    _fold(checked, minor)
    result = type_text(types.get(checked.tree.expr.id))
    if result not in (_BOOL, _ANY):
        raise CelInvalid(f"must evaluate to bool or the unknown type, not {result}")


def type_text(kind: Node | None) -> str:  # noqa: PLR0911 - one answer per kind
    """A type as the server writes it."""
    which = kind.WhichOneof("kind") if kind is not None else None
    if kind is None or which is None:
        return "unknown"
    if which in ("primitive", "wrapper"):
        return _PRIMITIVES[getattr(kind, which)]
    if which == "well_known":
        return _WELL_KNOWN[kind.well_known]
    if which == "list_type":
        return f"list({type_text(kind.list_type.elem_type)})"
    if which == "map_type":
        return f"map({type_text(kind.map_type.key_type)}, {type_text(kind.map_type.value_type)})"
    if which == "abstract_type":
        inside = ", ".join(type_text(part) for part in kind.abstract_type.parameter_types)
        return f"{kind.abstract_type.name}({inside})" if inside else str(kind.abstract_type.name)
    if which == "type":
        return f"type({type_text(kind.type)})"
    return str(kind.message_type) if which == "message_type" else which


def _mixed_literals(checked: CheckedTree) -> Iterator[tuple[Node, str]]:
    types = checked.types
    for node in _outside_format(checked.tree.expr) if checked.find("list", "struct") else ():
        kind = node.WhichOneof("kind")
        if kind == "list":
            optional = set(node.list.optional_indices)
            yield from _mixed(
                [(element, index in optional) for index, element in enumerate(node.list.elements)], types
            )
        elif kind == "struct" and not node.struct.message_name:
            entries = node.struct.entries
            yield from _mixed([(entry.map_key, False) for entry in entries], types)
            yield from _mixed([(entry.value, entry.optional_entry) for entry in entries], types)


def _outside_format(node: Node) -> Iterator[Node]:
    """The nodes that are no arguments of ``format``, whose list may mix types."""
    yield node
    if node.WhichOneof("kind") != "call" or node.call.function != "format":
        for child in syntax.children(node):
            yield from _outside_format(child)


def _mixed(elements: list[tuple[Node, bool]], types: dict[int, Node]) -> Iterator[tuple[Node, str]]:
    found = [
        (element, _element_type(types.get(element.id), is_optional)) for element, is_optional in elements
    ]
    for element, kind in found[1:]:
        if kind != found[0][1]:
            yield element, f"expected type '{found[0][1]}' but found '{kind}'"
            return


def _element_type(kind: Node | None, is_optional: bool) -> str:
    text = type_text(kind)
    return text.removeprefix("optional_type(").removesuffix(")") if is_optional else text


def _invalid_constants(checked: CheckedTree) -> Iterator[tuple[Node, str]]:
    for node in checked.find("matches", "duration", "timestamp", "find", "findAll"):
        if not node.call.args:
            continue
        function = node.call.function
        is_search = function in ("find", "findAll")
        text = syntax.string_constant(node.call.args[0 if is_search else -1])
        if text is None or (function in ("duration", "timestamp") and node.call.HasField("target")):
            continue
        if function == "matches" and not libraries.is_pattern(text):
            yield node.call.args[-1], "invalid matches argument"
        elif function in ("duration", "timestamp") and not _converts(function, text):
            yield node.call.args[-1], f"invalid {function} argument"
        elif is_search and not libraries.is_pattern(text):
            raise CelInvalid(f"program instantiation failed: error parsing regexp: `{text}`")


def _fold(checked: CheckedTree, minor: int) -> None:
    """Convert constants ahead; one that cannot be converted refuses the whole expression."""
    for node in checked.find(*_CONVERSIONS):
        if _is_constant(node):
            part = deepcopy(checked.tree)
            part.expr.CopyFrom(node)
            syntax.CheckedTree(part).rewrite(equality.CHANGES)
            value = evaluator.runner(minor).deserialize(syntax.serialise(part)).eval(data={})
            if value.type() == cel.Type.ERROR:
                raise CelInvalid(f"program instantiation failed: {words.runtime_error(str(value.value()))}")


def _is_constant(node: Node) -> bool:
    kind = node.WhichOneof("kind")
    if kind == "call":
        is_conversion = node.call.function in _CONVERSIONS and len(node.call.args) == 1
        return is_conversion and not node.call.HasField("target") and _is_constant(node.call.args[0])
    return bool(kind == "constant")


def _converts(function: str, text: str) -> bool:
    program = cel.NewEnv().compile(f"{function}({json.dumps(text)}) == {function}({json.dumps(text)})")
    return program.eval(data={}).value() is True


def _located(expression: str, checked: CheckedTree, node: Node, message: str) -> str:
    offset = next((entry.value for entry in checked.tree.source_info.positions if entry.key == node.id), 0)
    before = expression[:offset]
    line = before.count("\n") + 1
    column = offset - (before.rfind("\n") + 1)
    source = expression.split("\n")[line - 1]
    return f"ERROR: <input>:{line}:{column + 1}: {message}\n | {source}\n | {'.' * column}^"
