"""The checked syntax tree of a CEL expression, read from and written to the evaluator's own serialised form.

The layout is ``cel.expr.CheckedExpr`` of https://github.com/google/cel-spec/tree/master/proto/cel/expr; only
fields that are read or rewritten are described, every other one survives a round trip as an unknown field.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Node = Any
"""A ``cel.expr.Expr`` message."""

Tree = Any
"""A ``cel.expr.CheckedExpr`` message."""

_TYPE_URL = "type.googleapis.com/cel.expr.CheckedExpr"
_SCALARS = {"int64": 3, "uint64": 4, "int32": 5, "bool": 8, "string": 9, "bytes": 12, "double": 1}

# message: "name number type" per field; "*" repeated, "?name" member of a one-of called name.
_LAYOUT = {
    "Empty": "",
    "Constant": "null_value 1 int64 ?kind, bool_value 2 bool ?kind, int64_value 3 int64 ?kind, "
    "uint64_value 4 uint64 ?kind, double_value 5 double ?kind, string_value 6 string ?kind, "
    "bytes_value 7 bytes ?kind",
    "Ident": "name 1 string",
    "Select": "operand 1 Expr, field 2 string, test_only 3 bool",
    "Call": "target 1 Expr, function 2 string, args 3 Expr *",
    "List": "elements 1 Expr *, optional_indices 2 int32 *",
    "Entry": "id 1 int64, field_key 2 string ?key_kind, map_key 3 Expr ?key_kind, value 4 Expr, "
    "optional_entry 5 bool",
    "Struct": "message_name 1 string, entries 2 Entry *",
    "Comprehension": "iter_var 1 string, iter_range 2 Expr, accu_var 3 string, accu_init 4 Expr, "
    "loop_condition 5 Expr, loop_step 6 Expr, result 7 Expr, iter_var2 8 string",
    "Expr": "id 2 int64, constant 3 Constant ?kind, ident 4 Ident ?kind, select 5 Select ?kind, "
    "call 6 Call ?kind, "
    "list 7 List ?kind, struct 8 Struct ?kind, comprehension 9 Comprehension ?kind",
    "ListType": "elem_type 1 Type",
    "MapType": "key_type 1 Type, value_type 2 Type",
    "AbstractType": "name 1 string, parameter_types 2 Type *",
    "Type": "dyn 1 Empty ?kind, null 2 int64 ?kind, primitive 3 int64 ?kind, wrapper 4 int64 ?kind, "
    "well_known 5 int64 ?kind, list_type 6 ListType ?kind, map_type 7 MapType ?kind, "
    "message_type 9 string ?kind, "
    "type_param 10 string ?kind, type 11 Type ?kind, error 12 Empty ?kind, "
    "abstract_type 14 AbstractType ?kind",
    "Reference": "name 1 string, overload_id 3 string *, value 4 Constant",
    "ReferenceEntry": "key 1 int64, value 2 Reference",
    "TypeEntry": "key 1 int64, value 2 Type",
    "PositionEntry": "key 1 int64, value 2 int32",
    "SourceInfo": "positions 4 PositionEntry *",
    "CheckedExpr": "references 2 ReferenceEntry *, types 3 TypeEntry *, expr 4 Expr, "
    "source_info 5 SourceInfo",
}


@lru_cache(maxsize=1)
def _checked_expr() -> type[Any]:
    file = descriptor_pb2.FileDescriptorProto(name="fleet/cel.proto", package="fleet.cel", syntax="proto3")
    for name, fields in _LAYOUT.items():
        message = file.message_type.add(name=name)
        for text in filter(None, fields.split(", ")):
            _add_field(message, text.split(" "))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # pyright: ignore[reportUnknownMemberType]
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("fleet.cel.CheckedExpr"))


def _add_field(message: descriptor_pb2.DescriptorProto, words: list[str]) -> None:
    name, number, kind, *modifiers = words
    field = message.field.add(name=name, number=int(number))
    field.label = field.LABEL_REPEATED if "*" in modifiers else field.LABEL_OPTIONAL
    if kind in _SCALARS:
        field.type = descriptor_pb2.FieldDescriptorProto.Type.ValueType(_SCALARS[kind])
    else:
        field.type = field.TYPE_MESSAGE
        field.type_name = f".fleet.cel.{kind}"
    for modifier in modifiers:
        if modifier.startswith("?"):
            if not message.oneof_decl:
                message.oneof_decl.add(name=modifier[1:])
            field.oneof_index = 0


class CheckedTree:
    """A checked expression, and what one walk finds of its nodes.

    Attributes:
        tree: The whole tree.
        types: The type of each node by its id.
        overloads: The overloads that a call may mean by its id.
        nodes: What is not a constant and no identifier, parents first: the function of a call or the kind of
            any other, and the node.
        identifiers: Each with the node above it and the one above that, if there are any.
        ids: Ids that no node of the tree has.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.types: dict[int, Node] = {entry.key: entry.value for entry in tree.types}
        self.overloads: dict[int, list[str]] = {
            entry.key: list(entry.value.overload_id) for entry in tree.references
        }
        self.nodes: list[tuple[str, Node]] = []
        self.identifiers: list[tuple[Node, Node | None, Node | None]] = []
        self.ids = count(self._walk() + 1)

    def _walk(self) -> int:
        """Go through all nodes, parents first; the highest id."""
        highest = 0
        stack: list[tuple[Node, Node | None, Node | None]] = [(self.tree.expr, None, None)]
        while stack:
            node, above, *_ = place = stack.pop()
            highest = max(highest, node.id)
            kind = node.WhichOneof("kind")
            if kind == "ident":
                self.identifiers.append(place)
            elif kind in _CHILDREN:
                self.nodes.append((node.call.function if kind == "call" else kind, node))
                stack.extend((child, node, above) for child in reversed(_CHILDREN[kind](node)))
        return highest

    def find(self, *requested: str) -> list[Node]:
        """Return the nodes of these functions or kinds, parents first."""
        return [node for what, node in self.nodes if what in requested]

    def rewrite(self, changes: Mapping[str, Change]) -> None:
        """Change nodes in place by their functions or kinds, children first; afterwards the nodes are old."""
        for what, node in reversed(self.nodes):
            if what in changes:
                changes[what](self, node)


Change = Callable[[CheckedTree, Node], None]
"""Rewrites a node, whose children are done."""


def parse(serialised: bytes) -> CheckedTree:
    """Read the tree of a compiled expression."""
    envelope = any_pb2.Any.FromString(serialised)
    return CheckedTree(_checked_expr().FromString(envelope.value))


def serialise(tree: Tree) -> bytes:
    """Write a tree so that the evaluator can load it."""
    envelope = any_pb2.Any(type_url=_TYPE_URL, value=tree.SerializeToString())
    return envelope.SerializeToString()


def children(node: Node) -> list[Node]:
    """Return the direct sub-expressions of a node, in source order."""
    below = _CHILDREN.get(node.WhichOneof("kind"))
    return below(node) if below is not None else []


def _of_call(node: Node) -> list[Node]:
    call = node.call
    return [call.target, *call.args] if call.HasField("target") else list(call.args)


def _of_struct(node: Node) -> list[Node]:
    return [part for entry in node.struct.entries for part in _parts(entry)]


def _of_loop(node: Node) -> list[Node]:
    loop = node.comprehension
    return [loop.iter_range, loop.accu_init, loop.loop_condition, loop.loop_step, loop.result]


_CHILDREN: dict[str, Callable[[Node], list[Node]]] = {
    "call": _of_call,
    "select": lambda node: [node.select.operand],
    "list": lambda node: list(node.list.elements),
    "struct": _of_struct,
    "comprehension": _of_loop,
}


def _parts(entry: Node) -> list[Node]:
    is_map = entry.WhichOneof("key_kind") == "map_key"
    return [entry.map_key, entry.value] if is_map else [entry.value]


def call(ids: Iterator[int], function: str, *arguments: Node) -> Node:
    """Return a new call with copies of the arguments."""
    node = type(arguments[0])(id=next(ids))
    node.call.function = function
    for argument in arguments:
        node.call.args.add().CopyFrom(argument)
    return node


def replace(node: Node, other: Node) -> None:
    """Make a node another one, which is new and no one else's, in place; its id stays."""
    other.id = node.id
    node.CopyFrom(other)


def string_constant(node: Node) -> str | None:
    """Return the text of a string literal, or None."""
    if node.WhichOneof("kind") == "constant" and node.constant.WhichOneof("kind") == "string_value":
        return str(node.constant.string_value)
    return None


def identifier(node: Node) -> str | None:
    return str(node.ident.name) if node.WhichOneof("kind") == "ident" else None
