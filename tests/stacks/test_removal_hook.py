import asyncio
from typing import Any, Self
from unittest.mock import Mock

import psutil
import pulumi
import pytest
from msgspec.structs import replace

from dra_fleet.clusters.client import KubeApi
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.model.plan import FleetPlan
from stacks import removal
from tests.engine.rehearsed import PROJECT


@pytest.fixture
def plan() -> FleetPlan:
    return make_plan(parse(read_fleet(PROJECT / "examples" / "gke-fallback.yaml")))


def test_the_hook_does_not_wait_for_the_kubeconfig_of_a_cluster_that_is_being_replaced(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "KUBECONFIG_SECONDS", 0.01)
    monkeypatch.setattr(pulumi, "ResourceHook", Mock())  # it registers with the engine
    warnings: list[str] = []
    monkeypatch.setattr(pulumi.log, "warn", warnings.append)
    [cluster] = plan.clusters
    [release] = cluster.releases

    async def delete() -> None:
        never = asyncio.get_running_loop().create_future()
        hook = removal.Removal()
        hook.reach(plan, {cluster.name: pulumi.Output.from_input(never)})
        await hook.wait(deletion(f"{cluster.name}-{release.name}", release.chart))
        never.cancel()

    asyncio.run(asyncio.wait_for(delete(), timeout=30))
    assert len(warnings) == 1
    assert "its kubeconfig is unknown while the cluster is created or replaced" in warnings[0]


def test_a_release_of_a_cluster_that_another_one_follows_is_deleted_without_a_look_at_that_one(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulumi, "ResourceHook", Mock())
    connect = Mock()
    monkeypatch.setattr(KubeApi, "connect", connect)
    warn = Mock()
    monkeypatch.setattr(pulumi.log, "warn", warn)
    [cluster] = plan.clusters
    [release] = cluster.releases
    old = deletion(f"{cluster.name}-{release.name}", release.chart)
    new = pulumi.ResourceHookArgs(old.urn, old.id, old.name, old.type, new_inputs=old.old_inputs)

    async def run() -> None:
        hook = removal.Removal()
        hook.reach(plan, {cluster.name: pulumi.Output.from_input("of the new cluster")})
        hook.remember(new)
        await hook.wait(old)

    asyncio.run(run())

    connect.assert_not_called()
    assert warn.call_args.args[0].endswith(f"cluster {cluster.name} is another one now")


def deletion(name: str, chart: str) -> pulumi.ResourceHookArgs:
    return pulumi.ResourceHookArgs(
        urn=f"urn:pulumi:dev::x::kubernetes:helm.sh/v3:Release::{name}",
        id="x",
        name=name,
        type="kubernetes:helm.sh/v3:Release",
        old_inputs={"chart": chart},
    )


class Cluster:
    """A cluster whose Jobs all have the same number of unfinished pods."""

    def __init__(self, active: int) -> None:
        self.active = active

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...

    async def find(self, version: str, kind: str, name: str, namespace: str) -> dict[str, Any]:
        assert (version, kind, name, namespace) == ("batch/v1", "Job", "render-1a2b", "gpu-workloads")
        return {"status": {"active": self.active} if self.active else {}}


def replaced(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch, *, active: int, workload: str = "render"
) -> None:
    """Run the hook before the deletion of a Job."""
    monkeypatch.setattr(pulumi, "ResourceHook", Mock())
    monkeypatch.setattr(KubeApi, "connect", Mock(return_value=Cluster(active)))
    monkeypatch.setattr("dra_fleet.clusters.credentials.read_kubeconfig", Mock())
    [cluster] = plan.clusters
    args = pulumi.ResourceHookArgs(
        urn=f"urn:pulumi:dev::x::kubernetes:batch/v1:Job::{cluster.name}-{workload}",
        id="x",
        name=f"{cluster.name}-{workload}",
        type="kubernetes:batch/v1:Job",
        old_outputs={"metadata": {"name": "render-1a2b"}},
    )

    async def run() -> None:
        hook = removal.Removal()
        hook.reach(plan, {cluster.name: pulumi.Output.from_input("of the cluster")})
        await hook.keep_running(args)

    asyncio.run(run())


def test_a_job_with_unfinished_pods_is_not_replaced(plan: FleetPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(removal.JobRunsError) as refused:
        replaced(plan, monkeypatch, active=3)
    assert str(refused.value).startswith("workload render in cluster render has 3 unfinished pods")
    assert "workloads.render.accept: {replacement: the reason}" in str(refused.value)


def test_a_finished_job_is_replaced(plan: FleetPlan, monkeypatch: pytest.MonkeyPatch) -> None:
    replaced(plan, monkeypatch, active=0)


def test_a_job_is_replaced_if_the_stack_file_accepts_it(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    [cluster] = plan.clusters
    workloads = tuple(replace(item, accept={"replacement": "a test run"}) for item in cluster.workloads)
    accepted = replace(plan, clusters=(replace(cluster, workloads=workloads),))
    replaced(accepted, monkeypatch, active=3)


def test_a_job_that_the_stack_file_no_longer_has_is_deleted(
    plan: FleetPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced(plan, monkeypatch, active=3, workload="gone")


@pytest.mark.parametrize("error", ["AccessDenied", "NoSuchProcess"])
def test_a_run_whose_engine_cannot_be_read_is_no_destroy(monkeypatch: pytest.MonkeyPatch, error: str) -> None:

    def hidden(_process: psutil.Process) -> list[psutil.Process]:
        raise getattr(psutil, error)(1)

    monkeypatch.setattr(psutil.Process, "parents", hidden)
    assert removal.is_destroy() is False


def test_an_ancestor_of_the_engine_that_cannot_be_read_hides_no_destroy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Mock(**{"cmdline.return_value": ["/usr/bin/pulumi", "destroy", "--run-program"]})
    hidden = Mock(**{"cmdline.side_effect": psutil.AccessDenied(1)})
    monkeypatch.setattr(psutil.Process, "parents", Mock(return_value=[engine, hidden]))
    assert removal.is_destroy() is True
