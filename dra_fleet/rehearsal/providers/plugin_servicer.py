"""What every stand-in plugin tells the engine about itself."""

# ruff: noqa: N802, ARG002 - the protocol's own names and parameters

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import grpc.aio
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class EngineLog:
    """The engine's log. Without an address (a plugin run by hand) messages go nowhere."""

    def __init__(self, address: str | None) -> None:
        self._stub: engine_pb2_grpc.EngineStub | None = None
        if address:
            self._stub = engine_pb2_grpc.EngineStub(grpc.aio.insecure_channel(address))

    async def warning(self, urn: str, message: str) -> None:
        """Tell the user, once, about a resource."""
        await self._send(engine_pb2.WARNING, urn, message, passing=False)

    async def status(self, urn: str, message: str) -> None:
        """Show what a long operation waits for, until the next status."""
        await self._send(engine_pb2.INFO, urn, message, passing=True)

    async def debug(self, message: str) -> None:
        """Keep a detail for `pulumi --debug`."""
        await self._send(engine_pb2.DEBUG, "", message, passing=False)

    async def _send(
        self, severity: engine_pb2.LogSeverity.ValueType, urn: str, message: str, *, passing: bool
    ) -> None:
        if self._stub is None:
            return
        request = engine_pb2.LogRequest(severity=severity, message=message, urn=urn, ephemeral=passing)
        log = self._stub.Log  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - generated
        send = cast("Callable[[engine_pb2.LogRequest], Awaitable[object]]", log)
        await send(request)


class PluginServicer(provider_pb2_grpc.ResourceProviderServicer):
    """A plugin of a name and version, without a schema or mappings of its own.

    Args:
        name: the plugin's package.
        version: of the published plugin whose place it takes.
    """

    def __init__(self, name: str, version: str) -> None:
        self._name = name
        self._version = version

    async def Attach(self, request: plugin_pb2.PluginAttach, context: object) -> empty_pb2.Empty:
        """An engine that did not start this process needs nothing more."""
        return empty_pb2.Empty()

    async def GetPluginInfo(self, request: empty_pb2.Empty, context: object) -> plugin_pb2.PluginInfo:
        """Name the version."""
        return plugin_pb2.PluginInfo(version=self._version)

    async def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: object
    ) -> provider_pb2.GetSchemaResponse:
        """An empty schema: programs bring their own SDK."""
        return provider_pb2.GetSchemaResponse(
            schema=json.dumps({"name": self._name, "version": self._version})
        )

    async def GetMapping(
        self, request: provider_pb2.GetMappingRequest, context: object
    ) -> provider_pb2.GetMappingResponse:
        """No mapping from other tools."""
        return provider_pb2.GetMappingResponse()

    async def GetMappings(
        self, request: provider_pb2.GetMappingsRequest, context: object
    ) -> provider_pb2.GetMappingsResponse:
        """No mappings from other tools."""
        return provider_pb2.GetMappingsResponse()
