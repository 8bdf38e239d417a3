"""Answers of every simulated plugin about itself."""

# ruff: noqa: N802, ARG002 - the protocol's own names and parameters

from __future__ import annotations

import json
import traceback
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, cast

import grpc
import grpc.aio
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc, plugin_pb2, provider_pb2, provider_pb2_grpc

from dra_fleet.rehearsal.providers.properties import decode, secret_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable


class EngineLog:
    """The engine's log. Without an address (a plugin run by hand) messages go nowhere."""

    def __init__(self, address: str | None) -> None:
        self._stub: engine_pb2_grpc.EngineStub | None = None
        if address:
            self._stub = engine_pb2_grpc.EngineStub(grpc.aio.insecure_channel(address))

    async def warning(self, urn: str, message: str) -> None:
        """Notify the user, once, about a resource."""
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
    """A plugin of a name and version, without its own schema or mappings.

    Args:
        name: the plugin's package.
        version: of the published plugin whose place it takes.
    """

    def __init__(self, name: str, version: str) -> None:
        self._name = name
        self._version = version

    async def Attach(self, request: plugin_pb2.PluginAttach, context: object) -> empty_pb2.Empty:
        """Accept an engine that did not start this process."""
        return empty_pb2.Empty()

    async def GetPluginInfo(self, request: empty_pb2.Empty, context: object) -> plugin_pb2.PluginInfo:
        """Name the version."""
        return plugin_pb2.PluginInfo(version=self._version)

    async def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: object
    ) -> provider_pb2.GetSchemaResponse:
        """Return an empty schema: programs have their own SDK."""
        return provider_pb2.GetSchemaResponse(
            schema=json.dumps({"name": self._name, "version": self._version})
        )

    async def GetMapping(
        self, request: provider_pb2.GetMappingRequest, context: object
    ) -> provider_pb2.GetMappingResponse:
        """Return no mapping from other tools."""
        return provider_pb2.GetMappingResponse()

    async def GetMappings(
        self, request: provider_pb2.GetMappingsRequest, context: object
    ) -> provider_pb2.GetMappingsResponse:
        """Return no mappings from other tools."""
        return provider_pb2.GetMappingsResponse()


SHORTEST_SECRET: Final = 4
"""Characters. A shorter text would blot out half of every message."""

Context = grpc.aio.ServicerContext[Any, Any]


class Answering(grpc.aio.ServerInterceptor, ABC):
    """Stands between the engine and every call of a plugin.

    Args:
        plugin: its name in the message that reports a defect.
        log: the engine's log, for the traceback of a defect.
    """

    def __init__(self, plugin: str, log: EngineLog) -> None:
        self._plugin = plugin
        self._log = log

    @abstractmethod
    async def refuse(self, request: object, context: Context, error: Exception) -> None:
        """Abort the call when the error is one that the plugin raises on purpose; else do nothing."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Wrap the method of one call; a streaming one (none is implemented) passes as it is."""
        handler: Any = await continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        method = handler.unary_unary

        async def answer(request: Any, context: Context) -> Any:  # noqa: ANN401 - any message of the protocol
            try:
                return await method(request, context)
            except grpc.aio.AbortError:
                raise
            except NotImplementedError as error:
                await context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))
            except Exception as error:
                await self.refuse(request, context, error)
                await self._report_defect(request, context, error)
                raise AssertionError("abort raises") from error

        return grpc.unary_unary_rpc_method_handler(
            answer,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    async def _report_defect(self, request: object, context: Context, error: Exception) -> None:
        await self._log.debug(reported(request, "".join(traceback.format_exception(error))))
        text = f"defect in the simulated plugin {self._plugin}: {type(error).__name__}: {error}"
        await context.abort(grpc.StatusCode.INTERNAL, reported(request, text))


def reported(request: object, text: str) -> str:
    """Return the text without any secret of the request."""
    found: set[str] = set()
    for name in ("properties", "news", "olds", "old_inputs", "inputs", "args"):
        struct = getattr(request, name, None)
        if struct is not None:
            found |= secret_texts(decode(struct))
    return without_secrets(text, found)


def without_secrets(message: str, secrets: Iterable[str]) -> str:
    """Remove secret texts from a message: a server quotes the values that it rejects."""
    for text in sorted(secrets, key=len, reverse=True):
        if len(text) >= SHORTEST_SECRET:
            message = message.replace(text, "[secret]")
    return message
