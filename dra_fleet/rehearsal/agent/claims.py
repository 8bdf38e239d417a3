"""What a kubelet reads of a pod's claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object


def claims_to_prepare(pod: Object) -> list[str]:
    """The pod's claims.

    Raises:
        PrepareFailed: some are not made yet.
    """
    extended = pod.get("status", {}).get("extendedResourceClaimStatus")
    names = claim_names(pod)
    if len(names) < len(pod["spec"].get("resourceClaims", [])) + bool(extended):
        raise PrepareFailed("resource claims of the pod are not created yet")
    return names


def is_reserved_for(claim: Object, pod: Object) -> bool:
    """Whether a claim is a pod's to use."""
    users: list[Object] = claim.get("status", {}).get("reservedFor", [])
    return any(user.get("uid") == pod["metadata"]["uid"] for user in users)
