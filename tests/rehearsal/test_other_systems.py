# pyright: reportPrivateUsage=false

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dra_fleet.policy.gate import limits
from dra_fleet.rehearsal.agent.own import programs, sockets
from dra_fleet.rehearsal.providers import serving
from dra_fleet.rehearsal.simulator.processes import ProcessId, wait_gone


def test_the_end_of_another_s_child_is_noticed_without_its_descriptor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        process = ProcessId(pid=child.pid, created=psutil.Process(child.pid).create_time())

        async def ended() -> bool:
            waiting = asyncio.create_task(wait_gone(process))
            await asyncio.sleep(0)
            assert not waiting.done()
            assert child.stdin is not None
            child.stdin.close()
            await waiting
            return True

        assert asyncio.run(ended())


def test_a_provider_ends_with_an_engine_that_is_gone_already(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    no_parent = os.getpid()
    asyncio.run(serving._ended(no_parent))


@pytest.fixture
def no_namespaces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(programs, "WAYS", (("no-such-command", "--mount"),))
    programs._way.cache_clear()
    yield
    programs._way.cache_clear()


@pytest.mark.usefixtures("no_namespaces")
def test_without_mount_namespaces_a_driver_runs_as_it_is(tmp_path: Path) -> None:
    assert programs.with_mounts(["driver", "--flag"], {tmp_path: tmp_path}) == ("driver", "--flag")


def test_without_proc_a_socket_is_reached_by_its_own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "OPEN_FILES", Path("/no/such/folder"))
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = Path(folder) / "driver.sock"
        listening.bind(str(path))
        with sockets._reachable(path.with_name("x" * 200)) as reached:
            assert reached == path.with_name("x" * 200)
        with sockets._reachable(path) as reached:
            assert reached == path


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="minimal images have no ps")
def test_without_proc_a_session_is_found_by_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "_PROCESSES", Path("/no/such/folder"))
    with subprocess.Popen(["sleep", "60"], start_new_session=True, text=True) as leader:
        assert leader.pid in set(limits._members(leader.pid))
        limits.end_session(leader)
    assert leader.returncode is not None
