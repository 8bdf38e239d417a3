"""A proxy on the loopback that leads the charts' hosts to the rehearsal's registry and tunnels all others.

Go's HTTP clients, so helm, the Kubernetes provider and Argo CD, use the proxy of `HTTPS_PROXY` and trust the
authorities of `SSL_CERT_FILE`: https://pkg.go.dev/net/http#ProxyFromEnvironment,
https://pkg.go.dev/crypto/x509#SystemCertPool (on macOS the second does not apply).
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import ssl
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    from collections.abc import Callable

ANSWER_SECONDS: Final = 10.0
"""Seconds for a host outside to accept a connection."""
HEAD_SECONDS: Final = 30.0
"""Seconds for a client to send its CONNECT request."""
HTTPS: Final = 443
_OK: Final = "200"
_CHUNK: Final = 1 << 16

logger = logging.getLogger(__name__)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class UnreachableError(OSError):
    """A host outside does not answer; the message says which and why."""


def outer_proxy(host: str) -> str | None:
    """Return the proxy that this user's own environment names for a host."""
    return None if proxy_bypass(host) else getproxies().get("https")


class Proxy:
    """Return the proxy.

    Args:
        serves: whether the registry serves a host.
        port: the registry's port on the loopback, where TLS is terminated.
    """

    def __init__(self, serves: Callable[[str], bool], port: int) -> None:
        self._serves = serves
        self._port = port
        self._open: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen."""
        self._server = await asyncio.start_server(self._accept, host, port)

    async def stop(self) -> None:
        """End with all connections."""
        if self._server:
            self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        try:
            await self._connect(reader, writer)
        except asyncio.CancelledError:
            logger.info("a connection through the proxy ended with the proxy")
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError) as error:
            logger.info("a connection through the proxy ended: %s", error)
        finally:
            writer.close()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), HEAD_SECONDS)
        method, target, *_ = [*head.decode("latin-1").split(" ", 2), "", ""]
        host, _, port = target.rpartition(":")
        if method != "CONNECT" or not port.isdigit():
            await _answer(writer, "405 The rehearsal's proxy only supports CONNECT to HOST:PORT")
            return
        try:
            outside = await self._reach(host.strip("[]"), int(port))
        except UnreachableError as error:
            await _answer(writer, f"502 {error}")
            return
        await _answer(writer, "200 Connection established")
        try:
            await _both_ways((reader, writer), outside)
        finally:
            outside[1].close()

    async def _reach(self, host: str, port: int) -> Streams:
        if port == HTTPS and self._serves(host):
            return await asyncio.open_connection("127.0.0.1", self._port)
        try:
            return await asyncio.wait_for(_outside(host, port), ANSWER_SECONDS)
        except TimeoutError:
            raise UnreachableError(f"{host}:{port} does not answer within {ANSWER_SECONDS:g} s") from None
        except UnreachableError:
            raise
        except OSError as error:
            raise UnreachableError(f"{host}:{port} cannot be reached: {error.strerror or error}") from error


async def _outside(host: str, port: int) -> Streams:
    """Return a connection to a host outside, through this user's own proxy where one is set."""
    proxy = outer_proxy(host)
    if proxy is None:
        return await asyncio.open_connection(host, port)
    url = urlsplit(proxy if "//" in proxy else f"http://{proxy}")
    secure = ssl.create_default_context() if url.scheme == "https" else None
    reader, writer = await asyncio.open_connection(
        url.hostname, url.port or (HTTPS if secure else 80), ssl=secure
    )
    lines = [f"CONNECT {host}:{port} HTTP/1.1", f"Host: {host}:{port}"]
    if url.username:
        user = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(user).decode()}")
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()
    status = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").splitlines()[0]
    if status.split(" ")[1:2] != [_OK]:
        writer.close()
        raise UnreachableError(f"{host}:{port} cannot be reached: the proxy {url.hostname} answers {status}")
    return reader, writer


async def _answer(writer: asyncio.StreamWriter, status: str) -> None:
    """Answer a CONNECT request. Clients print the status line alone, so it has to say everything."""
    line = " ".join(status.split())
    writer.write(f"HTTP/1.1 {line}\r\n\r\n".encode("latin-1", "replace"))
    await writer.drain()


async def _both_ways(one: Streams, other: Streams) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_copy(one[0], other[1]))
        group.create_task(_copy(other[0], one[1]))


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # either end may be gone
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
