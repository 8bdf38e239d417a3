"""Check a pod's claims before the search and work out how many devices each request needs on the node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dra_fleet.kubernetes.scheduling.taints import tolerations
from dra_fleet.proof.allocator import capacity, constraints
from dra_fleet.proof.allocator.inventory import Failure, NoFit, Stop
from dra_fleet.proof.allocator.requests import Demand, Request, Selector, Slot, amounts

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.constraints import Constraint
    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice, Amount, InUse
    from dra_fleet.proof.allocator.pools import DevicePool
    from dra_fleet.proof.allocator.requests import Selection

Object = Mapping[str, Any]

MOST_DEVICES = 32
"""Devices one claim can hold."""


class ClaimDemand(Struct, frozen=True, eq=False):
    """Demand of a claim: the alternatives of each request, of which one is enough."""

    name: str
    alternatives: tuple[tuple[Demand, ...], ...]
    is_choice: tuple[bool, ...]
    constraints: tuple[Constraint, ...]


class Preparation(Struct, frozen=True, eq=False):
    """Turns claims into demands on one node."""

    classes: Mapping[str, Object]
    pools: Sequence[DevicePool]
    selection: Selection
    features: Features
    in_use: InUse

    def claims(self, claims: Iterable[Object]) -> list[ClaimDemand]:
        """Return the demands of all claims.

        Raises:
            Stop: A claim can be allocated on no node.
        """
        return [self._claim(index, claim) for index, claim in enumerate(claims)]

    def _claim(self, index: int, claim: Object) -> ClaimDemand:
        devices: Object = claim["spec"].get("devices") or {}
        name = _full_name(claim)
        requests: Sequence[Object] = devices.get("requests") or ()
        alternatives: list[tuple[Demand, ...]] = []
        counted = 0
        for position, request in enumerate(requests):
            choices = self._alternatives(Slot(index, position), name, request)
            least = min(demand.devices for demand in choices)
            if counted + least > MOST_DEVICES and not self.features.limit_by_claim:
                message = f"adding {least} devices exceeds the claim limit of {MOST_DEVICES}"
                where = f"claim {name}, request {request['name']}"
                raise Stop(Failure(f"{where}: {message}, with {counted} already accounted for"))
            counted += least
            alternatives.append(choices)
        if counted > MOST_DEVICES:
            message = f"number of requested devices {counted} exceeds the claim limit of {MOST_DEVICES}"
            raise Stop(Failure(f"claim {name}: {message}"))
        return ClaimDemand(
            name=name,
            alternatives=tuple(alternatives),
            is_choice=tuple(bool(request.get("firstAvailable")) for request in requests),
            constraints=tuple(constraints.of_claim(name, devices, self.features)),
        )

    def _alternatives(self, slot: Slot, claim: str, request: Object) -> tuple[Demand, ...]:
        main = request["name"]
        choices: Sequence[Object] = request.get("firstAvailable") or ()
        entries = [(f"{main}/{choice['name']}", choice) for choice in choices]
        entries = entries or [(main, request.get("exactly") or {})]
        if self.features.refuses_capacity_requests and any(entry.get("capacity") for _, entry in entries):
            problem = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
            raise Stop(Failure(f"claim {claim}, request {main}: {problem}"))
        return tuple(
            self._demand(claim, self._request(slot._replace(alternative=place), claim, main, full, entry))
            for place, (full, entry) in enumerate(entries)
        )

    def _request(self, slot: Slot, claim: str, main: str, full: str, entry: Object) -> Request:
        own = full.rpartition("/")[2]
        if entry.get("derivedAttributes") and self.features.refuses_derived_attributes:
            problem = "cannot handle request with derived attributes, the feature is disabled"
            raise Stop(Failure(f"claim {claim}, request {own}: {problem}"))
        class_name = entry.get("deviceClassName", "")
        if not class_name:
            problem = "missing device class name (unsupported request type?)"
            raise Stop(Failure(f"claim {claim}, request {own}: {problem}"))
        if class_name not in self.classes:
            missing = f'deviceclass.resource.k8s.io "{class_name}" not found'
            problem = f"could not retrieve device class {class_name}: {missing}"
            raise Stop(Failure(f"claim {claim}, request {own}: {problem}"))
        mode = entry.get("allocationMode") or "ExactCount"
        if mode not in ("ExactCount", "All"):
            raise Stop(Failure(f"claim {claim}, request {own}: unsupported count mode {mode}"))
        class_selectors = _selectors(f"class {class_name}", self.classes[class_name]["spec"])
        own_selectors = _selectors(f"claim {claim}", entry, empty_at=f"claim {claim}, request {own}")
        return Request(
            slot=slot,
            main=main,
            full=full,
            own=own,
            selectors=(*class_selectors, *own_selectors),
            takes_all=mode == "All",
            count=int(entry.get("count") or 1),
            admin_access=bool(entry.get("adminAccess")),
            tolerations=tuple(tolerations(entry.get("tolerations"))),
            capacity=amounts(entry.get("capacity")),
        )

    def _demand(self, claim: str, request: Request) -> Demand:
        if not request.takes_all:
            return Demand(request, request.count)
        everything: list[tuple[DevicePool, AllocatableDevice]] = []
        for pool in self.pools:
            problem = "being updated" if pool.is_incomplete else "invalid" if pool.invalid else ""
            if problem:
                where = f"resource pool {'/'.join(pool.id)} is currently {problem}"
                message = f"claim {claim}, request {request.own}: asks for all devices, but {where}"
                raise Stop(NoFit(message) if self.features.all_fails_on_node else Failure(message))
            everything += [
                (pool, device) for device in pool.devices if self._requested(claim, request, device)
            ]
        return Demand(request, len(everything), tuple(everything))

    def _requested(self, claim: str, request: Request, device: AllocatableDevice) -> bool:
        known_as = request.slot
        if self.features.mixes_alternatives:
            known_as = known_as._replace(alternative=max(known_as.alternative - 1, 0))
        if not self.selection.matches(request, device, known_as):
            return False
        if not self.features.consumable_capacity:
            return True
        if self.features.aborts_on_wrong_amounts:
            problem = capacity.wrong_amount(device, request.capacity, self.features)
            if problem:
                where = f"claim {claim}, request {request.own}"
                raise Stop(Failure(f"{where}: checking capacity for device {device.id.device}: {problem}"))
        in_use: Mapping[str, Amount] = {}
        if self.features.all_skips_full_devices:
            in_use = self.in_use.capacity.get(device.id, {})
        return capacity.fits(device, request.capacity, in_use, {}, self.features)


def _full_name(claim: Object) -> str:
    metadata: Object = claim.get("metadata") or {}
    namespace, name = metadata.get("namespace"), metadata.get("name", "")
    return f"{namespace}/{name}" if namespace else name


def _selectors(place: str, entry: Object, empty_at: str = "") -> tuple[Selector, ...]:
    found: list[Selector] = []
    for index, selector in enumerate(entry.get("selectors") or ()):
        if not selector.get("cel"):
            problem = "CEL expression empty (unsupported selector type?)"
            raise Stop(Failure(f"{empty_at or place}, selector #{index}: {problem}"))
        found.append(Selector(selector["cel"]["expression"], f"{place}: selector #{index}"))
    return tuple(found)
