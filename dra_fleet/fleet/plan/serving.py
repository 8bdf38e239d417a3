"""Which releases must be there before what uses them, and go after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.drivers.common.values import value_at
from dra_fleet.model.classes import IntentClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.fleet.settings import FleetSettings
    from dra_fleet.model.claims import ClaimSettings
    from dra_fleet.model.plan import ReleasePlan

_WEBHOOK: Final = "webhook.enabled"
"""The value of charts that follow the example driver's:
https://github.com/kubernetes-sigs/dra-example-driver/blob/main/deployments/helm/dra-example-driver/values.yaml"""


def serving(
    claim: ClaimSettings, settings: FleetSettings, releases: Sequence[ReleasePlan]
) -> tuple[str, ...]:
    """The releases that publish and prepare a claim's devices.

    Left out are those of drivers that none of its classes selects. CEL may select any driver's devices.
    """
    wanted = {_driver_of(name, settings) for _, name in claim.classes()}
    others = {driver.facts.driver for driver in drivers.known() if driver.name not in wanted}
    return tuple(item.name for item in releases if None in wanted or item.driver not in others)


def admitting(releases: Sequence[ReleasePlan]) -> tuple[str, ...]:
    """The releases whose webhook the API server asks about every claim and template: it must answer first."""
    return tuple(item.name for item in releases if value_at(item.values, _WEBHOOK, default=False))


def _driver_of(name: str, settings: FleetSettings) -> str | None:
    """The driver whose devices a class selects; None where that is not known."""
    wanted = settings.classes.get(name)
    if wanted is not None:
        return wanted.driver if isinstance(wanted, IntentClass) else None
    owner = drivers.of_class(name)
    return owner.name if owner is not None else None
