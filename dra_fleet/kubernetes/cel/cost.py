"""The worst-case cost of an expression, by which an API server refuses what could be slow.

A port of ``Cost`` in https://github.com/google/cel-go/blob/v0.29.2/checker/cost.go.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.kubernetes.cel import call_cost, syntax
from dra_fleet.kubernetes.cel.sizes import MOST, UNKNOWN_SIZE, Entries, Range, fixed, size_at

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.sizes import Path
    from dra_fleet.kubernetes.cel.syntax import CheckedTree, Node

LIMIT = 1_000_000
"""The highest cost the API server accepts."""

_NOTHING, _ONE = fixed(0), fixed(1)
_NEW_LIST, _NEW_MAP, _NEW_MESSAGE = fixed(10), fixed(30), fixed(40)
_SCALARS = (1, 2, 3, 4)
_ACCUMULATORS = ("__result__", "@result")


class _Local(NamedTuple):
    path: Path
    size: Range | None
    entries: Entries | None


class Estimate:
    """One estimate of one expression."""

    def __init__(self, checked: CheckedTree) -> None:
        self._types = checked.types
        self._overloads = checked.overloads
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, Entries] = {}
        self._locals: dict[str, list[_Local]] = defaultdict(list)

    def of(self, node: Node) -> Range:
        """The cost of a node and everything below it."""
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
        """Which kind of type a node has."""
        found = self._types.get(node.id)
        return (found.WhichOneof("kind") or "") if found is not None else ""

    def type_of(self, node: Node) -> Node | None:
        """The type message of a node."""
        return self._types.get(node.id)

    def path(self, node: Node) -> Path:
        """Where in the variables a node's value comes from, else empty."""
        name = syntax.identifier(node)
        if name is not None and self._locals[name]:
            return self._locals[name][-1].path
        return self._paths.get(node.id, ())

    def size(self, node: Node) -> Range:
        """How long a node's value can be."""
        found = self.computed_size(node)
        return UNKNOWN_SIZE if found is None else found

    def entries(self, node: Node) -> Entries | None:
        """How long the entries of a node's value can be."""
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
        """How long a node's value can be, as far as that can be told."""
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
            cost, result = call_cost.estimate(self, node, overload, arguments)
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
        """What the variables of a loop go through: keys and values, or of one variable what it stands for."""
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
    """The most an expression can cost."""
    return Estimate(checked).of(checked.tree.expr).most
