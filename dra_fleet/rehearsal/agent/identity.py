"""Acting as others do: as a node's kubelet, and as a driver's pod with the pod's own bound token.

Nothing here gives rights: RBAC, the node authorizer and NodeRestriction decide as they would for real.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lightkube.config.models import User
from msgspec import Struct

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import Object

TOKEN_SECONDS = 3600
RENEW_BEFORE = 900.0
"""Seconds before its end that a token is renewed; a driver's own program is looked at as often, for that."""


class _Token(Struct, frozen=True):
    text: str
    renew_at: float


class Identities:
    """Connections as kubelets and as pods of one cluster.

    Args:
        admin: a connection that may impersonate.
        kubeconfig: reports the server's address and CA; its user is not used.
    """

    def __init__(self, admin: KubeApi, kubeconfig: Path) -> None:
        self._admin = admin
        self._anonymous = KubeApi.connect(read_kubeconfig(str(kubeconfig))._replace(user=User()))
        self._tokens: dict[str, _Token] = {}

    async def close(self) -> None:
        """Close the pods' connection."""
        await self._anonymous.close()

    def kubelet(self, node: str) -> KubeApi:
        """Act as a node's kubelet."""
        return self._admin.acting_as(
            {"Impersonate-User": f"system:node:{node}", "Impersonate-Group": "system:nodes"}
        )

    async def report(
        self,
        pod: Object,
        status: Object,
        annotations: Mapping[str, str | None] | None = None,
        *,
        if_unchanged: bool = False,
    ) -> None:
        """Write a part of a pod's status as its node's kubelet, and annotations with it.

        Args:
            pod: whose status; a later pod of its name is left alone.
            status: the part.
            annotations: to set; None removes one.
            if_unchanged: refuse with a conflict if the pod is no longer as it was read.
        """
        meta = pod["metadata"]
        changed: Object = {"uid": meta["uid"], "annotations": dict(annotations or {})}
        if if_unchanged:
            changed["resourceVersion"] = meta["resourceVersion"]
        patch = {"metadata": changed, "status": status}
        await self.kubelet(pod["spec"]["nodeName"]).merge(
            "v1", "Pod", meta["name"], patch, namespace=meta["namespace"], subresource="status"
        )

    @property
    def network(self) -> KubeApi:
        """Act as the cluster's network, which leads the API server to the pods behind a Service."""
        return self._admin

    async def pod(self, pod: Object) -> KubeApi:
        """Act with a pod's ServiceAccount token, bound to the pod and asked for by its kubelet.

        Raises:
            ApiError: the kubelet may not have the token (no such ServiceAccount, pod not on its node).
        """
        return self._anonymous.acting_as({"Authorization": f"Bearer {await self.token(pod)}"})

    async def token(self, pod: Object) -> str:
        """Return a pod's ServiceAccount token; errors are those of `pod`."""
        uid = pod["metadata"]["uid"]
        now = asyncio.get_running_loop().time()
        token = self._tokens.get(uid)
        if token is None or token.renew_at <= now:
            token = _Token(await self._request_token(pod), now + TOKEN_SECONDS - RENEW_BEFORE)
            self._tokens[uid] = token
        return token.text

    def forget(self, pod: Object) -> None:
        """Drop the token of a pod that is gone."""
        self._tokens.pop(pod["metadata"]["uid"], None)

    async def _request_token(self, pod: Object) -> str:
        meta = pod["metadata"]
        account = pod["spec"].get("serviceAccountName", "default")
        answer = await self.kubelet(pod["spec"]["nodeName"]).request(
            "POST",
            f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token",
            body={
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "spec": {
                    "expirationSeconds": TOKEN_SECONDS,
                    "boundObjectRef": {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "name": meta["name"],
                        "uid": meta["uid"],
                    },
                },
            },
        )
        return str(answer["status"]["token"])


class PodConnection:
    """Reads as a pod, with a fresh token where the old one ends.

    Args:
        identities: gives the tokens.
        pod: who reads.
        namespace: where it may read; None for everywhere.
    """

    def __init__(self, identities: Identities, pod: Object, namespace: str | None = None) -> None:
        self._identities = identities
        self._pod = pod
        self._namespace = namespace

    async def list(self, api_version: str, kind: str) -> Object:
        """Read a collection."""
        return await (await self._identities.pod(self._pod)).list(api_version, kind, self._namespace)

    async def watch(
        self, api_version: str, kind: str, *, resource_version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        """Follow a collection."""
        api = await self._identities.pod(self._pod)
        async for event in api.watch(api_version, kind, self._namespace, resource_version=resource_version):
            yield event
