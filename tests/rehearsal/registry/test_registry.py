"""The registry: charts under their real addresses, published ones first, and what it answers without them.

The network outside is an imitation too: a proxy that leads every host to one server of the test.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import os
import ssl
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import yaml
from aiohttp import web

from dra_fleet.rehearsal.environment import network
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.passed_on import OUTSIDE, outside
from dra_fleet.rehearsal.registry import archives, charts
from dra_fleet.rehearsal.registry.archives import pack, packed
from dra_fleet.rehearsal.registry.server import Proxy, Registry
from dra_fleet.rehearsal.simulator.controlplane.pki import LoopbackAuthority
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK, free_port

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine
    from pathlib import Path

    Get = Callable[[str], Coroutine[Any, Any, tuple[int, bytes]]]

CHART = "dra-driver-google-tpu"
OCI = "oci://registry.k8s.io/dra-driver-google/charts/dra-driver-google-tpu"
MANIFESTS = "https://registry.k8s.io/v2/dra-driver-google/charts/dra-driver-google-tpu/manifests"
REPOSITORY = "https://helm.ngc.nvidia.com/nvidia"
PUBLISHED = pack(CHART, "0.1.0", {"Chart.yaml": b"apiVersion: v2\n"}, "published")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """Return a home on a machine whose network reaches no host."""
    monkeypatch.setenv("HTTPS_PROXY", f"http://{LOOPBACK}:{free_port()}")
    monkeypatch.setenv("https_proxy", os.environ["HTTPS_PROXY"])
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    made = Home.at(tmp_path / "home")
    made.create()
    return made


@asynccontextmanager
async def internet(
    answer: Callable[[web.Request], web.Response], monkeypatch: pytest.MonkeyPatch, folder: Path
) -> AsyncGenerator[list[str]]:
    """Run a network outside whose every host gives these answers; yield what was requested."""
    asked: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        asked.append(f"{request.host}{request.path}")
        return answer(request)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", handle)
    authority, runner = LoopbackAuthority("outside"), web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, LOOPBACK, 0, ssl_context=authority.context_by_name()).start()
    proxy, port = Proxy(lambda _: True, runner.addresses[0][1]), free_port()
    await proxy.start(LOOPBACK, port)
    (folder / "outside.pem").write_bytes(authority.certificate)
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://{LOOPBACK}:{port}")
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "outside.pem"))
    yield asked
    await proxy.stop()
    await runner.cleanup()


@asynccontextmanager
async def registry(home: Home) -> AsyncGenerator[Get]:
    """Run a registry; yield a function that gets an address through its proxy."""
    served = Registry(home)
    await served.start()
    variables = network(home)
    trusted = ssl.create_default_context(cafile=variables["SSL_CERT_FILE"])
    async with aiohttp.ClientSession() as session:

        async def get(address: str) -> tuple[int, bytes]:
            proxy = variables["HTTPS_PROXY"]
            async with session.get(address, proxy=proxy, ssl=trusted) as answer:
                return answer.status, await answer.read()

        yield get
    await served.stop()


def refusal(body: bytes) -> str:
    return json.loads(body)["errors"][0]["message"]


async def archive_by_oci(get: Get, version: str) -> bytes:
    """Get the archive as clients of OCI registries get it: by the manifest of a tag, then by its digest."""
    status, body = await get(f"{MANIFESTS}/{version}")
    assert status == 200, body
    (layer,) = json.loads(body)["layers"]
    status, archive = await get(f"{MANIFESTS.removesuffix('manifests')}blobs/{layer['digest']}")
    assert (status, layer["size"]) == (200, len(archive))
    assert f"sha256:{hashlib.sha256(archive).hexdigest()}" == layer["digest"]
    return archive


def test_imitation_is_served_under_the_address_of_an_oci_chart(home: Home) -> None:
    async def run() -> None:
        async with registry(home) as get:
            own = packed(CHART, "0.1.0")
            assert own is not None
            assert await archive_by_oci(get, "0.1.0") == own.content
            _, tags = await get(f"{MANIFESTS.removesuffix('manifests')}tags/list")
            assert json.loads(tags)["tags"] == ["0.1.0", "0.2.0"]

    asyncio.run(run())
    assert charts.served(home) == {f"{CHART} 0.1.0": "imitated"}


def test_imitation_is_served_under_the_address_of_a_chart_repository(home: Home) -> None:
    async def run() -> None:
        async with registry(home) as get:
            _, index = await get(f"{REPOSITORY}/index.yaml")
            entries = yaml.safe_load(index)["entries"]
            assert {item["version"] for item in entries["gpu-operator"]} == {"v25.10.0", "v26.7.0"}
            url = next(item["urls"][0] for item in entries["gpu-operator"] if item["version"] == "v26.7.0")
            own = packed("gpu-operator", "v26.7.0")
            assert own is not None
            assert await get(f"{REPOSITORY}/{url}") == (200, own.content)

    asyncio.run(run())
    assert charts.served(home) == {"gpu-operator v26.7.0": "imitated"}


def test_unknown_version_is_refused_with_the_address_and_the_available_versions(home: Home) -> None:
    async def run() -> str:
        async with registry(home) as get:
            status, body = await get(f"{MANIFESTS}/9.9.9")
            assert status == 403
            return refusal(body)

    answer = asyncio.run(run())
    assert answer.startswith(f"chart {OCI} 9.9.9 is not available: registry.k8s.io cannot be reached (")
    assert answer.endswith("; available: 0.1.0, 0.2.0")


def test_unknown_chart_of_a_known_host_is_refused_with_its_address(home: Home) -> None:
    async def run() -> str:
        async with registry(home) as get:
            _, body = await get("https://registry.k8s.io/v2/others/charts/lanes/manifests/1.0.0")
            return refusal(body)

    answer = asyncio.run(run())
    address = "https://registry.k8s.io/v2/others/charts/lanes/manifests/1.0.0"
    assert answer.startswith(f"{address} is not available: registry.k8s.io cannot be reached (")


def test_host_without_charts_that_cannot_be_reached_is_named(home: Home) -> None:
    async def run() -> None:
        async with registry(home) as get:
            with pytest.raises(aiohttp.ClientHttpProxyError) as refused:
                await get("https://example.com/")
            assert refused.value.message.startswith("example.com:443 cannot be reached: ")

    asyncio.run(run())


def published(request: web.Request) -> web.Response:
    """Answer as a registry that has one chart and wants a token first, as ghcr.io does."""
    if request.host == "example.com":
        return web.Response(text="a page of another site")
    if request.headers.get("Authorization") != "Bearer token":
        return web.Response(
            status=401, headers={"WWW-Authenticate": 'Bearer realm="https://registry.k8s.io/t"'}
        )
    digest = f"sha256:{hashlib.sha256(PUBLISHED.content).hexdigest()}"
    layer = {"mediaType": "application/x", "digest": digest, "size": len(PUBLISHED.content)}
    if request.path.endswith("/manifests/0.1.0"):
        return web.json_response(
            {"layers": [layer]}, content_type="application/vnd.oci.image.manifest.v1+json"
        )
    return web.Response(body=PUBLISHED.content) if request.path.endswith(digest) else web.Response(status=404)


def test_published_chart_is_preferred_and_kept(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with internet(published, monkeypatch, tmp_path) as asked, registry(home) as get:
            assert (await get(f"{MANIFESTS}/0.1.0"))[0] == 401
            trusted = ssl.create_default_context(cafile=network(home)["SSL_CERT_FILE"])
            headers = {"Authorization": "Bearer token"}
            async with aiohttp.ClientSession(headers=headers) as session:

                async def with_token(address: str) -> tuple[int, bytes]:
                    proxy = network(home)["HTTPS_PROXY"]
                    async with session.get(address, proxy=proxy, ssl=trusted) as answer:
                        return answer.status, await answer.read()

                assert await archive_by_oci(with_token, "0.1.0") == PUBLISHED.content
            before = len(asked)
            assert await archive_by_oci(get, "0.1.0") == PUBLISHED.content
            assert len(asked) == before

    asyncio.run(run())
    assert charts.served(home) == {f"{CHART} 0.1.0": "published"}


def test_other_hosts_are_tunnelled(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with internet(published, monkeypatch, tmp_path), registry(home) as get:
            assert await get("https://example.com/") == (200, b"a page of another site")

    asyncio.run(run())


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<html>", id="a page"),
        pytest.param(gzip.compress(b"no tar", mtime=0), id="not a tar archive"),
        pytest.param(PUBLISHED.content[:-30], id="a cut archive"),
    ],
)
def test_broken_archive_is_refused(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    async def run() -> str:
        async with internet(lambda _: web.Response(body=body), monkeypatch, tmp_path), registry(home) as get:
            status, answer = await get(f"{REPOSITORY}/charts/gpu-operator-v26.7.0.tgz")
            assert status == 403
            return refusal(answer)

    address = f"{REPOSITORY}/charts/gpu-operator-v26.7.0.tgz"
    assert asyncio.run(run()).startswith(f"{address} is a broken archive: ")


def test_content_that_is_not_what_its_digest_says_is_refused(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = f"sha256:{'0' * 64}"

    async def run() -> str:
        async with internet(lambda _: web.Response(body=b"x"), monkeypatch, tmp_path), registry(home) as get:
            _, answer = await get(f"{MANIFESTS.removesuffix('manifests')}blobs/{digest}")
            return refusal(answer)

    assert asyncio.run(run()) == f"{OCI}@{digest} is broken: its content has another digest"


def test_module_that_cannot_be_fetched_is_named_with_the_chart(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    monkeypatch.setenv("DRA_FLEET_CACHE", str(tmp_path / "cache"))
    archives.packed.cache_clear()

    async def run() -> str:
        async with registry(home) as get:
            address = (
                "https://registry.k8s.io/v2/dra-driver-nvidia/charts/dra-driver-nvidia-gpu/manifests/0.5.0"
            )
            return refusal((await get(address))[1])

    answer = asyncio.run(run())
    archives.packed.cache_clear()
    assert answer.startswith(
        "chart oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu 0.5.0 is not available: "
        "Go module sigs.k8s.io/dra-driver-nvidia-gpu@v0.5.0 cannot be fetched: "
    )


def test_restarted_registry_keeps_its_port_and_renews_its_authority(home: Home) -> None:
    async def run() -> tuple[dict[str, str], bytes]:
        async with registry(home) as get:
            await get("https://registry.k8s.io/v2/")
        return network(home), home.authorities.read_bytes()

    first, second = asyncio.run(run()), asyncio.run(run())
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_authorities_are_those_of_the_caller_and_the_registry_s_own(home: Home) -> None:
    async def run() -> None:
        async with registry(home):
            pass

    asyncio.run(run())
    bundle = ssl.create_default_context(cafile=home.authorities)
    own = [item for item in bundle.get_ca_certs() if "rehearsal-registry" in str(item["subject"])]
    assert (len(own), home.authorities.stat().st_mode & 0o777) == (1, 0o600)
    assert len(bundle.get_ca_certs()) > 1


def test_variables_of_the_network_outside_come_back(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.proxy_port.write_text("4711")
    before = {name: os.environ.get(name) for name in ("HTTPS_PROXY", "SSL_CERT_FILE", "no_proxy")}
    for name, value in network(home).items():
        monkeypatch.setenv(name, value)
    assert os.environ["HTTPS_PROXY"] == f"http://{LOOPBACK}:4711"
    assert {name: outside().get(name) for name in before} == before
    assert OUTSIDE not in outside()
    assert network(home)[OUTSIDE] == os.environ[OUTSIDE]


@pytest.mark.engine
def test_helm_and_pip_work_through_the_proxy(home: Home, tmp_path: Path, tools: Any) -> None:
    async def run(*command: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *command, env={**os.environ, **network(home)}, cwd=tmp_path, stdout=-1, stderr=-2
        )
        answer, _ = await process.communicate()
        assert process.returncode == 0, answer.decode()
        return answer.decode()

    async def all_of_it() -> None:
        async with registry(home):
            chart = "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
            await run(str(tools.helm), "pull", chart, "--version", "0.5.0")
            await run(str(tools.helm), "pull", "gpu-operator", "--repo", REPOSITORY, "--version", "v26.7.0")
            await run(sys.executable, "-m", "pip", "--version")

    asyncio.run(all_of_it())
    assert {file.name for file in tmp_path.glob("*.tgz")} == {
        "dra-driver-nvidia-gpu-0.5.0.tgz",
        "gpu-operator-v26.7.0.tgz",
    }
    assert charts.served(home)["dra-driver-nvidia-gpu 0.5.0"] == "from its module"
