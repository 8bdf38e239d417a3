"""A cluster of unlike machines with the NVIDIA driver's chart on it, and verbs for tests of the agent."""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.clusters.pending import WaitingReason, explain, read_state
from tests.engine_support import SimulatedCluster

T = TypeVar("T")

RESOURCE_API = "resource.k8s.io/v1"
POOL = "example.com/pool"
PRESENT = {"nvidia.com/gpu.present": "true"}
DRIVER = {"driverVersion": "580.126.9"}
GPUS = {"model": "A100-SXM4-40GB", "count": 2}
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}
GUARD = 300.0
"""Seconds after which a test gives up that follows events; no measure of anything."""


def machine(pool: str, labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """One machine of a pool that has its name."""
    return {"name": f"{pool}-0", "labels": {POOL: pool, **(labels or {})}, **more}


HARDWARE: dict[str, Any] = {
    "kubernetes": "v1.36.3",
    "sliceWipingSeconds": 2,
    "nodes": [
        machine("whole", PRESENT, gpus=GPUS, pcie={"gpusPerRoot": 1}, nvidia=DRIVER),
        machine("parts", PRESENT, gpus={**GPUS, "count": 1}, nvidia={**DRIVER, "mig": {"1g.5gb": 7}}),
        machine("unlabelled", gpus=GPUS, nvidia=DRIVER),
        machine("tainted", PRESENT, gpus=GPUS, nvidia=DRIVER, taints=[TAINT]),
        machine("operated", PRESENT, gpus=GPUS, nvidia={**DRIVER, "driverRoot": "/run/nvidia/driver"}),
        machine("stranded", PRESENT, gpus=GPUS, nvidia={**DRIVER, "migMode": True}),
        machine("plain"),
        machine("faulty", PRESENT, gpus=GPUS, nvidia=DRIVER),
    ],
}


@dataclass(frozen=True, kw_only=True)
class AgentCluster:
    """The cluster with verbs for tests; every claim and pod lives in a namespace of its test."""

    cluster: SimulatedCluster
    helm_binary: Path
    _numbers: Iterator[int] = field(default_factory=count)

    def run(self, work: Callable[[KubeApi], Awaitable[T]]) -> T:
        """Do something with an administrator's connection."""

        async def connected() -> T:
            async with self.cluster.admin() as api:
                return await work(api)

        return asyncio.run(connected())

    def helm(self, *arguments: str) -> str:
        """Run helm on the cluster."""
        command = [str(self.helm_binary), *arguments, "--kubeconfig", str(self.cluster.admin_kubeconfig)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def namespace(self) -> str:
        """A new namespace."""
        name = f"test-{next(self._numbers)}"
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.run(lambda api: api.create(body))
        return name

    def create(self, *bodies: Object) -> None:
        """Create objects."""
        for body in bodies:
            self.run(lambda api, body=body: api.create(body))

    def items(self, api_version: str, kind: str, namespace: str | None = None) -> list[Object]:
        """A collection's objects."""
        return self.run(lambda api: api.list(api_version, kind, namespace))["items"]

    def pod(self, namespace: str, name: str) -> Object | None:
        """One pod, or None."""
        return self.run(lambda api: api.find("v1", "Pod", name, namespace))

    def eventually(self, what: str, ask: Callable[[], T | None]) -> T:
        """Ask until the answer is true; its value."""
        end = time.monotonic() + GUARD
        while time.monotonic() < end:
            answer = ask()
            if answer:
                return answer
            time.sleep(0.2)
        raise AssertionError(f"{what}: not within {GUARD:.0f} s")

    def until(
        self,
        what: str,
        kind: tuple[str, str],
        holds: Callable[[list[Object]], T | None],
        namespace: str | None = None,
    ) -> T:
        """Follow a collection, event by event, until something is true of it; that value."""

        async def follow(api: KubeApi) -> T:
            while True:
                listed = await api.list(*kind, namespace)
                items = {item["metadata"]["uid"]: item for item in listed["items"]}
                if answer := holds(list(items.values())):
                    return answer
                version = listed["metadata"]["resourceVersion"]
                async for event, item in api.watch(*kind, namespace, resource_version=version):
                    items[item["metadata"]["uid"]] = item
                    if event == "DELETED":
                        del items[item["metadata"]["uid"]]
                    if answer := holds(list(items.values())):
                        return answer

        async def guarded(api: KubeApi) -> T:
            try:
                async with asyncio.timeout(GUARD):
                    return await follow(api)
            except TimeoutError:
                raise AssertionError(f"{what}: never, in {GUARD:.0f} s") from None

        return self.run(guarded)

    def reason(self, namespace: str, name: str) -> WaitingReason:
        """Return the reason why a pod waits."""

        async def ask(api: KubeApi) -> WaitingReason:
            state = await read_state(api)
            pod = state.named(state.pods, name, namespace)
            assert pod is not None
            return explain(state, pod)

        return self.run(ask)

    def is_running(self, namespace: str, name: str) -> bool:
        pod = self.pod(namespace, name)
        return pod is not None and pod["status"].get("phase") == "Running"


def template(namespace: str, name: str = "gpu", **request: Any) -> Object:
    """A ResourceClaimTemplate with one request; `devices` adds to the claim."""
    devices = request.pop("devices", {})
    body = {"deviceClassName": "gpu.nvidia.com", **request}
    return {
        "apiVersion": RESOURCE_API,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": {"devices": {"requests": [{"name": "gpu", "exactly": body}], **devices}}},
    }


def claiming_pod(namespace: str, name: str, pool: str, template_name: str = "gpu", **spec: Any) -> Object:
    """A pod with one claim that runs in one pool."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "nodeSelector": {POOL: pool},
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template_name}],
            "containers": [
                {"name": "main", "image": "registry.k8s.io/pause", "resources": {"claims": [{"name": "gpu"}]}}
            ],
            **spec,
        },
    }
