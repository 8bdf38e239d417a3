"""Waiting for workloads, and what is kept of one that does not become ready, with the real engine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.engine_support import SimulatedCluster
    from tests.rehearsal.providers.tiny_project import TinyProject

pytestmark = pytest.mark.engine


@pytest.fixture
def dead_node(cluster: SimulatedCluster, unique: str) -> Iterator[str]:
    """A node nobody runs pods on; only pods that tolerate its taint go there. Yields the taint's key."""
    key = f"{unique}.example.com/dead"
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"dead-{unique}", "labels": {key: "true"}},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"}]},
    }

    async def make() -> None:
        async with cluster.admin() as api:
            await api.create(node)

    async def remove() -> None:
        async with cluster.admin() as api:
            await api.delete("v1", "Node", f"dead-{unique}")

    asyncio.run(make())
    yield key
    asyncio.run(remove())


def daemon_set(key: str, selected: str) -> dict[str, Any]:
    labels = {"app": key.partition(".")[0]}
    pod = {
        "nodeSelector": {key: selected},
        "tolerations": [{"key": key, "operator": "Exists"}],
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "main", "image": "example.com/none:1"}],
    }
    template = {"metadata": {"labels": labels}, "spec": pod}
    return {
        "metadata": {"namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "template": template},
    }


def test_a_daemon_set_that_is_never_ready_stays_in_the_state_and_its_cure_is_an_update(
    project: TinyProject, dead_node: str
) -> None:
    project.declare(
        "agent", "apps/v1:DaemonSet", daemon_set(dead_node, "true"), custom_timeouts={"create": "3s"}
    )
    failed = project.up()
    assert failed.code != 0
    assert "exists on the cluster but did not become ready: not ready after 3 s: 0 of 1 pods are ready" in (
        failed.output
    )
    state = project.state("agent")
    assert state["id"] == f"default/{state['outputs']['metadata']['name']}"
    assert "not ready after 3 s" in state["initErrors"][0]

    nowhere = daemon_set(dead_node, "false")
    project.declare("agent", "apps/v1:DaemonSet", nowhere)
    cured = project.up()
    assert cured.code == 0, cured.output
    assert cured.count("updated") == 1
    assert project.state("agent")["id"] == state["id"]
    assert project.destroy().code == 0


def test_an_annotation_turns_waiting_off(project: TinyProject, dead_node: str) -> None:
    properties = daemon_set(dead_node, "true")
    properties["metadata"]["annotations"] = {"pulumi.com/skipAwait": "true"}
    project.declare("agent", "apps/v1:DaemonSet", properties)
    run = project.up()
    assert run.code == 0, run.output
    assert project.refresh().code == 0


def test_a_job_is_awaited_and_its_failure_named(project: TinyProject, cluster: SimulatedCluster) -> None:
    del cluster
    job = {
        "metadata": {"namespace": "default"},
        "spec": {
            "activeDeadlineSeconds": 1,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "nodeSelector": {"example.com/nowhere": "true"},
                    "containers": [{"name": "main", "image": "example.com/none:1"}],
                }
            },
        },
    }
    project.declare("job", "batch/v1:Job", job)
    run = project.up()
    assert run.code != 0
    assert "the Job failed: DeadlineExceeded: Job was active longer than specified deadline" in run.output
    assert project.destroy().code == 0


def test_a_service_is_waited_for_until_it_finds_pods(project: TinyProject, cluster: SimulatedCluster) -> None:
    del cluster
    service = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    properties = {"metadata": {"namespace": "default"}, "spec": service}
    project.declare("web", "core/v1:Service", properties, custom_timeouts={"create": "2s"})
    run = project.up()
    assert run.code != 0
    assert "not ready after 2 s: Service does not target any Pods" in run.output
    assert project.destroy().code == 0
