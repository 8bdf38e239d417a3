"""How much a request takes: parts of devices that cannot be shared, some of those that go together."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.check.matching import counted
from dra_fleet.check.resources import at, mapping

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.check.device_objects import ClassRequest
    from dra_fleet.check.inventory import FleetDevice
    from dra_fleet.check.matching import Judged
    from dra_fleet.check.resources import FileObject


def tell_part(resource: FileObject, request: ClassRequest, judged: Sequence[Judged]) -> None:
    """A part can be had only of devices that several claims may share; of others the claim holds all."""
    parts = mapping(at(request.value, ("capacity", "requests")))
    matching = _matching(judged)
    whole = [item for item in matching if not item.published.get("allowMultipleAllocations")]
    if parts and matching and len(whole) == len(matching):
        resource.subject.warning(
            *request.path,
            "capacity",
            rule="part-of-device",
            what="asks for a part, but these devices cannot be shared: the claim holds a whole one of "
            f"{counted(whole)}",
            got=", ".join(f"{name}: {amount}" for name, amount in parts.items()),
            fix="ask for a MIG partition, or let the driver share its devices (consumableShares)",
        )


def tell_chips(resource: FileObject, request: ClassRequest, judged: Sequence[Judged]) -> None:
    """Some drivers' devices of a node go together: all of them are prepared for one claim, or none."""
    if request.value.get("allocationMode") == "All":
        return
    count = request.value.get("count", 1)
    matching = _matching(judged)
    for driver in drivers.known():
        per_pool = Counter(
            item.pool
            for item in matching
            if driver.prepared_together and item.cel.driver in driver.publishers
        )
        if not per_pool or count in per_pool.values():
            continue
        chips = " or ".join(str(number) for number in sorted(set(per_pool.values())))
        resource.subject.error(
            *request.path,
            rule="chips-apart",
            what=f"takes {count} of the {chips} {driver.prepared_together} of a node, which the driver "
            "prepares all together for one claim",
            got=str(count),
            allowed=f"{chips}, or allocationMode: All",
            fix="allocationMode: All, without count",
        )


def _matching(judged: Sequence[Judged]) -> list[FleetDevice]:
    return [item.device for item in judged if item.verdict.outcome in ("true", "unknown")]
