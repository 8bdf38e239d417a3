"""Which devices match a request's selectors on one node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.proof.allocator import nodes
from fleet.proof.allocator.outcome import Failure, Stop, Undecided
from fleet.proof.cel import CelInvalid, CelUnsupported

if TYPE_CHECKING:
    from fleet.proof.allocator.features import Features
    from fleet.proof.allocator.inventory import Device, Node
    from fleet.proof.allocator.requests import Request
    from fleet.proof.cel.program import DeviceCel, Program


class Selection:
    """Answers, and remembers, whether a device matches a request."""

    def __init__(self, environment: DeviceCel, features: Features, node: Node) -> None:
        self._environment = environment
        self._features = features
        self._node = node
        self._known: dict[tuple[int, int], bool] = {}

    def matches(self, request: Request, device: Device) -> bool:
        """Whether a device matches.

        Raises:
            Stop: A selector cannot be evaluated on it, or hangs on an unknown value.
        """
        if device.has_binding_conditions and not self._features.binding_conditions:
            return False
        key = (id(request), id(device))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decide(request, device)
        return known

    def _decide(self, request: Request, device: Device) -> bool:
        if not all(
            self._holds(selector.expression, selector.place, device) for selector in request.selectors
        ):
            return False
        return not device.is_selected_per_node or nodes.matches(self._node, device.published)

    def _holds(self, expression: str, place: str, device: Device) -> bool:
        verdict = self._program(expression, place).evaluate(device.for_selectors)
        if verdict.outcome == "error":
            raise Stop(Failure(f"{place}: CEL runtime error: {verdict.message}"))
        if verdict.outcome == "unknown":
            raise Stop(Undecided(f"{place}: {verdict.message}"))
        return bool(verdict)

    def _program(self, expression: str, place: str) -> Program:
        try:
            return self._environment.compile(expression)
        except CelInvalid as problem:
            raise Stop(Failure(f"{place}: CEL compile error: {problem}")) from None
        except CelUnsupported as problem:
            raise Stop(Undecided(f"{place}: {problem}")) from None
