"""Pools that a simulated cloud was asked to scale, and what the inputs of their records remember of it."""

from __future__ import annotations

from itertools import count, islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.rehearsal.simulator.node import NodeHardware

Properties = dict[str, Any]

SCALED: Final = "rehearsal:scaled"
"""Key of a record's inputs that no plugin sees: `size` of the pool, numbers of machines that are `gone`."""


class ScaledPool(Struct, frozen=True, kw_only=True):
    """A pool whose number of nodes the cloud's autoscaler sets.

    Attributes:
        cluster: The simulator's name of its cluster.
        name: The pool's name in the cloud.
        resource: Type and id of the resource that declares it.
        least: Minimum number of nodes.
        most: Maximum number of nodes.
        machines: Its machines by number.
        fresh: The machine that is added next.
        inputs_with: Returns the resource's inputs for a size, without the machine of a number.
        predicted: Devices that the autoscaler predicts for a pool without nodes, by driver.
        queued: Class of the ProvisioningRequests for which alone it grows; empty if it grows for pods.
    """

    cluster: str
    name: str
    resource: tuple[str, str]
    least: int
    most: int
    machines: Mapping[int, NodeHardware]
    fresh: NodeHardware
    inputs_with: Callable[[int, int | None], Properties]
    predicted: Mapping[str, Sequence[Properties]] = field(default_factory=dict[str, "Sequence[Properties]"])
    queued: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the pool in its cloud."""
        return (*self.resource, self.name)


def numbers_of(pool: Properties, size: int) -> list[int]:
    """Return the numbers of a pool's machines; the number of a removed machine is never used again."""
    gone = pool.get(SCALED, {}).get("gone", ())
    return list(islice((number for number in count() if number not in gone), size))


def scaled(pool: Properties, size: int, gone: int | None) -> Properties:
    """Return a pool that remembers its size and the machine that was removed, if any."""
    before = pool.get(SCALED, {}).get("gone", [])
    return {**pool, SCALED: {"size": size, "gone": [*before, *([] if gone is None else [gone])]}}


def seen_by_plugins(inputs: Properties) -> Properties:
    """Return the inputs without what the simulation remembers."""
    return {key: value for key, value in inputs.items() if key != SCALED}
