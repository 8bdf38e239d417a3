"""Whether Services find pods, which is judged by their Endpoints, and not by the Service alone.

Source: https://github.com/pulumi/pulumi-kubernetes/blob/0012b9d2d0417b46995cabe1edb9f659fbb65d7f/provider/pkg/await/service.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.providers.kubernetes.following import Reference
from dra_fleet.rehearsal.providers.kubernetes.readiness import READY, Readiness

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object

_FINDS_NONE: Final = Readiness(
    ready=False,
    reason="Service does not target any Pods. Selected Pods may not be ready, or field '.spec.selector' may "
    "not match labels on any Pods",
)


def endpoints_of(body: Object) -> Reference | None:
    """Where it stands which pods an object finds; None for what is ready without any."""
    if (body["apiVersion"], body["kind"]) != ("v1", "Service"):
        return None
    spec = body["spec"]
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") == "None":
        return None
    return Reference("v1", "Endpoints", body["metadata"]["name"], body["metadata"].get("namespace"))


def targeting(endpoints: Object | None) -> Readiness:
    """Whether Endpoints name pods, ready ones or others."""
    return READY if endpoints and endpoints.get("subsets") else _FINDS_NONE
