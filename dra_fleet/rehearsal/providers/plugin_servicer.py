# ruff: noqa: N802, ARG002 - the protocol's own names and parameters
"""What every stand-in plugin tells the engine about itself."""

from __future__ import annotations

import json

from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc


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
