"""Workaround for the evaluator's wrong results after a loop that ends early.

In version 0.1.3 ``[1, 2].exists(x, x == 1) && cel.bind(v, 1, v == 1)`` is false, because an early end leaves
state that a later loop reads. A loop that runs to its end gives the same result: once ``true`` decides an
``exists``, or ``false`` an ``all``, nothing that follows changes it, not even an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import syntax

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.syntax import Change, CheckedTree, Node

INSERT = "cel.@mapInsert"
"""The function that `transformMap` and `transformMapEntry` call; the evaluator lacks its implementation."""

_MAP_KEY_VALUE = 3


def _insert_map(checked: CheckedTree, node: Node) -> None:
    """Rewrite in place: ``@mapInsert(m, k, v)`` becomes ``@mapInsert(m, {k: v})``, which is implemented."""
    if len(node.call.args) == _MAP_KEY_VALUE:
        target, key, value = node.call.args
        one = type(node)(id=next(checked.ids))
        entry = one.struct.entries.add(id=next(checked.ids))
        entry.map_key.CopyFrom(key)
        entry.value.CopyFrom(value)
        syntax.replace(node, syntax.call(checked.ids, INSERT, target, one))


def _run_to_its_end(checked: CheckedTree, node: Node) -> None:
    """Rewrite in place: no loop that has something to go through stops before its end."""
    del checked
    if not _is_binding(node):
        node.comprehension.loop_condition.constant.bool_value = True


def _is_binding(node: Node) -> bool:
    """Return True if a loop is an expanded ``cel.bind``, which iterates over nothing."""
    return bool(node.comprehension.loop_condition.constant.WhichOneof("kind")) and not (
        node.comprehension.loop_condition.constant.bool_value
    )


CHANGES: dict[str, Change] = {INSERT: _insert_map, "comprehension": _run_to_its_end}
