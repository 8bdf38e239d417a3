"""Devices that match a request's selectors on one node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported
from dra_fleet.proof.allocator import counters
from dra_fleet.proof.allocator.outcome import Failure, Stop, Undecided

if TYPE_CHECKING:
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program
    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, CandidateNode
    from dra_fleet.proof.allocator.requests import Request, Slot

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
