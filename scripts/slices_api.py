"""A Kubernetes API server for recording: etcd and the API server alone, without agents and controllers."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx2

from dra_fleet.clusters.client import ApiError, KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.components import Components, Layout
from dra_fleet.rehearsal.simulator.controlplane.kubeconfig import component_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.ports import LOOPBACK, free_port
from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
from dra_fleet.rehearsal.simulator.toolpaths import ToolPaths
from dra_fleet.rehearsal.tools import ensure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

    from dra_fleet.rehearsal.simulator.controlplane.components import Command

RESOURCE: Final = "resource.k8s.io/v1"
VERSION: Final = "v1.36.3"
WITHIN: Final = 120.0

Object = dict[str, Any]
_Answer = TypeVar("_Answer")


class SlicesApi:
    """An API server with the slices that drivers publish."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig

    def add_node(self, name: str) -> None:
        """Make a node that a driver may publish for."""
        self._ask(lambda api: api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))

    def whole(self, node: str, driver: str) -> list[Object] | None:
        """Return the specifications of a node's ResourceSlices once the driver's pool is complete."""
        listed = self._ask(
            lambda api: api.list(RESOURCE, "ResourceSlice", params={"fieldSelector": f"spec.nodeName={node}"})
        )
        specs: list[Object] = [item["spec"] for item in listed["items"]]
        mine = [one for one in specs if one.get("nodeName") == node and one["driver"] == driver]
        return mine if mine and len(mine) == mine[0]["pool"]["resourceSliceCount"] else None

    def is_ready(self) -> bool:
        """Return whether the API server answers."""
        try:
            return self._ask(lambda api: api.ready())
        except (ApiError, httpx2.TransportError):
            return False

    def _ask(self, question: Callable[[KubeApi], Coroutine[Any, Any, _Answer]]) -> _Answer:
        async def asked() -> _Answer:
            async with KubeApi.connect(read_kubeconfig(str(self.kubeconfig))) as api:
                return await question(api)

        return asyncio.run(asked())


@contextmanager
def slices_api() -> Generator[SlicesApi]:
    """Start an API server that ends with the context.

    Raises:
        TimeoutError: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="slices-") as folder:
        layout = Layout(directory=Path(folder))
        layout.pki.ensure()
        port = free_port()
        admin = component_kubeconfig(server=f"https://{LOOPBACK}:{port}", pki=layout.pki, user="admin")
        layout.kubeconfig("admin").write_text(admin, encoding="utf-8")
        version = FullVersion.parse(VERSION)
        components = Components(tools=ToolPaths.of(ensure()), layout=layout, version=version)
        with _running(components.etcd(), layout), _running(components.api_server(port), layout):
            api = SlicesApi(layout.kubeconfig("admin"))
            until = time.monotonic() + WITHIN
            while not api.is_ready():
                if time.monotonic() > until:
                    raise TimeoutError(f"the API server did not start within {WITHIN:.0f} s")
                time.sleep(0.2)
            yield api


@contextmanager
def _running(command: Command, layout: Layout) -> Generator[None]:
    process = subprocess.Popen(
        command.arguments,
        env=command.environment,
        cwd=layout.directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()
