"""A claim's requests in the form the search works with, and the devices of a node that match them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported
from dra_fleet.proof.allocator import counters
from dra_fleet.proof.allocator.inventory import AllocatableDevice, Failure, Stop, Undecided, amount

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program
    from dra_fleet.kubernetes.scheduling.taints import Toleration
    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import Amount, CandidateNode
    from dra_fleet.proof.allocator.pools import DevicePool


Object = Mapping[str, Any]


class Selector(Struct, frozen=True):
    """A CEL expression and its place, for messages."""

    expression: str
    place: str


class Slot(NamedTuple):
    """Position of a request or alternative, counted from 0."""

    claim: int
    request: int
    alternative: int = 0


class Request(Struct, frozen=True, eq=False):
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


class Demand(Struct, eq=False):
    """A request with what it needs on one node: for ``All`` the devices are known beforehand."""

    request: Request
    devices: int
    everything: tuple[tuple[DevicePool, AllocatableDevice], ...] = ()


def amounts(published: Object | None) -> dict[str, Amount]:
    """Return the ``requests`` of a request's ``capacity``."""
    requests: Object = (published or {}).get("requests") or {}
    return {name: amount(str(value)) for name, value in requests.items()}


_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) "
    "or guarding the check with has() for optional fields"
)


class Selection:
    """Answers, and remembers, whether a device matches a request."""

    def __init__(self, environment: DeviceCel, features: Features, node: CandidateNode) -> None:
        self._environment = environment
        self._features = features
        self._node = node
        self._known: dict[tuple[Slot, int], bool] = {}

    def matches(self, request: Request, device: AllocatableDevice, known_as: Slot | None = None) -> bool:
        """Return whether a device matches.

        Args:
            request: What asks.
            device: The device.
            known_as: Whose answers to reuse and to add to; the request's own, unless the minor mixes them up.

        Raises:
            Stop: A selector cannot be evaluated on it, or depends on an unknown value.
        """
        if device.has_binding_conditions and not self._features.binding_conditions:
            return False
        key = (known_as or request.slot, id(device))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decide(request, device)
        return known

    def _decide(self, request: Request, device: AllocatableDevice) -> bool:
        if not all(
            self._holds(selector.expression, selector.place, device) for selector in request.selectors
        ):
            return False
        return not device.is_selected_per_node or counters.matches(self._node, device.published)

    def _holds(self, expression: str, place: str, device: AllocatableDevice) -> bool:
        verdict = self._program(expression, place).evaluate(device.for_selectors)
        if verdict.outcome == "error":
            raise Stop(Failure(self._error(place, device, verdict.message)))
        if verdict.outcome == "unknown":
            raise Stop(Undecided(f"{place}: {verdict.message}"))
        return bool(verdict)

    def _error(self, place: str, device: AllocatableDevice, message: str) -> str:
        if not self._features.names_device_in_errors:
            return f"{place}: CEL runtime error: {message}"
        hint = _HINT if "no such key:" in message else ""
        return f"{place} on device {'/'.join(device.id)}: CEL runtime error: {message}{hint}"

    def _program(self, expression: str, place: str) -> Program:
        try:
            return self._environment.compile(expression)
        except CelInvalid as problem:
            raise Stop(Failure(f"{place}: CEL compile error: {problem}")) from None
        except CelUnsupported as problem:
            raise Stop(Undecided(f"{place}: {problem}")) from None
