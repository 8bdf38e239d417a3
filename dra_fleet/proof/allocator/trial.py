"""The devices a search has taken so far, and how to give them back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dra_fleet.proof.allocator import capacity
from dra_fleet.proof.allocator.outcome import Allocated, Failure, Stop

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.counters import CounterLedger
    from dra_fleet.proof.allocator.features import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, Amount, DeviceId, InUse
    from dra_fleet.proof.allocator.pools import DevicePool
    from dra_fleet.proof.allocator.prepare import ClaimDemand
    from dra_fleet.proof.allocator.requests import Request

Undo = Callable[[], None]


class Trial:
    """Devices under trial: who has which, what is consumed, and which constraints hold."""

    def __init__(
        self, claims: Sequence[ClaimDemand], features: Features, in_use: InUse, ledger: CounterLedger
    ) -> None:
        self.results: list[list[Allocated]] = [[] for _ in claims]
        self._claims = claims
        self._features = features
        self._in_use = in_use
        self._ledger = ledger
        self._holders: dict[DeviceId, set[int]] = defaultdict(set)
        self._shares: dict[DeviceId, dict[str, Amount]] = {}

    def is_taken(self, request: Request, device: AllocatableDevice) -> bool:
        """Whether a device is out of question because somebody has it."""
        if request.admin_access:
            return request.claim in self._holders[device.id]
        return device.id in self._in_use.devices or bool(self._holders[device.id])

    def has_capacity(self, request: Request, device: AllocatableDevice) -> bool:
        """Whether a device has what a request asks of it, beside what is held and tried.

        Raises:
            Stop: The minor gives up on the pod for what is asked for.
        """
        if self._features.aborts_on_wrong_amounts:
            problem = capacity.wrong_amount(device, request.capacity)
            if problem:
                where = f"claim {self._claims[request.claim].name}, request {request.own}"
                raise Stop(Failure(f"{where}: checking capacity for device {'/'.join(device.id)}: {problem}"))
        held = self._in_use.capacity.get(device.id, {})
        tried = self._shares.get(device.id, {})
        return capacity.fits(device, request.capacity, held, tried)

    def add(
        self, request: Request, pool: DevicePool, device: AllocatableDevice, *, must: bool
    ) -> Undo | None:
        """Take a device, if everything allows; the answer gives it back.

        Raises:
            Stop: It must be taken, but a constraint forbids it.
        """
        if self._is_out(request, device):
            return None
        steps: list[Undo] = []
        if self._reserve(request, pool, device, steps, must=must):
            return lambda: _undo(steps)
        _undo(steps)
        return None

    def _is_out(self, request: Request, device: AllocatableDevice) -> bool:
        if not request.admin_access:
            return self.is_taken(request, device)
        return not self._is_shareable(device) and self.is_taken(request, device)

    def _is_shareable(self, device: AllocatableDevice) -> bool:
        return self._features.consumable_capacity and device.is_shareable

    def _reserve(
        self, request: Request, pool: DevicePool, device: AllocatableDevice, steps: list[Undo], *, must: bool
    ) -> bool:
        if not self._reserve_counters(pool, device, steps):
            return False
        if self._features.device_taints and not request.tolerates(device):
            return False
        if not self._satisfy_constraints(request, device, steps, must=must):
            return False
        if self._features.consumable_capacity and not self.has_capacity(request, device):
            return False
        self._record(request, device, steps)
        return True

    def _reserve_counters(self, pool: DevicePool, device: AllocatableDevice, steps: list[Undo]) -> bool:
        if not device.consumes:
            return True
        if not self._features.partitionable_devices:
            return False
        is_shared_already = device.id in self._in_use.capacity or device.id in self._shares
        if self._is_shareable(device) and is_shared_already:
            # Whoever has the first share has taken the counters.
            return True
        if not self._ledger.reserve(pool, device):
            return False
        steps.append(lambda: self._ledger.release(pool, device))
        return True

    def _satisfy_constraints(
        self, request: Request, device: AllocatableDevice, steps: list[Undo], *, must: bool
    ) -> bool:
        claim = self._claims[request.claim]
        for constraint in claim.constraints:
            if constraint.add(request, device):
                steps.append(lambda constraint=constraint: constraint.remove(request))
            elif must:
                problem = "because a claim constraint would not be satisfied"
                where = f"claim {claim.name}, request {request.own}"
                raise Stop(Failure(f"{where}: cannot add device {'/'.join(device.id)} {problem}"))
            else:
                return False
        return True

    def _record(self, request: Request, device: AllocatableDevice, steps: list[Undo]) -> None:
        consumed: dict[str, Amount] = {}
        if self._is_shareable(device):
            consumed = capacity.consumed_by(device, request.capacity)
            self._share(device.id, consumed, steps)
        else:
            self._holders[device.id].add(request.claim)
            steps.append(lambda: self._holders[device.id].discard(request.claim))
        results = self.results[request.claim]
        results.append(Allocated(request.full, device.id, consumed, request.admin_access))
        steps.append(lambda: _drop_last(results))

    def _share(self, device: DeviceId, consumed: dict[str, Amount], steps: list[Undo]) -> None:
        before = self._shares.get(device)
        held = before or {}
        self._shares[device] = {name: held.get(name, 0) + value for name, value in consumed.items()}

        def give_back() -> None:
            if before is None:
                del self._shares[device]
            else:
                self._shares[device] = before

        steps.append(give_back)


def _drop_last(items: list[Allocated]) -> None:
    items.pop()


def _undo(steps: list[Undo]) -> None:
    for step in reversed(steps):
        step()
