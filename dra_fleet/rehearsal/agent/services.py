"""How the API server reaches Services: it asks here for a connection, as real ones ask a network proxy.

Webhooks and aggregated APIs are reached so; no object is changed for it.
https://kubernetes.io/docs/tasks/extend-kubernetes/setup-konnectivity/ tells the protocol: HTTP CONNECT.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.agent.own.sockets import OPEN_FILES
from dra_fleet.rehearsal.world.controlplane.components import SERVICE_SOCKET
from dra_fleet.rehearsal.world.controlplane.ports import LOOPBACK

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object

CHUNK: Final = 65536
REFUSED: Final = b"HTTP/1.1 502 no pod serves there\r\n\r\n"
ACCEPTED: Final = b"HTTP/1.1 200 OK\r\n\r\n"


class ServiceNetwork:
    """Connects the API server to what runs behind the Services of one cluster.

    Args:
        admin: reads the Services.
        directory: the cluster's, in which the API server runs.
        serving: the port on the loopback that serves a port of a Service; None where no pod does.
    """

    def __init__(self, admin: KubeApi, directory: Path, serving: Callable[[Object, int], int | None]) -> None:
        self._admin = admin
        self._directory = directory
        self._serving = serving

    async def run(self) -> None:
        """Serve until cancelled."""
        path = self._directory / SERVICE_SOCKET
        path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(self._directory, os.O_RDONLY)
        try:
            # What a kernel takes for the path of a socket is short.
            short = OPEN_FILES / str(folder) / SERVICE_SOCKET if OPEN_FILES.is_dir() else path
            listening.bind(str(short))
        finally:
            os.close(folder)
        server = await asyncio.start_unix_server(self._connect, sock=listening)
        async with server:
            await server.serve_forever()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            address, _, port = head.split(b" ", 2)[1].decode().rpartition(":")
            reached = await self._reach(address, int(port))
            if reached is None:
                writer.write(REFUSED)
                await writer.drain()
                return
            inner_reader, inner_writer = await asyncio.open_connection(LOOPBACK, reached)
            writer.write(ACCEPTED)
            with contextlib.closing(inner_writer):
                await asyncio.gather(_pipe(reader, inner_writer), _pipe(inner_reader, writer))

    async def _reach(self, address: str, port: int) -> int | None:
        services: list[Object] = (await self._admin.list("v1", "Service"))["items"]
        found = next((item for item in services if item["spec"].get("clusterIP") == address), None)
        return None if found is None else self._serving(found, port)


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what one side says until it ends."""
    while data := await reader.read(CHUNK):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
