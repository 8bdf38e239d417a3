"""Requested size of an autoscaled pool: its current size, moved into its bounds.

A number from the stack file would shrink a pool that the autoscaler has grown; a number that is sent only
once cannot follow a raised minimum, and a cloud rejects bounds that exclude its current number.
"""

from __future__ import annotations


def asked_for(live: int | None, bounds: tuple[int, int]) -> int:
    """Return the number to send.

    Args:
        live: current number of nodes; None if the pool does not exist yet.
        bounds: the minimum and maximum number of nodes.
    """
    least, most = bounds
    return least if live is None else min(max(live, least), most)
