"""The clouds a cluster can live on, one folder each; every other room asks the `Cloud` value, found here.

Others register theirs by entry points of the group `dra_fleet.clouds`. To find one loads its package, and of
that nothing but the value.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from dra_fleet.clouds.cloud import Cloud, Planning, SettingsT
from dra_fleet.facts.loading import by_name
from dra_fleet.facts.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.hardware.models import Machine

BUILT_IN = ("aks", "eks", "gke", "existing", "ack")

_REGISTRY = Registry(
    kind=Cloud,
    group="dra_fleet.clouds",
    built_in={name: f"dra_fleet.clouds.{name}:CLOUD" for name in BUILT_IN},
)

__all__ = ["BUILT_IN", "Cloud", "known", "machines", "named", "names", "planning_of"]


def named(name: str) -> Cloud:
    """The cloud of a name.

    Raises:
        LookupError: Nobody registered it.
    """
    found = _REGISTRY.named(name)
    if found is None:
        raise LookupError(f"no cloud {name!r} is registered; there are: {', '.join(_REGISTRY.names())}")
    return found


def names() -> list[str]:
    """The clouds that a stack file may ask for, the built-in ones first."""
    return _REGISTRY.names()


def known() -> Iterator[Cloud]:
    """All clouds, the built-in ones first; those of other packages are looked for only after these."""
    return _REGISTRY.known()


def planning_of(settings: SettingsT) -> Planning[SettingsT]:
    """How the cloud that a cluster is on plans it."""
    return cast("Planning[SettingsT]", named(settings.cloud).planning)


@cache
def machines() -> Mapping[str, Machine]:
    """The machine types of all clouds, by name.

    Raises:
        ValueError: Two clouds have one of the same name.
    """
    return by_name(machine for name in names() for machine in named(name).machines.values())
