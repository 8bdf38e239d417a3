# ruff: noqa: N802, ARG002 - the protocol's own names and parameters
"""The engine's side of the plugin: every call of the protocol, handed to who does the work.

What a call raises becomes an error of the protocol in `answering`.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from dra_fleet.rehearsal.providers.kubernetes import (
    NAME,
    VERSION,
    helm_release,
    objects,
    rendered_files,
    rendering,
)
from dra_fleet.rehearsal.providers.kubernetes.awaiting import Waiting
from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration, compare, faults
from dra_fleet.rehearsal.providers.kubernetes.connection import ProviderCluster
from dra_fleet.rehearsal.providers.kubernetes.diffing import ChangeKind
from dra_fleet.rehearsal.providers.kubernetes.errors import ClusterUnreachableError, RefusedError
from dra_fleet.rehearsal.providers.kubernetes.naming import Autonaming, NamingMode, Urn
from dra_fleet.rehearsal.providers.kubernetes.operation import Difference, Operation
from dra_fleet.rehearsal.providers.plugin_servicer import PluginServicer
from dra_fleet.rehearsal.providers.properties import decode, encode, has_secret, plain

if TYPE_CHECKING:
    from pulumi.runtime.proto import plugin_pb2

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.engine_log import EngineLog
    from dra_fleet.rehearsal.providers.kubernetes.diffing import FieldChange

_KIND: Final = {
    (ChangeKind.ADD, False): provider_pb2.PropertyDiff.ADD,
    (ChangeKind.ADD, True): provider_pb2.PropertyDiff.ADD_REPLACE,
    (ChangeKind.DELETE, False): provider_pb2.PropertyDiff.DELETE,
    (ChangeKind.DELETE, True): provider_pb2.PropertyDiff.DELETE_REPLACE,
    (ChangeKind.UPDATE, False): provider_pb2.PropertyDiff.UPDATE,
    (ChangeKind.UPDATE, True): provider_pb2.PropertyDiff.UPDATE_REPLACE,
}
_GONE_HINT: Final = (
    "if the cluster was deleted, its resources can be taken out of the state: set deleteUnreachable on the "
    "provider (or PULUMI_K8S_DELETE_UNREACHABLE=true in the environment) and try again"
)


class KubernetesServicer(PluginServicer):
    """One explicit provider of a program: one process, one cluster."""

    def __init__(self, log: EngineLog) -> None:
        super().__init__(NAME, VERSION)
        self.log = log
        self._cluster = ProviderCluster(Configuration())
        self._stopping = asyncio.Event()

    def _operation(self, urn: str, *, timeout: float = 0.0, preview: bool = False) -> Operation:
        return Operation(
            urn=Urn.parse(urn),
            cluster=self._cluster,
            waiting=Waiting(timeout, partial(self.log.status, urn), self._stopping),
            warn=partial(self.log.warning, urn),
            preview=preview,
        )

    async def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: object
    ) -> provider_pb2.ProviderHandshakeResponse:
        """Say what this plugin understands."""
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, supports_autonaming_configuration=True
        )

    async def Attach(self, request: plugin_pb2.PluginAttach, context: object) -> empty_pb2.Empty:
        """Take the engine's address from an engine that did not start this process."""
        self.log = type(self.log)(request.address)
        return empty_pb2.Empty()

    async def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: object
    ) -> provider_pb2.CheckResponse:
        """Check a provider's own settings."""
        failures = [
            provider_pb2.CheckFailure(property=name, reason=reason)
            for name, reason in faults(decode(request.news))
        ]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    async def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: object
    ) -> provider_pb2.DiffResponse:
        """Say whether changed settings mean another cluster."""
        change = compare(decode(request.old_inputs), decode(request.news))
        some = provider_pb2.DiffResponse.DIFF_SOME if change.changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=some, diffs=change.changed, replaces=change.replacing)

    async def Configure(
        self, request: provider_pb2.ConfigureRequest, context: object
    ) -> provider_pb2.ConfigureResponse:
        """Take the settings; the cluster is asked only when something needs it."""
        self._cluster = ProviderCluster(Configuration.parse(decode(request.args)))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    async def Invoke(
        self, request: provider_pb2.InvokeRequest, context: object
    ) -> provider_pb2.InvokeResponse:
        """Render what the SDK then declares as objects."""
        arguments = cast("Object", plain(decode(request.args)))
        result = await rendering.invoke(request.tok, arguments, self._cluster, self._stopping)
        answer = provider_pb2.InvokeResponse()
        getattr(answer, "return").CopyFrom(encode(result))
        return answer

    async def Construct(
        self, request: provider_pb2.ConstructRequest, context: object
    ) -> provider_pb2.ConstructResponse:
        """No components of the plugin's own: `helm.v4`, `yaml.v2` and `kustomize.v2`."""
        raise rendering.unserved(f"component {request.type}")

    async def Check(self, request: provider_pb2.CheckRequest, context: object) -> provider_pb2.CheckResponse:
        """Complete and check a resource's inputs."""
        operation = self._operation(request.urn)
        old, new = decode(request.olds), decode(request.news)
        seed, autonaming = request.randomSeed, _autonaming(request)
        if operation.urn.type == helm_release.TYPE:
            inputs, found = await helm_release.check(operation, old, new, seed, autonaming)
            failures = [provider_pb2.CheckFailure(property=name, reason=reason) for name, reason in found]
            return provider_pb2.CheckResponse(inputs=encode(inputs), failures=failures)
        try:
            inputs = await objects.check(operation, old, new, seed, autonaming)
            if self._cluster.configuration.renders_to and has_secret(inputs):
                await operation.warn("rendered YAML will contain a secret value in plaintext")
        except RefusedError as error:
            return provider_pb2.CheckResponse(
                inputs=request.news, failures=[provider_pb2.CheckFailure(reason=str(error))]
            )
        return provider_pb2.CheckResponse(inputs=encode(inputs))

    async def Diff(self, request: provider_pb2.DiffRequest, context: object) -> provider_pb2.DiffResponse:
        """Say what an update would do."""
        operation = self._operation(request.urn)
        news, ignored = decode(request.news), list(request.ignoreChanges)
        if operation.urn.type == helm_release.TYPE:
            return _diff_response(helm_release.diff(decode(request.old_inputs), news, ignored))
        return _diff_response(await objects.diff(operation, decode(request.olds), news, ignored))

    async def Create(
        self, request: provider_pb2.CreateRequest, context: object
    ) -> provider_pb2.CreateResponse:
        """Create a resource and wait until it is ready."""
        operation = self._operation(request.urn, timeout=request.timeout, preview=request.preview)
        inputs, directory = decode(request.properties), self._cluster.configuration.renders_to
        if operation.urn.type == helm_release.TYPE:
            identifier, state = await helm_release.create(operation, inputs)
        elif directory:
            identifier, state = await rendered_files.write(operation, directory, inputs)
        else:
            identifier, state = await objects.create(operation, inputs)
        return provider_pb2.CreateResponse(id=identifier, properties=encode(state))

    async def Update(
        self, request: provider_pb2.UpdateRequest, context: object
    ) -> provider_pb2.UpdateResponse:
        """Change a resource and wait until it is ready."""
        operation = self._operation(request.urn, timeout=request.timeout, preview=request.preview)
        news, directory = decode(request.news), self._cluster.configuration.renders_to
        try:
            if operation.urn.type == helm_release.TYPE:
                state = await helm_release.update(operation, news)
            elif directory:
                _, state = await rendered_files.write(operation, directory, news)
            else:
                ignored = list(request.ignoreChanges)
                state = await objects.update(operation, decode(request.olds), news, ignored)
        except ClusterUnreachableError as error:
            if not await self._leaves(operation, error):
                raise
            return provider_pb2.UpdateResponse(properties=request.olds)
        return provider_pb2.UpdateResponse(properties=encode(state))

    async def Read(self, request: provider_pb2.ReadRequest, context: object) -> provider_pb2.ReadResponse:
        """Read a resource as it is on the cluster."""
        operation = self._operation(request.urn)
        old, old_inputs = decode(request.properties), decode(request.inputs)
        try:
            if operation.urn.type == helm_release.TYPE:
                found = await helm_release.refresh(operation, request.id, old_inputs)
            elif self._cluster.configuration.renders_to:
                found = await rendered_files.refresh(operation, request.id, old, old_inputs)
            else:
                found = await objects.refresh(operation, request.id, old, old_inputs)
        except ClusterUnreachableError as error:
            if not self._cluster.configuration.delete_unreachable and await self._leaves(operation, error):
                return provider_pb2.ReadResponse(
                    id=request.id, properties=request.properties, inputs=request.inputs
                )
            await self._forget(operation, error)
            found = None
        if found is None:
            return provider_pb2.ReadResponse(id="")
        identifier, state, inputs = found
        return provider_pb2.ReadResponse(id=identifier, properties=encode(state), inputs=encode(inputs))

    async def Delete(self, request: provider_pb2.DeleteRequest, context: object) -> empty_pb2.Empty:
        """Delete a resource and wait until it is gone."""
        operation = self._operation(request.urn, timeout=request.timeout)
        old, directory = decode(request.properties), self._cluster.configuration.renders_to
        try:
            if operation.urn.type == helm_release.TYPE:
                await helm_release.delete(operation, request.id, old)
            elif directory:
                await rendered_files.delete(operation, directory, old)
            else:
                await objects.delete(operation, request.id, old)
        except ClusterUnreachableError as error:
            await self._forget(operation, error)
        return empty_pb2.Empty()

    async def _forget(self, operation: Operation, error: ClusterUnreachableError) -> None:
        """Let a resource of an unreachable cluster leave the state, where the program says so."""
        if not self._cluster.configuration.delete_unreachable:
            raise RefusedError(
                f"configured Kubernetes cluster is unreachable: {error}; {_GONE_HINT}"
            ) from error
        await operation.warn(
            f"configured Kubernetes cluster is unreachable: {error}; deleteUnreachable is set, so this "
            "resource is taken out of the state without deleting anything"
        )

    async def _leaves(self, operation: Operation, error: ClusterUnreachableError) -> bool:
        """Whether a resource of an unreachable cluster stays as it is, where the program says so."""
        if self._cluster.configuration.skip_unreachable:
            await operation.warn(
                f"configured Kubernetes cluster is unreachable: {error}; skipUpdateUnreachable is set, so "
                "this resource is left as it is"
            )
        return self._cluster.configuration.skip_unreachable

    async def Cancel(self, request: empty_pb2.Empty, context: object) -> empty_pb2.Empty:
        """Give up waiting: what is not ready yet is left as it is, with that as its reason."""
        self._stopping.set()
        return empty_pb2.Empty()


def _autonaming(request: provider_pb2.CheckRequest) -> Autonaming | None:
    if not request.HasField("autonaming"):
        return None
    return Autonaming(request.autonaming.proposed_name, NamingMode(int(request.autonaming.mode)))


def _diff_response(difference: Difference) -> provider_pb2.DiffResponse:
    replacing: set[Any] = {str(change) for change in difference.replacing}

    def kind(change: FieldChange) -> provider_pb2.PropertyDiff:
        value = _KIND[change.kind, str(change) in replacing]
        return provider_pb2.PropertyDiff(kind=value, inputDiff=change.kind is ChangeKind.DELETE)

    some = bool(difference.changes)
    return provider_pb2.DiffResponse(
        changes=provider_pb2.DiffResponse.DIFF_SOME if some else provider_pb2.DiffResponse.DIFF_NONE,
        replaces=sorted(replacing),
        diffs=sorted({str(change.path[0]) for change in difference.changes}),
        deleteBeforeReplace=difference.delete_before_replace,
        detailedDiff={str(change): kind(change) for change in difference.changes},
        hasDetailedDiff=True,
    )
