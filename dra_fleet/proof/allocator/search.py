"""First fit with backtracking, in the scheduler's order.

Claims in the pod's order, requests and alternatives in theirs, combinations of devices within a request; the
first solution is taken. Source: ``allocateOne`` and ``allocateDevice`` of
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/allocator_incubating.go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from dra_fleet.proof.allocator import capacity
from dra_fleet.proof.allocator.constraints import DistinctPerRequest
from dra_fleet.proof.allocator.counters import CounterLedger
from dra_fleet.proof.allocator.inventory import Allocated, Failure, Stop, TimedOut
from dra_fleet.proof.allocator.prepare import MOST_DEVICES, ClaimDemand

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, Amount, DeviceId, InUse
    from dra_fleet.proof.allocator.pools import DevicePool
    from dra_fleet.proof.allocator.requests import Demand, Request, Selection


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
        """Return whether a device is in use and so unavailable."""
        if request.admin_access:
            return request.claim in self._holders[device.id]
        if self._features.dedicated_needs_no_shares and not device.is_shareable:
            return self._in_use.holds(device.id) or bool(self._holders[device.id])
        return device.id in self._in_use.devices or bool(self._holders[device.id])

    def has_capacity(self, request: Request, device: AllocatableDevice) -> bool:
        """Return whether a device has the requested capacity in addition to the parts in use and tried.

        Raises:
            Stop: The minor gives up on the pod for what is asked for.
        """
        if self._features.aborts_on_wrong_amounts:
            problem = capacity.wrong_amount(device, request.capacity, self._features)
            if problem:
                where = f"claim {self._claims[request.claim].name}, request {request.own}"
                raise Stop(Failure(f"{where}: checking capacity for device {'/'.join(device.id)}: {problem}"))
        in_use = self._in_use.capacity.get(device.id, {})
        tried = self._shares.get(device.id, {})
        return capacity.fits(device, request.capacity, in_use, tried, self._features)

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
            # The first share consumes the counters.
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
            consumed = capacity.consumed_by(device, request.capacity, self._features)
            self._share(device.id, consumed, steps)
        else:
            self._holders[device.id].add(request.claim)
            steps.append(lambda: self._holders[device.id].discard(request.claim))
        results = self.results[request.claim]
        results.append(Allocated(request.full, device.id, consumed, request.admin_access))
        steps.append(lambda: _drop_last(results))

    def _share(self, device: DeviceId, consumed: dict[str, Amount], steps: list[Undo]) -> None:
        before = self._shares.get(device)
        in_use = before or {}
        self._shares[device] = {name: in_use.get(name, 0) + value for name, value in consumed.items()}

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


MOST_STEPS = 200_000
"""Devices tried after which a search is given up; the scheduler gives up after 10 seconds."""

Results = tuple[tuple[Allocated, ...], ...]
"""Per claim what it gets."""


class Steps(Struct):
    """Devices that may still be tried; counted down, and shared by searches that one bound is set for."""

    left: int

    def take(self, count: int = 1) -> None:
        """Count one, or as many as take as long.

        Raises:
            Stop: There are none left.
        """
        self.left -= count
        if self.left < 0:
            raise Stop(TimedOut())


class AnyOrder(Protocol):
    """Devices that may be tried in any order, and which of them are as good as each other."""

    @property
    def drivers(self) -> frozenset[str]:
        """The drivers whose devices come in any order."""
        ...

    @property
    def first_only(self) -> bool:
        """True if only the first solution is requested, in the order of the devices."""
        ...

    def kinds(self, taken: Sequence[Sequence[Allocated]]) -> Callable[[DeviceId], Hashable]:
        """Return a function that maps interchangeable devices to equal keys once `taken` are allocated."""
        ...


class _Result(Enum):
    DONE = "done"
    NOTED = "a solution, noted; there may be more"
    NO = "no"
    TOO_MANY = "too many devices"


class _Position(NamedTuple):
    """Position of the search: the next device of one alternative of one request of one claim."""

    claim: int
    request: int = 0
    alternative: int | None = None
    device: int = 0
    pool: int = 0
    position: int = 0


class Search:
    """A search for the devices of all claims of a pod on a node."""

    def __init__(
        self,
        claims: Sequence[ClaimDemand],
        pools: Sequence[DevicePool],
        selection: Selection,
        features: Features,
        in_use: InUse,
        *,
        any_order: AnyOrder | None = None,
    ) -> None:
        self._claims = claims
        self._any_order = any_order
        self._noted: list[Results] = []
        self._pools = pools
        self._selection = selection
        self._features = features
        self._trial = Trial(claims, features, in_use, CounterLedger(in_use, features))
        self._steps = Steps(0)

    def run(self, steps: Steps) -> list[Results]:
        """Return the devices per claim, or nothing if they do not fit; for open orders all possible results.

        Of solutions that differ in nothing but which of alike devices they take, one stands for the others.

        Raises:
            Stop: The search cannot go on.
        """
        self._steps = steps
        found = self._next(_Position(0))
        if found is _Result.TOO_MANY:
            raise Stop(Failure("allocation max size exceeded"))
        if found is _Result.DONE:
            self._note()
        return self._noted

    def _note(self) -> None:
        self._noted.append(tuple(tuple(results) for results in self._trial.results))

    def _next(self, place: _Position) -> _Result:  # noqa: PLR0911 - the scheduler's ladder of cases
        self._steps.take()
        if place.claim >= len(self._claims):
            if self._any_order is None or self._any_order.first_only:
                return _Result.DONE
            # To report whether another solution uses the same takes half as long as to try each device.
            self._steps.take(sum(len(pool.devices) for pool in self._pools) // 2)
            self._note()
            return _Result.NOTED
        claim = self._claims[place.claim]
        if place.request >= len(claim.alternatives):
            found = self._next(_Position(place.claim + 1))
            return _Result.NO if found is _Result.TOO_MANY else found
        if place.alternative is None and claim.is_choice[place.request]:
            return self._choose(place, len(claim.alternatives[place.request]))
        demand = claim.alternatives[place.request][place.alternative or 0]
        if demand.request.takes_all and not demand.everything:
            return _Result.NO
        if place.device >= demand.devices:
            return self._next(_Position(place.claim, place.request + 1))
        if len(self._trial.results[place.claim]) + demand.devices - place.device > MOST_DEVICES:
            return _Result.TOO_MANY
        return (
            self._take_all(place, demand)
            if demand.request.takes_all
            else self._take_one(place, demand.request)
        )

    def _choose(self, place: _Position, alternatives: int) -> _Result:
        all_too_many = True
        for index in range(alternatives):
            found = self._next(_Position(place.claim, place.request, index))
            if found in (_Result.DONE, _Result.NOTED):
                return found
            all_too_many = all_too_many and found is _Result.TOO_MANY
        return _Result.TOO_MANY if all_too_many else _Result.NO

    def _take_all(self, place: _Position, demand: Demand) -> _Result:
        pool, device = demand.everything[place.device]
        undo = self._trial.add(demand.request, pool, device, must=True)
        if undo is None:
            return _Result.NO
        alternative = place.alternative
        if alternative is not None and self._features.mixes_alternatives:
            alternative = 0
        following = _Position(place.claim, place.request, alternative, place.device + 1)
        return self._go_on(following, undo)

    def _go_on(self, following: _Position, undo: Callable[[], None]) -> _Result:
        found = self._next(following)
        if found is not _Result.DONE:
            undo()
        return found

    def _take_one(self, place: _Position, request: Request) -> _Result:
        for pool_index in range(place.pool, len(self._pools)):
            pool = self._pools[pool_index]
            if not self._is_usable(pool):
                continue
            first = place.position if pool_index == place.pool else 0
            following = place._replace(device=place.device + 1, pool=pool_index)
            if self._any_order is not None and pool.id.driver in self._any_order.drivers:
                found = self._take_any(following, request, pool, first)
            else:
                found = self._take_first(following, request, pool, first)
            if found is not _Result.NO:
                return found
        return _Result.NO

    def _take_first(self, following: _Position, request: Request, pool: DevicePool, first: int) -> _Result:
        for position in range(first, len(pool.devices)):
            undo = self._try(request, pool, pool.devices[position])
            if undo is None:
                continue
            found = self._go_on(following._replace(position=position + 1), undo)
            if found is not _Result.NO:
                return found
        return _Result.NO

    def _take_any(self, following: _Position, request: Request, pool: DevicePool, first: int) -> _Result:
        """Go on with every device that may come first; one of those that are alike stands for them all."""
        any_order = self._any_order
        if any_order is None:
            return _Result.NO
        # A constraint that forgets is met by some orders of the same devices only.
        in_turn = any(
            isinstance(item, DistinctPerRequest) for item in self._claims[following.claim].constraints
        )
        if in_turn and any_order.first_only:
            return self._take_first(following, request, pool, first)
        if not in_turn:
            self._steps.take(len(pool.devices))  # each is looked at to find out which are alike
        kind = _identity if in_turn else any_order.kinds(self._trial.results)
        own = {item.device for item in self._trial.results[following.claim] if item.request == request.full}
        tried: set[Hashable] = set()
        result = _Result.NO
        for position in range(0 if in_turn else first, len(pool.devices)):
            device = pool.devices[position]
            if device.id in own or kind(device.id) in tried:
                continue
            tried.add(kind(device.id))
            undo = self._try(request, pool, device)
            if undo is None:
                continue
            found = self._go_on(following._replace(position=position + 1), undo)
            if found in (_Result.TOO_MANY, _Result.DONE):
                return found
            result = found if found is _Result.NOTED else result
        return result

    def _is_usable(self, pool: DevicePool) -> bool:
        if pool.invalid and self._features.invalid_pool_is_fatal:
            raise Stop(Failure(f"pool {pool.id.pool} is invalid: {pool.invalid}"))
        return not pool.invalid and (not pool.is_incomplete or self._features.uses_incomplete_pools)

    def _try(
        self, request: Request, pool: DevicePool, device: AllocatableDevice
    ) -> Callable[[], None] | None:
        self._steps.take()
        if self._trial.is_taken(request, device):
            return None
        if not self._selection.matches(request, device):
            return None
        if self._features.consumable_capacity and not self._trial.has_capacity(request, device):
            return None
        return self._trial.add(request, pool, device, must=False)


def _identity(device: DeviceId) -> Hashable:
    return device
