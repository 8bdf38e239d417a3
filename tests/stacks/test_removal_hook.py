"""The hook before the deletion of a driver's release, without an engine."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from unittest.mock import Mock

import psutil
import pulumi
import pytest

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from stacks import removal
from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from dra_fleet.model.plan import FleetPlan


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


def deletion(name: str, chart: str) -> pulumi.ResourceHookArgs:
    return pulumi.ResourceHookArgs(
        urn=f"urn:pulumi:dev::x::kubernetes:helm.sh/v3:Release::{name}",
        id="x",
        name=name,
        type="kubernetes:helm.sh/v3:Release",
        old_inputs={"chart": chart},
    )


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
