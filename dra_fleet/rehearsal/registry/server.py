"""Serve charts as OCI registries and chart repositories do, under the hosts that publish them.

The registry prefers the published chart, if the network allows it, and keeps it. Otherwise the registry
serves the chart of the driver's Go module, or an imitation. Protocols:
https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md,
https://helm.sh/docs/topics/chart_repository/.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import logging
import re
import ssl
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import yaml
from aiohttp import web
from msgspec import Struct

from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.registry import addresses, charts
from dra_fleet.rehearsal.registry.archives import Chart, ChartUnavailableError
from dra_fleet.rehearsal.reporting import refusal, remember_refusal
from dra_fleet.rehearsal.simulator.controlplane.pki import LoopbackAuthority
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK, keep_or_choose
from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.registry.addresses import Address


# A proxy on the loopback that leads the charts' hosts to the rehearsal's registry and tunnels all others.
#
# Go's HTTP clients, so helm, the Kubernetes provider and Argo CD, use the proxy of `HTTPS_PROXY` and trust
# the authorities of `SSL_CERT_FILE`: https://pkg.go.dev/net/http#ProxyFromEnvironment,
# https://pkg.go.dev/crypto/x509#SystemCertPool (on macOS the second does not apply).

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


_MANIFEST: Final = "application/vnd.oci.image.manifest.v1+json"

_CONFIG: Final = "application/vnd.cncf.helm.config.v1+json"

_ARCHIVE: Final = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

_BINARY: Final = "application/octet-stream"

_OCI_PATH: Final = re.compile(r"/v2/(?P<path>.+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[^/]+)")

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")

_NETWORK: Final = aiohttp.ClientTimeout(total=120.0, sock_connect=5.0, sock_read=20.0)

_SENT_ON: Final = ("Accept", "Authorization", "Range", "User-Agent")

_SENT_BACK: Final = ("Content-Type", "Docker-Content-Digest", "Link", "Location", "WWW-Authenticate")


class _Answer(Struct, frozen=True, kw_only=True):
    """Answer of an external host."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Registry:
    """The registry of one home and the proxy that leads to it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._authority = LoopbackAuthority("rehearsal-registry")
        self._blobs: dict[str, tuple[bytes, str]] = {}

    async def start(self) -> None:
        """Listen, and write the proxy's port and the authorities that clients have to trust."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, 0, ssl_context=self._authority.context_by_name())
        await site.start()
        trusted = ssl.create_default_context(cadata=charts.system_authorities().decode() or None)
        self._network = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trusted), timeout=_NETWORK, auto_decompress=False
        )
        self._proxy = Proxy(self._serves, self._runner.addresses[0][1])
        recorded = charts.proxy_port(self._home)
        port = keep_or_choose(recorded)
        await self._proxy.start(LOOPBACK, port)
        write_private(self._home.authorities, charts.system_authorities() + self._authority.certificate)
        write_private(self._home.proxy_port, str(port))

    async def stop(self) -> None:
        """End."""
        await self._proxy.stop()
        await self._runner.cleanup()
        await self._network.close()

    def _serves(self, host: str) -> bool:
        return any(address.host == host for address in addresses.all_of(self._home))

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except ChartUnavailableError as error:
            return _refused(request, str(error))

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        here = [one for one in addresses.all_of(self._home) if one.host == request.host]
        if request.path == "/v2/" and any(one.is_oci for one in here):
            return web.json_response({})
        if found := _OCI_PATH.fullmatch(request.path):
            chart = next((one for one in here if one.is_oci and one.path == found["path"]), None)
            if chart is not None:
                return await self._oci(request, chart, found["kind"], found["reference"])
        for one in here:
            if not one.is_oci and (path := f"/{one.path}/") and request.path.startswith(path):
                rest = request.path.removeprefix(path)
                if rest == "index.yaml":
                    return await self._index(request, one, here)
                if (found := _archive_of(one, rest)) is not None:
                    return await self._archive(request, one, found)
        answer = await self._outside(request)
        if answer is None:
            return _refused(request, f"{request.url} is not available: {self._why(request)}")
        return _relayed(request, answer)

    async def _oci(self, request: web.Request, chart: Address, kind: str, reference: str) -> web.Response:
        if kind == "tags":
            answer = await self._outside(request)
            if answer is not None and answer.status == HTTPStatus.OK:
                return _relayed(request, answer)
            return web.json_response({"name": chart.path, "tags": charts.versions(chart.chart, self._home)})
        if not _DIGEST.fullmatch(reference):
            manifest = await self._manifest(request, chart, reference)
            if isinstance(manifest, _Answer):
                return _relayed(request, manifest)
            reference = manifest
        return await self._blob(request, f"{chart}@{reference}", reference)

    async def _blob(self, request: web.Request, name: str, digest: str) -> web.Response:
        if kept := self._blobs.get(digest) or self._kept(digest):
            return _content(request, *kept)
        answer = await self._outside(request)
        if answer is None:
            return _refused(request, f"{name} is not available: {self._why(request)}")
        if answer.status == HTTPStatus.OK:
            self._keep(digest, answer, name)
        return _relayed(request, answer)

    async def _manifest(self, request: web.Request, chart: Address, tag: str) -> str | _Answer:
        """Return the digest of a version's manifest, or an answer that asks the client for credentials."""
        name = f"{chart}:{tag}"
        if (digest := self._kept_digest(name)) is not None:
            return digest
        answer = await self._outside(request)
        if answer is not None and answer.status == HTTPStatus.UNAUTHORIZED:
            return answer
        if answer is not None and answer.status == HTTPStatus.OK:
            digest = f"sha256:{hashlib.sha256(answer.body).hexdigest()}"
            self._keep(digest, answer, name)
            charts.record(self._home, chart.chart, tag, "published")
            return digest
        found = await self._local(request, chart, tag)
        config = json.dumps(found.metadata).encode()
        layers = [(_CONFIG, config), (_ARCHIVE, found.content)]
        config, *layers = [
            {"mediaType": kind, "digest": self._put(body, kind), "size": len(body)} for kind, body in layers
        ]
        manifest = {"schemaVersion": 2, "mediaType": _MANIFEST, "config": config, "layers": layers}
        return self._put(json.dumps(manifest).encode(), _MANIFEST)

    async def _index(self, request: web.Request, repository: Address, here: list[Address]) -> web.Response:
        answer = await self._outside(request)
        if answer is not None and answer.status == HTTPStatus.OK:
            return _relayed(request, answer)
        names = {one.chart for one in here if one.path == repository.path}
        entries: dict[str, list[dict[str, Any]]] = {name: [] for name in sorted(names)}
        for name, found in entries.items():
            for version in charts.versions(name, self._home):
                file = quote(f"{name}-{version}.tgz")
                found.append({"apiVersion": "v2", "name": name, "version": version, "urls": [file]})
        body = yaml.safe_dump({"apiVersion": "v1", "entries": entries}, sort_keys=False)
        return _content(request, body.encode(), "application/yaml")

    async def _archive(self, request: web.Request, chart: Address, version: str) -> web.Response:
        name = str(request.url)
        if (digest := self._kept_digest(name)) and (kept := self._kept(digest)):
            return _content(request, *kept)
        answer = await self._outside(request)
        if answer is not None and answer.status == HTTPStatus.OK:
            published = Chart(name=chart.chart, version=version, content=answer.body, origin="published")
            if problem := published.problem():
                raise ChartUnavailableError(f"{name} is a broken archive: {problem}")
            self._keep(f"sha256:{hashlib.sha256(answer.body).hexdigest()}", answer, name)
            charts.record(self._home, chart.chart, version, "published")
            return _relayed(request, answer)
        found = await self._local(request, chart, version)
        return _content(request, found.content, _BINARY)

    async def _local(self, request: web.Request, chart: Address, version: str) -> Chart:
        """Return the chart of a Go module, or an imitation.

        Raises:
            ChartUnavailableError: there is neither.
        """
        try:
            found = await asyncio.to_thread(charts.local, chart.chart, version, self._home)
        except RehearsalError as error:
            raise ChartUnavailableError(f"chart {chart} {version} is not available: {error}") from error
        if found is None:
            available = ", ".join(charts.versions(chart.chart, self._home)) or "none"
            raise ChartUnavailableError(
                f"chart {chart} {version} is not available: {self._why(request)}; available: {available}"
            )
        charts.record(self._home, chart.chart, version, found.origin)
        return found

    async def _outside(self, request: web.Request) -> _Answer | None:
        """Return the published answer, or None if the host cannot be reached; that is remembered."""
        memory = self._home.charts / "refused" / request.host
        if refusal(memory) is not None:
            return None
        headers = {name: request.headers[name] for name in _SENT_ON if name in request.headers}
        method = "GET" if request.method == "HEAD" else request.method
        try:
            async with self._network.request(
                method,
                request.url,
                headers={**headers, "Accept-Encoding": "identity"},
                data=await request.read(),
                proxy=outer_proxy(request.host),
            ) as answer:
                return _Answer(status=answer.status, headers=answer.headers, body=await answer.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            logger.info("%s: %s", request.host, reason)
            remember_refusal(memory, reason)
            return None

    def _why(self, request: web.Request) -> str:
        reason = refusal(self._home.charts / "refused" / request.host)
        if reason is None:
            return f"{request.host} does not have it"
        return f"{request.host} cannot be reached ({reason.strip()})"

    def _put(self, body: bytes, kind: str) -> str:
        digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
        self._blobs[digest] = body, kind
        return digest

    def _keep(self, digest: str, answer: _Answer, name: str) -> None:
        """Keep published content.

        Raises:
            ChartUnavailableError: it is not what its digest says.
        """
        if hashlib.sha256(answer.body).hexdigest() != digest.removeprefix("sha256:"):
            raise ChartUnavailableError(f"{name} is broken: its content has another digest")
        place = self._home.charts / "published"
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(place / digest.removeprefix("sha256:"), answer.body)
        entry = {"digest": digest, "type": answer.headers.get("Content-Type", _BINARY)}
        for key in (name, digest):
            write_private(place / f"{_key(key)}.json", json.dumps(entry))

    def _kept_digest(self, name: str) -> str | None:
        try:
            entry = (self._home.charts / "published" / f"{_key(name)}.json").read_text("utf-8")
        except FileNotFoundError:
            return None
        return str(json.loads(entry)["digest"])

    def _kept(self, digest: str) -> tuple[bytes, str] | None:
        place = self._home.charts / "published"
        try:
            entry = json.loads((place / f"{_key(digest)}.json").read_text("utf-8"))
            return (place / digest.removeprefix("sha256:")).read_bytes(), str(entry["type"])
        except FileNotFoundError:
            return None


def _key(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _archive_of(chart: Address, path: str) -> str | None:
    """Return the version of a chart whose archive is at a path of its repository; None for other files."""
    file = path.rpartition("/")[2]
    found = re.fullmatch(rf"{re.escape(chart.chart)}-(v?\d+\.\d+\.\d+.*)\.tgz", file)
    return found[1] if found else None


def _content(request: web.Request, body: bytes, kind: str) -> web.Response:
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    headers = {"Content-Type": kind, "Docker-Content-Digest": digest, "Content-Length": str(len(body))}
    return web.Response(body=None if request.method == "HEAD" else body, headers=headers)


def _relayed(request: web.Request, answer: _Answer) -> web.Response:
    headers = {name: answer.headers[name] for name in _SENT_BACK if name in answer.headers}
    headers["Content-Length"] = str(len(answer.body))
    body = None if request.method == "HEAD" else answer.body
    return web.Response(status=answer.status, body=body, headers=headers)


def _refused(request: web.Request, sentence: str) -> web.Response:
    """Return an error in the form of registries; clients do not print the text of a 404."""
    logger.warning("%s %s: %s", request.method, request.url, sentence)
    line = " ".join(sentence.split())
    body = {"errors": [{"code": "DENIED", "message": line}]}
    return web.json_response(body, status=HTTPStatus.FORBIDDEN, reason=line)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):  # either end may be gone
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
