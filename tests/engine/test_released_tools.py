"""A rehearsal on tools that came from a server with the projects' layout: no Go, the minor's own servers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.rehearsal.tools import releases
from dra_fleet.rehearsal.tools.cache import Cache
from tests.engine.rehearsed import PROJECT, Rehearsed
from tests.rehearsal.tools.release_server import ReleaseServer, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psutil

    from dra_fleet.rehearsal.tools import Toolset

pytestmark = [pytest.mark.engine, pytest.mark.full]

MINOR = "1.34"
CHART = "chart-sigs.k8s.io-dra-example-driver"
STACK = str(PROJECT / "examples" / f"floor-{MINOR}.yaml")


def publish(server: ReleaseServer, tools: Toolset) -> None:
    """Serve what was built here as the projects serve what they release."""
    host, scheduler = tools.language_host_dir, tools.schedulers[MINOR]
    servers = releases.kubernetes(MINOR)
    components = {
        name: f'#!/bin/sh\nCONTROLPLANE_GIT_VERSION={servers.version} exec {tools.controlplane} {name} "$@"\n'
        for name in releases.COMPONENTS
    }
    plugin = f'#!/bin/sh\nexec {tools.kubernetes_provider} "$@"\n'.encode()
    server.publish(
        servers,
        {
            **{name: text.encode() for name, text in components.items()},
            "kube-scheduler": scheduler.read_bytes(),
        },
    )
    etcd = f'#!/bin/sh\nexec {tools.controlplane} etcd "$@"\n'.encode()
    server.publish(releases.etcd(), {"etcd": etcd})
    server.publish(releases.helm(), {"helm": tools.helm.read_bytes()})
    server.publish(releases.kwok(), {"kwok": tools.kwok.read_bytes()})
    hosts = {item.name: item.read_bytes() for item in host.iterdir()}
    server.publish(releases.pulumi(), {"pulumi": tools.pulumi.read_bytes(), **hosts})
    server.publish(releases.kubernetes_provider(), {releases.PROVIDER: plugin})


def keep_charts(before: Cache, after: Cache) -> None:
    """Put the stack's chart where an earlier fetch leaves it: no registry of charts is reached here."""
    for entry in before.place("").glob(f"{CHART}-*"):
        if entry.is_dir():
            shutil.copytree(entry, after.place(entry.name))


@pytest.fixture
def downloaded(
    tools: Toolset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Rehearsed, ReleaseServer]]:
    """A machine without Go and without tools, beside a mirror."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    kept = [folder for folder in os.environ["PATH"].split(":") if not (Path(folder) / "go").exists()]
    monkeypatch.setenv("PATH", ":".join(kept))
    assert shutil.which("go") is None
    before = Cache.default()
    monkeypatch.setenv("DRA_FLEET_CACHE", str(tmp_path / "cache"))
    keep_charts(before, Cache.default())
    with serving() as server:
        publish(server, tools)
        monkeypatch.setenv("DRA_FLEET_TOOLS", server.url)
        found = Rehearsed(home=tmp_path / "home", files=tmp_path)
        yield found, server
        found.run("rehearse", "down", "--remove")


def test_a_rehearsal_runs_on_what_was_downloaded(downloaded: tuple[Rehearsed, ReleaseServer]) -> None:
    rehearsed, server = downloaded
    shown: dict[str, Any] = rehearsed.up(STACK)
    assert shown["kubernetes_provider"] == "published"
    assert not [note for note in shown["notes"] if "emulates" in note]
    assert shown["clusters"]["floor"]["kubernetes"] == releases.kubernetes(MINOR).version
    cache = str(Path(os.environ["DRA_FLEET_CACHE"]))
    running = {Path(item.cmdline()[0]).name: item.cmdline()[0] for item in rehearsed.started()}
    for name in ("kube-scheduler", "kwok"):
        assert running[name].startswith(cache)
    scheduler = only_scheduler(rehearsed)
    asked = list(server.asked)
    assert rehearsed.run("rehearse", "up", STACK, "--json").json["changes"] == 0
    assert only_scheduler(rehearsed) == scheduler
    assert server.asked == asked, "what is in the cache is not asked for again"
    output = rehearsed.ask("rehearse", "tools").out
    assert f"{releases.helm().version} as released at get.helm.sh" in output


def only_scheduler(rehearsed: Rehearsed) -> psutil.Process:
    [found] = [item for item in rehearsed.started() if Path(item.cmdline()[0]).name == "kube-scheduler"]
    return found
