"""How many nodes an autoscaled pool is asked for: as many as it has, moved into its bounds.

A number from the stack file would shrink a pool that the autoscaler has grown; one that is never sent again
cannot follow a minimum that was raised, and a cloud refuses bounds that its own number is not within.
"""

from __future__ import annotations


def asked_for(live: int | None, bounds: tuple[int, int]) -> int:
    """The number to send.

    Args:
        live: how many nodes the pool has now; None where there is no such pool yet.
        bounds: the fewest and the most that it may have.
    """
    least, most = bounds
    return least if live is None else min(max(live, least), most)
