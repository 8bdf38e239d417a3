"""Faults at steps of a deployment: afterwards the same objects exist as after an undisturbed run.

Each case ends with the same comparison, object by object. `recover` runs if a message asks for it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from dra_fleet.rehearsal.access import connect
from tests.engine.rehearsed import Rehearsed
from tests.engine.test_changed_stacks import interrupt_upgrade
from tests.faults.fault_lab import DRIVER, STACK, WORKLOADS, FaultLab, Variant, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.rehearsal.tools import Toolset

pytestmark = pytest.mark.engine

SLOW_SECONDS: Final = 3.0
NOWHERE: Final = "http://127.0.0.1:9"
FORCE: Final = {"PULUMI_K8S_ENABLE_PATCH_FORCE": "true"}


@pytest.fixture(scope="module")
def lab(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLab]:
    """One rehearsal for all cases, with the results of undisturbed runs."""
    del tools
    root = tmp_path_factory.mktemp("faults")
    found = FaultLab(Rehearsed(home=root / "home", files=root))
    try:
        found.prepare()
        yield found
    finally:
        found.rehearsed.run("rehearse", "down", "--remove")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault: `inject` runs a step with it; `recover` is what a person does before the next run."""

    name: str
    inject: Callable[[FaultLab, Variant], None]
    recover: Callable[[FaultLab], None] | None = None
    variables: tuple[tuple[str, str], ...] = ()
    outcome: str = "recovered by the next run"


def _killed(name: str) -> Callable[[FaultLab, Variant], None]:
    """Return a fault that kills a process of the engine's session in the midst of a run."""

    def inject(lab: FaultLab, variant: Variant) -> None:
        started = lab.start(variant)
        lab.kill(name)
        assert ended(started) != 0

    return inject


def _engine_killed(lab: FaultLab, variant: Variant) -> None:
    started = lab.start(variant)
    lab.kill_engine()
    assert ended(started) != 0


def _command_killed(lab: FaultLab, variant: Variant) -> None:
    started = lab.start(variant)
    lab.kill_engine()
    os.killpg(started.pid, signal.SIGKILL)
    assert ended(started) == -signal.SIGKILL


def _component_killed(name: str) -> Callable[[FaultLab, Variant], None]:
    """Return a fault that kills a part of the simulator or of the control plane in the midst of a run."""

    def inject(lab: FaultLab, variant: Variant) -> None:
        started = lab.start(variant)
        lab.component(name).kill()
        ended(started)  # a component that restarts in time is not noticed

    return inject


def _api_server_slow(lab: FaultLab, variant: Variant) -> None:
    started = lab.start(variant)
    server = lab.component("kube-apiserver")
    server.suspend()
    time.sleep(SLOW_SECONDS)
    server.resume()
    assert ended(started) == 0


def _failing_with(*objects: dict[str, Any], text: str) -> Callable[[FaultLab, Variant], None]:
    """Return a fault by objects that make the API server refuse; they are removed after the run."""

    def inject(lab: FaultLab, variant: Variant) -> None:
        asyncio.run(_create(lab, objects))
        done = lab.up_by_hand(variant)
        asyncio.run(_delete(lab, objects))
        assert done.code != 0
        assert text in done.out + done.err

    return inject


async def _create(lab: FaultLab, objects: tuple[dict[str, Any], ...]) -> None:
    async with connect(lab.home, "lab") as api:
        for item in objects:
            await api.create(item)
    await asyncio.sleep(1)  # the API server reads configurations of admission and fairness from a cache


async def _delete(lab: FaultLab, objects: tuple[dict[str, Any], ...]) -> None:
    async with connect(lab.home, "lab") as api:
        for item in objects:
            meta = item["metadata"]
            await api.delete(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace"))
    await asyncio.sleep(1)


def _with_variables(text: str, **variables: str) -> Callable[[FaultLab, Variant], None]:
    """Return a fault by variables of the engine."""

    def inject(lab: FaultLab, variant: Variant) -> None:
        done = lab.up_by_hand(variant, **variables)
        assert done.code != 0
        assert text in done.out + done.err

    return inject


def _credentials_expired(lab: FaultLab, variant: Variant) -> None:
    helper = lab.rehearsed.files / "expired" / "dra-fleet-token"
    helper.parent.mkdir(exist_ok=True)
    credential = (
        '{"apiVersion": "client.authentication.k8s.io/v1beta1", "kind": "ExecCredential", '
        '"status": {"token": "expired", "expirationTimestamp": "2020-01-01T00:00:00Z"}}'
    )
    helper.write_text(f"#!/bin/sh\necho '{credential}'\n", encoding="utf-8")
    helper.chmod(0o700)
    done = lab.shell_up_with_path(variant, helper.parent)
    assert done.code != 0
    assert "Unauthorized" in done.out + done.err or "provide credentials" in done.out + done.err


def _foreign_writer(lab: FaultLab, variant: Variant) -> None:
    async def write() -> None:
        async with connect(lab.home, "lab") as api:
            found = await api.get("resource.k8s.io/v1", "DeviceClass", "large")
            found["spec"]["selectors"] = [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]
            await api.replace(found)

    asyncio.run(write())
    done = lab.up_by_hand(variant)
    assert done.code != 0
    assert "field conflict" in done.out + done.err


def _release_pending(lab: FaultLab, variant: Variant) -> None:
    interrupt_upgrade(lab.rehearsed, DRIVER)
    refused = lab.rehearsed.run("rehearse", "up", str(lab.file(variant)))
    assert refused.code == 1
    assert "dra-fleet recover" in refused.err


def _run_recover(lab: FaultLab) -> None:
    assert lab.rehearsed.run("recover", str(lab.rehearsed.files / f"{STACK}.yaml"), "--yes").code == 0


WEBHOOK: Final[dict[str, Any]] = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "unreachable"},
    "webhooks": [
        {
            "name": "unreachable.example.com",
            "clientConfig": {"url": "https://127.0.0.1:9/validate"},
            "rules": [
                {
                    "apiGroups": ["resource.k8s.io", "batch"],
                    "apiVersions": ["*"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["deviceclasses", "resourceclaimtemplates", "jobs"],
                }
            ],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}
"""Nothing answers at its address, so that the API server answers writes of these kinds with 500."""
QUOTA: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "no-templates", "namespace": WORKLOADS},
    "spec": {"hard": {"count/resourceclaimtemplates.resource.k8s.io": "0", "count/jobs.batch": "0"}},
}

PROGRAMS: Final = (
    Fault(name="engine killed", inject=_engine_killed),
    Fault(name="Kubernetes provider killed", inject=_killed("pulumi-resource-kubernetes")),
    Fault(name="simulator killed", inject=_component_killed("dra_fleet.rehearsal.simulator")),
    Fault(name="API server killed", inject=_component_killed("kube-apiserver")),
    Fault(name="API server stops for 3 s", inject=_api_server_slow),
)
"""Faults of programs."""
OF_CONTROL_PLANE: Final = tuple(
    Fault(name=f"{name} killed", inject=_component_killed(name))
    for name in ("etcd", "kube-scheduler", "kube-controller-manager", "kwok")
)
PROGRAM: Final = Fault(name="program killed", inject=_killed("pulumi-language-python-exec"))
COMMAND: Final = Fault(name="engine and command killed", inject=_command_killed)
OF_UPDATES: Final = (
    PROGRAM,
    Fault(name="API server answers 500", inject=_failing_with(WEBHOOK, text="failed calling webhook")),
    Fault(name="quota of the namespace used up", inject=_failing_with(QUOTA, text="exceeded quota")),
    Fault(
        name="another client changed a class",
        inject=_foreign_writer,
        variables=tuple(FORCE.items()),
        outcome="recovered by a run with the variable that drift prints",
    ),
    Fault(
        name="Helm release pending",
        inject=_release_pending,
        recover=_run_recover,
        outcome="recovered by recover and the next run",
    ),
    Fault(
        name="chart repository down",
        inject=_with_variables("connection refused", HTTPS_PROXY=NOWHERE, https_proxy=NOWHERE),
    ),
    Fault(name="credentials expired", inject=_credentials_expired),
)
MORE: Final = (*OF_CONTROL_PLANE, COMMAND)
"""Faults that only `make faults` and `make test-full` inject."""


@pytest.mark.parametrize("fault", [*PROGRAMS, *OF_UPDATES], ids=lambda fault: fault.name.replace(" ", "-"))
def test_an_update_with_a_fault_ends_like_an_undisturbed_one(
    lab: FaultLab, fault: Fault, fault_outcome: Callable[[str, str, str], None]
) -> None:
    check(lab, fault, fault_outcome)


@pytest.mark.full
@pytest.mark.parametrize("fault", MORE, ids=lambda fault: fault.name.replace(" ", "-"))
def test_an_update_with_another_fault_ends_like_an_undisturbed_one(
    lab: FaultLab, fault: Fault, fault_outcome: Callable[[str, str, str], None]
) -> None:
    check(lab, fault, fault_outcome)


def check(lab: FaultLab, fault: Fault, record: Callable[[str, str, str], None]) -> None:
    """Inject a fault, recover, run again, and compare every object with an undisturbed run."""
    record(fault.name, "update", "failed")
    if lab.variant is None:  # a case before this one failed
        lab.deploy("a")
    before, lab.variant = lab.variant, None
    variant: Variant = "b" if before == "a" else "a"
    lab.printed.clear()

    fault.inject(lab, variant)
    if fault.recover:
        fault.recover(lab)
    lab.deploy(variant, **dict(fault.variables))

    assert lab.snapshot() == lab.undisturbed[variant]
    assert [process.pid for process in lab.engine_processes()] == []
    assert lab.secrets_in_logs() == []
    record(fault.name, "update", fault.outcome)
