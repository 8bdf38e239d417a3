"""Simulated plugins are forked while a rehearsal has a fork server; otherwise they are separate processes."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from dra_fleet.rehearsal.providers import cloud_plugin, install
from dra_fleet.rehearsal.providers.forking import fork_server
from dra_fleet.rehearsal.providers.installing import SOCKET
from dra_fleet.rehearsal.providers.plugin_launcher import CUT_OFF

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="plugins are forked on Linux alone")
SOON = 60.0
"""Seconds; other work on the machine is not a failure."""


@pytest.fixture
def engine_home(tmp_path: Path) -> Path:
    """An engine's home with a simulated plugin, at a path that is too long for a socket's address."""
    home = tmp_path / ("a-long-name-" * 10)
    home.mkdir()
    install(home, Path(sys.executable), cloud_plugin("aks"))
    return home


@pytest.fixture
def server(engine_home: Path, tmp_path: Path) -> Generator[psutil.Process]:
    with fork_server(engine_home, tmp_path / "forks.log") as pid:
        yield psutil.Process(pid)


def started(engine_home: Path) -> subprocess.Popen[str]:
    """The plugin as an engine starts it, once it has said its port."""
    executable = next(engine_home.glob("plugins/*/pulumi-resource-*"))
    plugin = subprocess.Popen([executable], stdout=subprocess.PIPE, text=True)
    assert plugin.stdout is not None
    assert plugin.stdout.readline().strip().isdigit()
    return plugin


def wait_for_socket(engine_home: Path) -> None:
    """Return once the server listens; an earlier launcher starts without it."""
    deadline = time.monotonic() + SOON
    while not (engine_home / SOCKET).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_plugin_is_forked_and_ends_with_its_launcher(engine_home: Path, server: psutil.Process) -> None:
    wait_for_socket(engine_home)
    assert stat.S_IMODE((engine_home / SOCKET).stat().st_mode) == 0o600
    plugin = started(engine_home)
    (forked,) = server.children()
    plugin.kill()
    assert plugin.wait(SOON) == -signal.SIGKILL
    assert psutil.wait_procs([forked], timeout=SOON)[0] == [forked]


def test_a_launcher_ends_with_its_plugin(engine_home: Path, server: psutil.Process) -> None:
    wait_for_socket(engine_home)
    plugin = started(engine_home)
    (forked,) = server.children()
    forked.kill()
    assert plugin.wait(SOON) == CUT_OFF


def test_a_server_ends_with_the_rehearsal_that_keeps_it(engine_home: Path, tmp_path: Path) -> None:
    with fork_server(engine_home, tmp_path / "forks.log"):
        wait_for_socket(engine_home)
        plugin = started(engine_home)
        plugin.send_signal(signal.SIGINT)
        assert plugin.wait(SOON) == -signal.SIGINT
    assert not (engine_home / SOCKET).exists()
    assert (tmp_path / "forks.log").read_text() == ""


def test_a_plugin_of_another_checkout_is_not_forked(engine_home: Path, server: psutil.Process) -> None:
    wait_for_socket(engine_home)
    executable = next(engine_home.glob("plugins/*/pulumi-resource-*"))
    root = str(Path(__file__).resolve().parents[3])
    executable.write_text(executable.read_text().replace(f" {root} ", f" {root}/dra_fleet/.. "))
    plugin = started(engine_home)
    assert psutil.Process(plugin.pid).cmdline()[1:3] == ["-m", "dra_fleet.rehearsal.providers.clouds"]
    assert server.is_running()
    plugin.kill()
    assert plugin.wait(SOON) == -signal.SIGKILL


def test_a_plugin_that_imports_from_elsewhere_too_is_not_forked(
    engine_home: Path, server: psutil.Process, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wait_for_socket(engine_home)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    plugin = started(engine_home)
    assert psutil.Process(plugin.pid).cmdline()[1:3] == ["-m", "dra_fleet.rehearsal.providers.clouds"]
    assert server.is_running()
    plugin.kill()
    assert plugin.wait(SOON) == -signal.SIGKILL


def test_without_a_server_a_plugin_is_a_separate_process(engine_home: Path) -> None:
    plugin = started(engine_home)
    assert psutil.Process(plugin.pid).cmdline()[1:3] == ["-m", "dra_fleet.rehearsal.providers.clouds"]
    plugin.kill()
    assert plugin.wait(SOON) == -signal.SIGKILL
