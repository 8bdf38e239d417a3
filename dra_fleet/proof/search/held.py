"""What is in use of a node's devices, and what is once more are given out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dra_fleet.proof.allocator import DeviceId, InUse

if TYPE_CHECKING:
    from dra_fleet.proof.allocator import Allocation, Amount


class Held(NamedTuple):
    """What is in use of a node's devices: whole ones and shares."""

    devices: frozenset[DeviceId] = frozenset()
    shares: tuple[tuple[DeviceId, tuple[tuple[str, Amount], ...]], ...] = ()

    @property
    def in_use(self) -> InUse:
        """For the allocator."""
        return InUse(devices=self.devices, capacity={device: dict(held) for device, held in self.shares})


def after(before: Held, allocation: Allocation) -> Held:
    """What is in use once an allocation is made."""
    devices = set(before.devices)
    shares = {device: dict(held) for device, held in before.shares}
    for given in (item for claim in allocation.claims for item in claim):
        if given.admin_access:
            continue
        if not given.consumed:
            devices.add(given.device)
            continue
        held = shares.setdefault(given.device, {})
        for name, value in given.consumed.items():
            held[name] = held.get(name, 0) + value
    frozen = tuple(sorted((device, tuple(sorted(held.items()))) for device, held in shares.items()))
    return Held(frozenset(devices), frozen)
