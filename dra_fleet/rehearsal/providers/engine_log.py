"""Messages of a plugin to the engine, shown next to the resource they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import grpc.aio
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

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
