"""Variations of a stack: what waits, what is rejected, what is replaced, and what survives a kill."""

import asyncio
import base64
import gzip
import json
import os
import signal
import time
from typing import Any

import psutil
import pytest

from dra_fleet.clusters.client import entries
from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.rehearsed import Rehearsed, Settings

pytestmark = pytest.mark.engine

DEADLINE_SECONDS = 600
RELEASE = "dra-driver-nvidia-gpu"
"""A driver's release and its namespace."""


@pytest.mark.full
def test_one_copy_more_than_devices_leaves_exactly_one_pod_pending(rehearsed: Rehearsed) -> None:
    rehearsed.up(rehearsed.stack_file(all_allocated))
    asyncio.run(add_copy(Home.at(rehearsed.home)))

    status = rehearsed.ask("rehearse", "status", str(rehearsed.stack_file()), "--json").json

    workloads = status["clusters"]["lab"]["workloads"]
    waiting = [pod["name"] for item in workloads.values() for pod in item["pods"] if not pod["devices"]]
    assert waiting == ["one-more"]
    assert workloads["infer"]["allocated"] == 28
    assert workloads["infer"]["reason"].startswith("no free device for request ")
    asyncio.run(remove_copy(Home.at(rehearsed.home)))


@pytest.mark.full
def test_a_stack_with_one_copy_too_many_stops_before_it_changes_anything(rehearsed: Rehearsed) -> None:
    rehearsed.up(rehearsed.stack_file(all_allocated))
    before = declared(rehearsed)

    def one_more(fleet: Settings) -> None:
        all_allocated(fleet)
        fleet["workloads"]["infer"]["copies"] += 1

    up = rehearsed.run("rehearse", "up", str(rehearsed.stack_file(one_more)))

    assert up.code == 1
    assert "never: infer: 29 x 1 devices are requested, and 28 can match" in up.err
    assert declared(rehearsed) == before


def all_allocated(fleet: Settings) -> None:
    """Hold every partition of the lab by a copy of one workload, which works in whatever order they come."""
    del fleet["workloads"]["infer-pair"]
    fleet["workloads"]["infer"]["copies"] = 28


def declared(rehearsed: Rehearsed) -> dict[str, Any]:
    """Return the resources in the state."""
    latest = json.loads(rehearsed.state("variation"))["checkpoint"]["latest"]
    return {item["urn"]: (item.get("id"), item.get("inputs")) for item in latest["resources"]}


async def add_copy(home: Home) -> None:
    """Copy a running pod of the workload `infer` by hand, and wait until the scheduler has looked at it."""
    async with connect(home, "lab") as api:
        infer = {"labelSelector": "dra-fleet/workload=infer"}
        model = (await api.list("v1", "Pod", "gpu-workloads", params=infer))["items"][0]
        spec = {key: model["spec"][key] for key in ("containers", "resourceClaims", "tolerations")}
        labels = {"dra-fleet/workload": "infer"}
        metadata = {"name": "one-more", "namespace": "gpu-workloads", "labels": labels}
        await api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            pod = await api.get("v1", "Pod", "one-more", "gpu-workloads")
            if any(item["reason"] == "Unschedulable" for item in entries(pod, "status", "conditions")):
                return
            await asyncio.sleep(0.2)
        pytest.fail("the scheduler never called the pod unschedulable")


async def remove_copy(home: Home) -> None:
    async with connect(home, "lab") as api:
        await api.delete("v1", "Pod", "one-more", "gpu-workloads")


def test_a_changed_template_previews_as_replacement_and_applies(rehearsed: Rehearsed) -> None:
    rehearsed.up(rehearsed.stack_file())

    def by_product(fleet: Settings) -> None:
        fleet["claims"]["single-gpu"]["requests"]["gpu"]["class"] = "gpu.nvidia.com"

    file = rehearsed.stack_file(by_product)
    project = rehearsed.home / "projects" / "dra-fleet" / "variation"
    (project / "Pulumi.variation.yaml").write_text(file.read_text())
    preview = rehearsed.shell("pulumi preview --stack variation --json", project)
    up = rehearsed.run("rehearse", "up", str(file), "--json")

    assert preview.code == 0, preview.out + preview.err
    steps: list[dict[str, Any]] = json.loads(preview.out)["steps"]
    changed = {
        step["op"] for step in steps if "ResourceClaimTemplate::" in step["urn"] and step["op"] != "same"
    }
    assert changed == {"replace"}
    assert up.code == 0, up.err
    assert up.json["all_allocated"] is True


@pytest.mark.full
def test_a_wrong_stack_file_shows_every_error_and_changes_nothing(rehearsed: Rehearsed) -> None:
    rehearsed.up(rehearsed.stack_file())
    before = rehearsed.state("variation")

    def wrong(fleet: Settings) -> None:
        fleet["clusters"]["lab"]["pools"]["h100"]["machin"] = "hgx"
        fleet["kubernetes"] = 1.36

    file = rehearsed.stack_file(wrong)
    project = rehearsed.home / "projects" / "dra-fleet" / "variation"
    (project / "Pulumi.variation.yaml").write_text(file.read_text())
    preview = rehearsed.shell("pulumi preview --stack variation --color never", project)
    up = rehearsed.run("rehearse", "up", str(file))

    shown = preview.out + preview.err
    assert preview.code == 1
    assert "dra-fleet:fleet.clusters.lab.pools.h100.machin" in shown
    assert "dra-fleet:fleet.kubernetes" in shown
    assert "Traceback" not in shown
    assert "kubernetes:" not in shown.split("Diagnostics:")[0].replace("dra-fleet:", "")
    assert up.code == 1
    assert "dra-fleet:fleet.clusters.lab.pools.h100.machin" in up.err
    assert "Traceback" not in up.err
    assert rehearsed.state("variation") == before


@pytest.mark.full
def test_a_killed_run_is_taken_up_again(own_rehearsed: Rehearsed) -> None:
    stack = str(own_rehearsed.stack_file())
    started = own_rehearsed.start("rehearse", "up", stack)
    events = own_rehearsed.home / "engine.jsonl"
    own_rehearsed.until(
        started,
        "a resource is being created",
        lambda: events.exists() and '"op":"create"' in events.read_text(),
    )
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()

    again = own_rehearsed.run("rehearse", "up", stack, "--json")

    assert again.code == 0, again.err
    assert again.json["all_allocated"] is True


def interrupt_upgrade(rehearsed: Rehearsed, release: str) -> None:
    """Leave the release as a kill in the midst of an upgrade does: its latest revision is pending-upgrade.

    helm writes that record before it touches anything: https://github.com/helm/helm/blob/v4.0.0/pkg/action/upgrade.go
    """
    _record(rehearsed, release, "pending-upgrade", revisions=1)


def interrupt_uninstallation(rehearsed: Rehearsed, release: str) -> None:
    """Leave the release as helm does when it loses the connection while it uninstalls."""
    _record(rehearsed, release, "uninstalling", revisions=0)


def _record(rehearsed: Rehearsed, release: str, status: str, *, revisions: int) -> None:
    """Write a status into the latest record of a release, or into a later one."""

    async def leave() -> None:
        async with connect(Home.at(rehearsed.home), "lab") as api:
            listed = await api.list("v1", "Secret", params={"labelSelector": f"owner=helm,name={release}"})
            record = max(listed["items"], key=lambda item: int(item["metadata"]["labels"]["version"]))
            meta, version = record["metadata"], int(record["metadata"]["labels"]["version"]) + revisions
            stored = json.loads(
                gzip.decompress(base64.b64decode(base64.b64decode(record["data"]["release"])))
            )
            stored["version"], stored["info"]["status"] = version, status
            packed = base64.b64encode(gzip.compress(json.dumps(stored).encode()))
            labels = {**meta["labels"], "version": str(version), "status": status}
            await (api.create if revisions else api.replace)(
                {
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "type": record["type"],
                    "metadata": {
                        "name": f"sh.helm.release.v1.{release}.v{version}",
                        "namespace": meta["namespace"],
                        "labels": labels,
                    },
                    "data": {"release": base64.b64encode(packed).decode()},
                }
            )

    asyncio.run(leave())


@pytest.mark.full
def test_a_run_that_was_killed_while_helm_worked_names_the_release_and_the_way_out(
    own_rehearsed: Rehearsed,
) -> None:
    stack = own_rehearsed.stack_file()
    own_rehearsed.up(stack)
    interrupt_upgrade(own_rehearsed, RELEASE)

    refused = own_rehearsed.run("rehearse", "up", str(stack))
    assert refused.code == 1
    assert f"cluster lab: release {RELEASE}/{RELEASE} (revision 2, pending-upgrade)" in refused.err
    assert f"`dra-fleet recover {stack}`" in refused.err

    shown = own_rehearsed.run("recover", str(stack), "--json").json
    assert shown["simulated"] is True
    assert shown["done"] is False
    assert [row["step"] for row in shown["steps"]] == [f"helm rollback {RELEASE} 1 --namespace {RELEASE}"]
    assert own_rehearsed.run("rehearse", "up", str(stack)).code == 1

    assert own_rehearsed.run("recover", str(stack), "--yes").code == 0
    assert own_rehearsed.run("recover", str(stack), "--json").json["steps"] == []
    assert own_rehearsed.up(stack)["all_allocated"] is True


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_run_that_stops_during_a_helm_install_converges(own_rehearsed: Rehearsed, number: int) -> None:
    stack = str(own_rehearsed.stack_file())
    started = own_rehearsed.start("rehearse", "up", stack)
    own_rehearsed.until(started, "Helm installs the release", lambda: own_rehearsed.is_changing("Release"))
    if number == signal.SIGKILL:
        engine: int = json.loads((own_rehearsed.home / "engine.session").read_text())["pid"]
        os.kill(engine, number)
    os.killpg(started.pid, number)
    assert started.wait() != 0

    assert own_rehearsed.run("recover", stack, "--yes").code == 0
    again = own_rehearsed.run("rehearse", "up", stack, "--json")

    assert again.code == 0, again.err
    assert again.json["all_allocated"] is True
    assert own_rehearsed.run("rehearse", "up", stack, "--json").json["changes"] == 0


@pytest.mark.full
def test_down_ends_what_a_killed_engine_left_behind(own_rehearsed: Rehearsed) -> None:
    stack = str(own_rehearsed.stack_file())
    started = own_rehearsed.start("rehearse", "up", stack)
    record = own_rehearsed.home / "engine.session"
    own_rehearsed.until(started, "the engine is recorded", record.exists)
    engine: int = json.loads(record.read_text())["pid"]
    own_rehearsed.until(started, "the engine has started its language host", lambda: len(session(engine)) > 1)
    os.kill(engine, signal.SIGKILL)
    os.killpg(started.pid, signal.SIGKILL)
    started.wait()

    assert own_rehearsed.run("rehearse", "down").code == 0

    assert own_rehearsed.processes() == []
    assert session(engine) == []


def session(leader: int) -> list[int]:
    """The processes of a session."""
    return [pid for pid in psutil.pids() if pid_session(pid) == leader]


def pid_session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return None
