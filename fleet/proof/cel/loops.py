"""Where the evaluator goes astray after a loop that ends early.

In version 0.1.3 ``[1, 2].exists(x, x == 1) && cel.bind(v, 1, v == 1)`` is false, because an early end leaves
something behind that a later loop reads. A loop that goes on to its end gives the same result: once ``true``
decides an ``exists``, or ``false`` an ``all``, nothing that follows changes it, not even an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.proof.cel import syntax

if TYPE_CHECKING:
    from fleet.proof.cel.syntax import Node, Tree


def run_to_their_end(tree: Tree) -> None:
    """Rewrite in place: no loop that has something to go through stops before its end."""
    for node in syntax.walk(tree.expr):
        if node.WhichOneof("kind") == "comprehension" and not _is_binding(node):
            node.comprehension.loop_condition.constant.bool_value = True


def _is_binding(node: Node) -> bool:
    """Whether a loop is what ``cel.bind`` becomes: it goes through nothing."""
    return bool(node.comprehension.loop_condition.constant.WhichOneof("kind")) and not (
        node.comprehension.loop_condition.constant.bool_value
    )
