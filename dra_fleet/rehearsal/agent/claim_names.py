"""Names all claims of a pod at once, where Kubernetes' own controller names one and forgets another for ever.

Up to 1.36 that controller may replace the names of a pod's claims in its status by those it looked at last,
when its view of claims is behind its view of pods, as on a busy machine. Such a pod never starts. A name that
a second field manager gives too stays. Mended in 1.37: https://github.com/kubernetes/kubernetes/issues/138407
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.agent.view import RESOURCE_API, partly_named, templated_claims

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.view import ClusterView

FIELD_MANAGER = "rehearsal.dra-fleet"
POD_CLAIM = "resource.kubernetes.io/pod-claim-name"


class ClaimNames:
    """Looks after the pods of all nodes and of none yet.

    Args:
        admin: no kubelet may write these names.
        view: what there is.
    """

    def __init__(self, admin: KubeApi, view: ClusterView) -> None:
        self._admin = admin
        self._view = view

    async def reconcile(self, key: str) -> None:
        """Name the claims of one pod once all of them are made, if only some are named."""
        pod = self._view.pods.objects.get(key)
        if pod is None or not partly_named(pod):
            return
        meta = pod["metadata"]
        claims = (await self._admin.list(RESOURCE_API, "ResourceClaim", meta["namespace"]))["items"]
        made = {
            claim["metadata"]["annotations"][POD_CLAIM]: claim["metadata"]["name"]
            for claim in claims
            if POD_CLAIM in claim["metadata"].get("annotations", {}) and _owned(claim, meta["uid"])
        }
        if not templated_claims(pod) <= made.keys():
            return
        named = [{"name": name, "resourceClaimName": made[name]} for name in sorted(templated_claims(pod))]
        body: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: meta[key] for key in ("name", "namespace", "uid")},
            "status": {"resourceClaimStatuses": named},
        }
        await self._admin.apply(body, manager=FIELD_MANAGER, force=True, subresource="status")


def _owned(claim: Object, pod: str) -> bool:
    return any(owner["uid"] == pod for owner in claim["metadata"].get("ownerReferences", []))
