"""The clouds that a cluster can be on, one folder each, found by name.

Other packages register clouds by entry points of the group `dra_fleet.clouds`. A cloud's package is loaded
when its name is first used.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dra_fleet.clouds.base import Cloud
from dra_fleet.core.facts import by_name
from dra_fleet.core.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.model.hardware import Machine

BUILT_IN = ("aks", "eks", "gke", "existing", "ack")

__all__ = ["BUILT_IN", "Cloud", "known", "machines", "named", "names"]


def named(name: str) -> Cloud:
    """Return the cloud of a name.

    Raises:
        LookupError: No such cloud is registered.
    """
    found = _REGISTRY.named(name)
    if found is None:
        raise LookupError(f"no cloud {name!r} is registered; there are: {', '.join(_REGISTRY.names())}")
    return found


def names() -> list[str]:
    """Return the clouds that a stack file may name, built-in ones first."""
    return _REGISTRY.names()


def known() -> Iterator[Cloud]:
    """Yield all clouds, built-in ones first; entry points are read only after these."""
    return _REGISTRY.known()


def of_vendor(name: str) -> str:
    """Return the cloud of a vendor, such as eks of aws; the name itself if no vendor has it."""
    return next((cloud.name for cloud in known() if name.lower() in cloud.vendors), name)


@cache
def machines() -> Mapping[str, Machine]:
    """Return the machine types of all clouds, by name.

    Raises:
        ValueError: Two clouds have a machine type of the same name.
    """
    return by_name(machine for name in names() for machine in named(name).machines.values())


def _load(name: str) -> Cloud:
    match name:
        case "aks":
            from dra_fleet.clouds.aks import CLOUD as AKS

            return AKS
        case "eks":
            from dra_fleet.clouds.eks import CLOUD as EKS

            return EKS
        case "gke":
            from dra_fleet.clouds.gke import CLOUD as GKE

            return GKE
        case "ack":
            from dra_fleet.clouds.ack import CLOUD as ACK

            return ACK
        case _:
            from dra_fleet.clouds.existing import CLOUD as EXISTING

            return EXISTING


_REGISTRY = Registry(kind=Cloud, group="dra_fleet.clouds", built_in=BUILT_IN, load=_load)
