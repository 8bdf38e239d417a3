"""The platforms a cluster can live on, by the name a stack file gives them.

They are resolved on use, so that a stack of one cloud loads one cloud's SDK.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from components.clouds.platform import Platform

PLATFORMS = {
    "aks": "components.clouds.aks.cluster:AksCluster",
    "eks": "components.clouds.eks.cluster:EksCluster",
    "gke": "components.clouds.gke.cluster:GkeCluster",
    "existing": "components.clouds.existing.cluster:ExistingCluster",
}
"""Cloud -> where its component is."""


def resolve(cloud: str) -> type[Platform]:
    """The component of a cloud."""
    return resolve_name(PLATFORMS[cloud])
