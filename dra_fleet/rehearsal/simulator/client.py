"""Start, call and stop the simulator of a home, also after a kill -9."""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import httpx2
from filelock import FileLock, Timeout
from msgspec import Struct

from dra_fleet.core.facts import own_file
from dra_fleet.core.places import ROOT
from dra_fleet.rehearsal.credentials.install import install_helpers
from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.simulator.controlplane.ending import end_components
from dra_fleet.rehearsal.simulator.controlplane.kubeconfig import merged_kubeconfig
from dra_fleet.rehearsal.simulator.errors import ALREADY_RUNNING, SimulatorError
from dra_fleet.rehearsal.simulator.files import last_lines, remove_tree, write_private
from dra_fleet.rehearsal.simulator.processes import ProcessId, stop_processes, wait_ended
from dra_fleet.rehearsal.simulator.store import Store
from dra_fleet.rehearsal.simulator.toolpaths import ToolPaths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.simulator.toolpaths import Tools


PACKAGES = ("dra_fleet",)
"""Packages that the simulator's process imports and reads."""

KINDS = frozenset({".py", ".tpl", ".yaml"})

START_WITHIN = 120.0
"""Seconds for the simulator to answer once started; it imports much, and many may start on few cores."""

END_WITHIN = 30.0
"""Seconds for a simulator to let go of its home."""

ANSWER_WITHIN = 300.0
"""Seconds for one request; creating a cluster on a busy machine is the longest."""

STOP_GRACE = 5.0

POLL = 0.05


class SimulatorUnreachableError(SimulatorError):
    """No simulator answers on this home."""


class SimulatorAnswerError(SimulatorError):
    """The simulator answered with an error; `status` is its HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class SimulatedState(Struct, frozen=True, kw_only=True):
    """A simulated cluster. `state` is ready, creating, degraded, failed or deleting."""

    name: str
    state: str
    server: str
    version: str


class SimulatorClient:
    """A connection to the simulator of a home. Use as a context manager or close it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        # Nothing on a Unix socket is verified, and reading the system's authorities takes 40 ms.
        transport = httpx2.HTTPTransport(uds=str(home.socket), verify=False)
        self._http = httpx2.Client(
            transport=transport, base_url="http://simulator", timeout=ANSWER_WITHIN, trust_env=False
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def alive(self) -> bool:
        """Return whether a simulator answers."""
        try:
            self.status()
        except SimulatorUnreachableError:
            return False
        return True

    def status(self) -> dict[str, Any]:
        """Return the simulator's process and every cluster with its components.

        Raises:
            SimulatorUnreachableError: no simulator answers.
        """
        return self._call("GET", "/v1/status")

    def create_cluster(self, name: str, *, version: str, hardware: Mapping[str, Any]) -> SimulatedState:
        """Make a cluster and wait until it is ready; the same call again changes nothing.

        Args:
            name: a DNS label.
            version: what its `/version` says, such as v1.36.3.
            hardware: the cluster's simulated hardware as plain data.

        Raises:
            RefusedError: the request is wrong, disagrees with what is there, or the cluster did not start.
            SimulatorUnreachableError: no simulator answers.
        """
        body: dict[str, Any] = {"version": version, "hardware": dict(hardware)}
        answer = self._call("PUT", f"/v1/clusters/{name}", body)
        return SimulatedState(
            name=answer["name"], state=answer["state"], server=answer["server"], version=answer["version"]
        )

    def cluster(self, name: str) -> dict[str, Any]:
        """Return one cluster with its components.

        Raises:
            RefusedError: there is none of that name (status 404).
        """
        return self._call("GET", f"/v1/clusters/{name}")

    def wait_ready(self, name: str) -> None:
        """Return once a cluster can be used; one that does not run is started.

        Raises:
            RefusedError: there is none of that name (status 404), or it does not start.
        """
        self._call("POST", f"/v1/clusters/{name}/ready")

    def token(self, name: str) -> str:
        """Return a fresh bearer token of the cluster's administrator, valid for an hour."""
        return str(self._call("POST", f"/v1/clusters/{name}/tokens")["token"])

    def configure_cloud(self, cloud: str, settings: Mapping[str, Any]) -> None:
        """Set a simulated cloud's limits.

        Raises:
            RefusedError: there is no such cloud, or the settings are not valid.
        """
        self._call("PUT", f"/v1/clouds/{cloud}/settings", settings)

    def start_ahead(self, cloud: str, name: str, minor: str) -> None:
        """Let the control plane start of a cluster that a program will ask a cloud for; returns at once.

        Until it has asked, there is no such cluster for anybody.

        Args:
            cloud: the simulated cloud.
            name: the cluster's in the program.
            minor: such as "1.36".
        """
        self._call("POST", f"/v1/clouds/{cloud}/ahead", {"name": name, "minor": minor})

    def drop_ahead(self) -> None:
        """Remove the control planes that were started ahead and that no program has asked for."""
        self._call("DELETE", "/v1/ahead")

    def renew_schedulers(self) -> None:
        """Let every running cluster's scheduler be the one that the home's tools name now."""
        self._call("POST", "/v1/schedulers")

    def shutdown(self, *, remove: bool = False) -> None:
        """Stop all clusters and the simulator; with `remove` delete the clusters and their data too."""
        self._call("POST", "/v1/shutdown", {"remove": remove})

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        try:
            response = self._http.request(method, path, json=body)
        except httpx2.TransportError as error:
            raise SimulatorUnreachableError(
                f"no simulator answers on {self._home.socket} ({error}); "
                "start it with `dra-fleet rehearse up`"
            ) from error
        answer = cast("dict[str, Any]", response.json())
        if response.is_error:
            raise SimulatorAnswerError(response.status_code, str(answer["error"]))
        return answer


def ensure_running(home: Home, tools: Tools) -> None:
    """Start the simulator of this home unless it runs. Two callers at once start one simulator.

    A simulator that runs code of before an update is ended and started again; its control planes go on.

    Raises:
        SimulatorError: it does not start; the message ends with its last words.
        HomeUnusableError: the home cannot be used.
    """
    home.create()
    ToolPaths.of(tools).write(home)
    install_helpers(home)
    with SimulatorClient(home) as client, tempfile.NamedTemporaryFile() as words:
        running = _recorded_simulator(home)  # read first: another caller may replace it in the meantime
        if client.alive():
            if client.status().get("code") == code_digest():
                client.renew_schedulers()
                return
            stop_processes(running, grace=STOP_GRACE)
        simulator = _spawn(home, words.fileno())
        deadline = time.monotonic() + START_WITHIN
        while not client.alive():
            code = simulator.poll()
            if code not in (None, ALREADY_RUNNING) or time.monotonic() > deadline:
                raise SimulatorError(_why_not_started(home, code, Path(words.name)))
            time.sleep(POLL)
        if client.status()["pid"] != simulator.pid:
            # Another caller's simulator was first. This one must not outlive this call and take over after a
            # stop.
            simulator.terminate()
            simulator.wait()


def _spawn(home: Home, words: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, "-m", "dra_fleet.rehearsal.simulator", "--home", str(home.root)),
        stdin=subprocess.DEVNULL,
        stdout=words,
        stderr=words,
        cwd=ROOT,
        env=passed_on(),
        start_new_session=True,
    )


def _why_not_started(home: Home, code: int | None, words: Path) -> str:
    how = "did not answer in time" if code in (None, ALREADY_RUNNING) else f"ended with exit code {code}"
    return (
        f"the rehearsal's simulator {how}; its last words:\n{last_lines(words)}\n"
        f"and its log {home.log} ends:\n{last_lines(home.log)}"
    )


def stop(home: Home, *, remove: bool = False) -> None:
    """Stop all clusters and the simulator of a home; with `remove` delete the clusters' data too.

    Works also where the simulator was killed. Only processes that the simulator recorded are touched.

    Raises:
        SimulatorError: the simulator neither answers nor ends.
    """
    if not home.lock.exists():
        return
    simulator = _recorded_simulator(home)
    try:
        with SimulatorClient(home) as client:
            client.shutdown(remove=remove)
        wait_ended(simulator, timeout=STOP_GRACE)
    except SimulatorError:
        # It was killed, hangs, is only starting, or cannot write.
        stop_processes(simulator, grace=STOP_GRACE)
    _clean_up(home, remove=remove)


def _recorded_simulator(home: Home) -> list[ProcessId]:
    recorded = ProcessId.read(home.pid_file)
    return [recorded] if recorded else []


def _clean_up(home: Home, *, remove: bool) -> None:
    try:
        with FileLock(home.lock, timeout=END_WITHIN, mode=0o600):  # free once no simulator lives
            _stop_recorded(home, remove=remove)
            home.socket.unlink(missing_ok=True)
            home.pid_file.unlink(missing_ok=True)
            if home.socket.parent != home.root:
                home.socket.parent.rmdir()
    except Timeout:
        raise SimulatorError(f"the simulator of {home.root} does not end; its log is {home.log}") from None


def _stop_recorded(home: Home, *, remove: bool) -> None:
    if not home.database.exists():
        return
    try:
        with Store(home.database) as store:
            end_components(store.processes())
            if remove:
                _remove_clusters(home, store)
    except sqlite3.DatabaseError as error:
        raise SimulatorError(
            f"{home.database} cannot be used ({error}), so what still runs of this rehearsal is not known; "
            f"end the processes that work in {home.clusters} yourself and delete {home.root}"
        ) from error


def _remove_clusters(home: Home, store: Store) -> None:
    for cluster in store.clusters():
        remove_tree(home.clusters / cluster.name)
        store.remove(cluster.name)
    store.clear_clouds()
    write_private(home.kubeconfig, merged_kubeconfig({}))


def code_digest(project: Path = ROOT) -> str:
    """Return a digest of all files that the simulator's process uses.

    Places, names, sizes, modification times.

    Of a custom catalogue, its content: a simulator with another one is replaced.
    """
    digest = hashlib.sha256(str(project).encode())
    catalogue = own_file()
    if catalogue is not None and catalogue.is_file():
        digest.update(catalogue.read_bytes())
    for package in PACKAGES:
        for path in sorted((project / package).rglob("*")):
            if path.suffix in KINDS:
                status = path.stat()
                digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
