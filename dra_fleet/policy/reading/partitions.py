"""Where a program has devices divided into partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.divided_devices import dividable
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.pools import POOL_TYPES, pools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.declared.resources import Stack
    from dra_fleet.declared.values import Value


def asked(pool: NodePool) -> list[Value]:
    """Where a pool asks for partitions or may do so: labels of drivers, and the cloud's own fields."""
    labels = [(pool.label(dividing.label), dividing.whole_label) for dividing in dividable()]
    found = [value for value, whole in labels if value.peek != whole]
    return [value for value in (*found, *pool.cloud.partitions(pool)) if value.possible and value.peek != ""]


def divides(stack: Stack) -> bool:
    """Whether a pool of the program is known to ask for partitions, or a driver to make them by itself."""
    by_pool = (asked(pool) for resource in stack.of(POOL_TYPES) for pool in pools(resource))
    return any(value.peek is not None for values in by_pool for value in values) or any(_by_gate(stack))


def _by_gate(stack: Stack) -> Iterator[bool]:
    for resource in stack.of(RELEASE_TYPES):
        installed = release(resource)
        dividing = None if installed is None or installed.installs is None else installed.installs.resources
        if installed is not None and dividing is not None and dividing.dividable is not None:
            yield installed.value(dividing.dividable.switch).peek is True
