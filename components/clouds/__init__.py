"""The components of clusters, by the name of their cloud in stack files.

A component is imported on use, so that a stack of one cloud loads one cloud's SDK.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    from .platform import Platform


def resolve(cloud: str) -> type[Platform]:
    """Return the component class of a cloud.

    Raises:
        ExpectedError: The cloud has no component.
    """
    match cloud:
        case "aks":
            from .aks.cluster import AksCluster

            return AksCluster
        case "eks":
            from .eks.cluster import EksCluster

            return EksCluster
        case "gke":
            from .gke.cluster import GkeCluster

            return GkeCluster
        case "ack":
            from .ack.cluster import AckCluster

            return AckCluster
        case "existing":
            from .existing.cluster import ExistingCluster

            return ExistingCluster
        case _:
            return _of_another_package(cloud)


def _of_another_package(cloud: str) -> type[Platform]:
    from .platform import Platform

    found = clouds.named(cloud).component()
    if not isinstance(found, type) or not issubclass(found, Platform):
        raise ExpectedError(f"cloud {cloud}: component() must return a subclass of Platform, got {found!r}")
    return found
