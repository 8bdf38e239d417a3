"""The connection of one provider to its cluster, made on first use and remembered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import httpx2

from dra_fleet.clusters.api_errors import ApiError, UnknownKindError
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import KubeconfigError
from dra_fleet.rehearsal.providers.kubernetes.errors import ClusterUnreachableError

if TYPE_CHECKING:
    from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration

_REMEMBERED: Final = 10.0  # seconds in which a cluster that did not answer is not asked again
_ANSWER: Final = 60.0  # seconds for the first answer; where nothing listens at all it is known at once
_UNAUTHORIZED: Final = 401
_GLOBAL_KINDS: Final = frozenset(
    {
        "APIService", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding", "ComponentStatus",
        "CSIDriver", "CSINode", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule", "FlowSchema",
        "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
        "PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "StorageClass",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
        "VolumeAttachment", "VolumeAttributesClass",
    }
)  # fmt: skip


class ProviderCluster:
    """One provider's cluster."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration = configuration
        self._api: KubeApi | None = None
        self._lock = asyncio.Lock()
        self._refused: tuple[float, str] | None = None

    @property
    def default_namespace(self) -> str:
        """The provider's namespace, else that of the kubeconfig's context, else `default`."""
        if self.configuration.namespace:
            return self.configuration.namespace
        try:
            context = self.configuration.connection().context
        except KubeconfigError:
            return "default"
        return context.namespace or "default"

    async def api(self) -> KubeApi:
        """A connection that has answered once.

        Raises:
            ClusterUnreachableError: no usable kubeconfig, no answer, or the credentials are refused.
        """
        async with self._lock:
            if self._api is None:
                self._api = await self._connect()
            return self._api

    async def api_or_none(self) -> KubeApi | None:
        """As `api`, but None where the cluster cannot be reached: a preview goes on without it."""
        try:
            return await self.api()
        except ClusterUnreachableError:
            return None

    async def _connect(self) -> KubeApi:
        now = asyncio.get_running_loop().time()
        if self._refused and now < self._refused[0]:
            raise ClusterUnreachableError(self._refused[1])
        try:
            return await self._first_answer()
        except ClusterUnreachableError as error:
            self._refused = (now + _REMEMBERED, str(error))
            raise

    async def _first_answer(self) -> KubeApi:
        try:
            config = self.configuration.connection()
            api = KubeApi.connect(config)
        except KubeconfigError as error:
            raise ClusterUnreachableError(str(error)) from error
        try:
            async with asyncio.timeout(_ANSWER):
                await api.version()
        except (httpx2.TransportError, TimeoutError, KubeconfigError, ApiError) as error:
            if isinstance(error, ApiError) and error.code != _UNAUTHORIZED:
                return api
            await api.close()
            reason = str(error) or type(error).__name__
            raise ClusterUnreachableError(f"{config.cluster.server}: {reason}") from error
        return api

    async def is_namespaced(self, api_version: str, kind: str) -> bool:
        """Whether a kind lives in namespaces.

        Where the server cannot be asked or does not know the kind yet, the built-in kinds are known and any
        other is taken as namespaced.
        """
        api = await self.api_or_none()
        if api is not None:
            try:
                return (await api.resource(api_version, kind)).namespaced
            except UnknownKindError:
                pass
        return kind not in _GLOBAL_KINDS
