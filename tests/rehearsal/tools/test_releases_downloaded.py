import threading
from collections.abc import Iterator

import pytest

from dra_fleet.rehearsal.tools import ToolsError, downloads, ensure, releases
from dra_fleet.rehearsal.tools.downloads import published_sha256
from dra_fleet.rehearsal.tools.releases import ReleasedTool
from dra_fleet.rehearsal.tools.sources import VARIABLE, Sources
from dra_fleet.rehearsal.tools.toolset import own_minor
from tests.rehearsal.tools.release_server import ReleaseServer, serving
from tests.rehearsal.tools.tool_workshop import Reported, Workshop

pytestmark = pytest.mark.slow

DIGEST = "0123456789abcdef" * 4
BIG = bytes(range(256)) * 4000


def all_releases() -> tuple[ReleasedTool, ...]:
    return (
        releases.kubernetes(own_minor()),
        releases.kubernetes("1.34"),
        releases.etcd(),
        releases.helm(),
        releases.kwok(),
        releases.pulumi(),
        releases.kubernetes_provider(),
    )


@pytest.fixture
def server(workshop: Workshop) -> Iterator[ReleaseServer]:
    """A mirror with every release; each program's content is its own name, helm's is large."""
    with serving() as served:
        for release in all_releases():
            names = [name for file in release.files for name in file.programs.values()]
            contents = {name: f"{name} {release.version}".encode() for name in names}
            served.publish(release, {**contents, "helm": BIG})
        workshop.monkeypatch.setenv(VARIABLE, served.url)
        workshop.monkeypatch.delenv("http_proxy", raising=False)
        workshop.monkeypatch.delenv("HTTP_PROXY", raising=False)
        yield served


HELM = releases.helm().files[0]


def nothing_is_kept_of(release: ReleasedTool, workshop: Workshop) -> bool:
    return not workshop.cache.place(release.entry).exists() and workshop.leftovers() == []


def test_every_tool_is_had_without_go_and_asked_for_once(server: ReleaseServer) -> None:
    output = Reported()
    tools = ensure(output, minors=["1.34", own_minor()])
    assert tools.controlplane is None
    assert set(tools.planes) == {"1.34", own_minor()}
    for minor, plane in tools.planes.items():
        assert plane.version == releases.kubernetes(minor).version
        assert (plane.directory / "kube-scheduler").read_text() == f"kube-scheduler {plane.version}"
    assert tools.helm.read_bytes() == BIG
    assert tools.language_host_dir == tools.pulumi.parent
    assert (tools.language_host_dir / "pulumi-language-python-exec").stat().st_mode & 0o111
    assert (tools.notes, tools.emulated(["1.34"])) == ((), [])
    assert {name: said.split()[-1] for name, said in tools.origins.items()} == {
        "kubernetes-1.34": "dl.k8s.io",
        f"kubernetes-{own_minor()}": "dl.k8s.io",
        "etcd": "github.com",
        "helm": "get.helm.sh",
        "kwok": "github.com",
        "pulumi": "github.com",
        "kubernetes_provider": "github.com",
    }
    assert len(output.titles) == 1
    assert output.titles[0].startswith("Downloading Kubernetes 1.34 v1.34.")
    assert output.details[-1] == "MB 1/1"
    asked = len(server.asked)
    assert ensure(minors=["1.34", own_minor()]) == tools
    assert len(server.asked) == asked


def test_without_a_named_minor_earlier_minors_are_used(server: ReleaseServer) -> None:
    first = ensure(minors=["1.34"])
    asked = len(server.asked)
    assert ensure() == first
    assert set(first.planes) == {"1.34"}
    assert len(server.asked) == asked


def test_a_download_that_differs_is_deleted_and_the_run_ends(
    server: ReleaseServer, workshop: Workshop
) -> None:
    server.forge(HELM)
    with pytest.raises(ToolsError) as refused:
        ensure()
    said = str(refused.value)
    assert said.startswith(f"{server.address(HELM)} is not the published file: its sha256 is ")
    assert said.endswith("fix: try again, or build the tool: DRA_FLEET_TOOLS=build")
    assert nothing_is_kept_of(releases.helm(), workshop)


def test_transfer_that_breaks_off_leaves_nothing_and_the_next_run_repeats_it(
    server: ReleaseServer, workshop: Workshop
) -> None:
    server.cut(HELM)
    with pytest.raises(ToolsError) as refused:
        ensure()
    said = str(refused.value)
    assert said.startswith(
        f"the release of Helm {releases.helm().version} cannot be had: {server.address(HELM)}: "
    )
    assert said.endswith("DRA_FLEET_TOOLS=auto builds what cannot be downloaded")
    assert nothing_is_kept_of(releases.helm(), workshop)
    assert ensure().helm.read_bytes() == BIG


def test_stalled_transfer_times_out(server: ReleaseServer, workshop: Workshop) -> None:
    workshop.monkeypatch.setattr(downloads, "STALL_SECONDS", 0.3)
    server.stalls.clear()
    server.cut(HELM)
    output = Reported()
    refused = downloads.download([releases.helm()], workshop.cache, Sources.chosen(), output)
    assert refused == {releases.helm().entry: f"{server.address(HELM)}: timed out"}
    assert output.said == [f"1 of 1 could not be downloaded: {server.address(HELM)}: timed out"]
    assert nothing_is_kept_of(releases.helm(), workshop)


def test_an_interrupted_download_leaves_no_tool(server: ReleaseServer, workshop: Workshop) -> None:
    del server

    class Interrupted(Reported):
        def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
            del detail, done, total
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure(Interrupted())
    assert all(nothing_is_kept_of(release, workshop) for release in all_releases())
    assert ensure().helm.read_bytes() == BIG


def test_two_runs_at_once_download_once(server: ReleaseServer) -> None:
    found: list[object] = []
    runs = [threading.Thread(target=lambda: found.append(ensure())) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert found[0] == found[1]
    assert server.asked.count(HELM.name) == 1


@pytest.mark.parametrize("address", [HELM.address, HELM.checksum])
def test_a_file_or_a_checksum_that_is_not_there_is_named(server: ReleaseServer, address: str) -> None:
    server.remove(address)
    with pytest.raises(ToolsError) as refused:
        ensure()
    where = f"{server.url}/{address.removeprefix('https://')}"
    assert f"cannot be had: {where} answers 404 Not Found; DRA_FLEET_TOOLS=auto " in str(refused.value)


def test_proxies_are_asked_as_the_variables_say(server: ReleaseServer, workshop: Workshop) -> None:
    workshop.monkeypatch.setenv("http_proxy", server.url)
    workshop.monkeypatch.delenv("no_proxy", raising=False)
    workshop.monkeypatch.delenv("NO_PROXY", raising=False)
    workshop.monkeypatch.setenv(VARIABLE, "http://mirror.invalid")
    assert ensure().helm.read_bytes() == BIG


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DIGEST, DIGEST),
        (f"{DIGEST}\n", DIGEST),
        (f"{'f' * 64}  a.zip\n{DIGEST}  a.tar.gz\n", DIGEST),
        (f"{DIGEST} *./dist/a.tar.gz", DIGEST),
        (f'{{"assets": [{{"name": "a.tar.gz", "digest": "sha256:{DIGEST}"}}]}}', DIGEST),
        ('{"assets": [{"name": "a.tar.gz", "digest": null}]}', None),
        ('{"assets": []}', None),
        (f"{DIGEST}  b.tar.gz", None),
        ("<html>not found</html>", None),
        ("", None),
    ],
)
def test_a_checksum_is_read_in_every_form_it_is_published_in(text: str, found: str | None) -> None:
    assert published_sha256(text, "a.tar.gz") == found
