"""A claim's requests in the form the search works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dra_fleet.proof.allocator.inventory import AllocatableDevice, amount

if TYPE_CHECKING:
    from dra_fleet.kubernetes.scheduling.taints import Toleration
    from dra_fleet.proof.allocator.inventory import Amount
    from dra_fleet.proof.allocator.pools import DevicePool

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Selector:
    """A CEL expression and its place, for messages."""

    expression: str
    place: str


class Slot(NamedTuple):
    """Position of a request or alternative, counted from 0."""

    claim: int
    request: int
    alternative: int = 0


@dataclass(frozen=True, eq=False)
class Request:
    """A request, or one of its alternatives.

    Attributes:
        slot: Its claim among the pod's claims, its entry in ``requests`` and its place among alternatives.
        main: The name of the entry in ``requests``.
        full: The same, followed by the alternative's name where there is one.
        own: The name of the request or alternative itself.
        selectors: The class's selectors, then its own.
        takes_all: Whether it requests all matching devices.
        count: How many devices it requests by number.
        admin_access: Whether it may use devices that are in use.
        tolerations: Taints it bears.
        capacity: Parts of devices it requests, by published name.
    """

    slot: Slot
    main: str
    full: str
    own: str
    selectors: tuple[Selector, ...]
    takes_all: bool
    count: int
    admin_access: bool
    tolerations: tuple[Toleration, ...]
    capacity: Mapping[str, Amount]

    @property
    def claim(self) -> int:
        """Index of the claim among the pod's claims."""
        return self.slot.claim

    def tolerates(self, device: AllocatableDevice) -> bool:
        """Return whether the request tolerates every taint of a device."""
        return all(any(one.tolerates(taint) for one in self.tolerations) for taint in device.taints)


@dataclass(eq=False)
class Demand:
    """A request with what it needs on one node: for ``All`` the devices are known beforehand."""

    request: Request
    devices: int
    everything: tuple[tuple[DevicePool, AllocatableDevice], ...] = ()


def amounts(published: Object | None) -> dict[str, Amount]:
    """Return the ``requests`` of a request's ``capacity``."""
    requests: Object = (published or {}).get("requests") or {}
    return {name: amount(str(value)) for name, value in requests.items()}
