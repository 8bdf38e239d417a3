"""The platforms a cluster can live on, by the name a stack file gives them.

They are resolved on use, so that a stack of one cloud loads one cloud's SDK.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .platform import Platform

PLATFORMS = {
    "aks": ".aks.cluster:AksCluster",
    "eks": ".eks.cluster:EksCluster",
    "gke": ".gke.cluster:GkeCluster",
    "existing": ".existing.cluster:ExistingCluster",
}
"""Cloud -> where its component is, from this package on."""


def resolve(cloud: str) -> type[Platform]:
    """The component of a cloud."""
    return resolve_name(f"{__name__}{PLATFORMS[cloud]}")
