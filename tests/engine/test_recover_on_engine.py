"""Recovery of a stack in any backend: locks, pending creations that happened, and those that did not."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.test_aks_situations import NAME, stack_file

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed, Settings

pytestmark = pytest.mark.engine

STACK = "variation"
POOL = "azure-native:containerservice:AgentPool"
JOB = "kubernetes:batch/v1:Job"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"


def small(fleet: Settings) -> None:
    """Keep one Job."""
    del fleet["clusters"]["lab"]["pools"]["a100"]
    fleet["classes"] = {}
    fleet["claims"] = {"gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}}
    fleet["workloads"] = {"train": {"cluster": "lab", "claim": "gpu", "copies": 1}}


def test_recover_removes_a_lock_imports_what_exists_and_forgets_what_does_not(
    own_rehearsed: Rehearsed,
) -> None:
    own_rehearsed.up(own_rehearsed.stack_file(small))
    project = own_rehearsed.home / "projects" / "dra-fleet" / STACK
    before = interrupt(own_rehearsed)

    refused = own_rehearsed.shell(
        f"pulumi up --yes --skip-preview --stack {STACK} --color never --non-interactive", project
    )
    assert refused.code != 0
    shown_error = " ".join((refused.out + refused.err).split())
    assert "pending: the creation of lab-train, the creation of lab-missing" in shown_error
    assert f"`dra-fleet recover {STACK} --yes`" in shown_error
    assert pending(own_rehearsed) == 2
    leave_lock(own_rehearsed)

    locked = own_rehearsed.shell(f"pulumi preview --stack {STACK} --color never --non-interactive", project)
    shown = own_rehearsed.shell(f"dra-fleet recover {STACK} --real --json", project)
    assert shown.code == 0, shown.err
    steps = {row["subject"]: row["step"] for row in shown.json["steps"]}
    assert steps["lock of an ended run"] == "remove it"
    assert steps["creating lab-train"].startswith("import gpu-workloads/lab-train-")
    assert steps["creating lab-missing"] == "forget the creation; nothing exists"
    assert shown.json["done"] is False
    assert locked.code == 0, "a preview needs no lock"
    assert pending(own_rehearsed) == 2

    done = own_rehearsed.shell(f"dra-fleet recover {STACK} --real --yes --json", project)
    assert done.code == 0, done.err
    assert done.json["done"] is True
    assert pending(own_rehearsed) == 0
    after = own_rehearsed.shell(
        f"pulumi preview --stack {STACK} --expect-no-changes --color never --non-interactive", project
    )
    assert after.code == 0, after.out + after.err
    assert {(item["urn"], item.get("id")) for item in latest(own_rehearsed)["resources"]} == before


@pytest.mark.full
def test_recover_imports_a_pool_that_the_cloud_has(own_rehearsed: Rehearsed) -> None:
    own_rehearsed.up(stack_file(own_rehearsed.files))
    pool = forget_pool(own_rehearsed)
    project = own_rehearsed.home / "projects" / "dra-fleet" / NAME

    done = own_rehearsed.shell(f"dra-fleet recover {NAME} --real --yes --json", project)

    assert done.code == 0, done.err
    steps = {row["subject"]: row["step"] for row in done.json["steps"]}
    assert steps == {f"creating {pool['urn'].rpartition('::')[2]}": f"import {pool['id']}, which exists"}
    assert pending(own_rehearsed, NAME) == 0
    found = [item["id"] for item in latest(own_rehearsed, NAME)["resources"] if item["urn"] == pool["urn"]]
    assert found == [pool["id"]]


def forget_pool(rehearsed: Rehearsed) -> dict[str, Any]:
    """Leave the state as a kill does during the creation of the pool; return the pool."""
    file = rehearsed.home / "backend" / ".pulumi" / "stacks" / "dra-fleet" / f"{NAME}.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    state = content["checkpoint"]["latest"]
    [pool] = [item for item in state["resources"] if item["type"] == POOL]
    gone = {pool["urn"]}
    for item in state["resources"]:
        known = {
            item.get("parent"),
            item.get("provider", "").rpartition("::")[0],
            *item.get("dependencies", ()),
        }
        if known & gone:
            gone.add(item["urn"])
    state["resources"] = [item for item in state["resources"] if item["urn"] not in gone]
    begun = {key: pool[key] for key in pool if key not in ("id", "outputs")}
    state["pending_operations"] = [{"type": "creating", "resource": begun}]
    file.write_text(json.dumps(content), encoding="utf-8")
    return pool


def latest(rehearsed: Rehearsed, stack: str = STACK) -> dict[str, Any]:
    return json.loads(rehearsed.state(stack))["checkpoint"]["latest"]


def pending(rehearsed: Rehearsed, stack: str = STACK) -> int:
    return len(latest(rehearsed, stack).get("pending_operations") or ())


def interrupt(rehearsed: Rehearsed) -> set[tuple[str, str | None]]:
    """Leave the state as a kill does during the creation of the Job and of a template; return the ids."""
    stacks = rehearsed.home / "backend" / ".pulumi"
    file = stacks / "stacks" / "dra-fleet" / f"{STACK}.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    state = content["checkpoint"]["latest"]
    before = {(item["urn"], item.get("id")) for item in state["resources"]}
    [job] = [item for item in state["resources"] if item["type"] == JOB]
    [template] = [item for item in state["resources"] if item["type"] == TEMPLATE]
    state["resources"].remove(job)
    missing = json.loads(json.dumps(template).replace("lab-gpu", "lab-missing"))
    missing["inputs"]["metadata"]["name"] = "missing"
    begun = [{key: item[key] for key in item if key not in ("id", "outputs")} for item in (job, missing)]
    state["pending_operations"] = [{"type": "creating", "resource": item} for item in begun]
    file.write_text(json.dumps(content), encoding="utf-8")
    return before


def leave_lock(rehearsed: Rehearsed) -> None:
    """Leave the lock of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    lock = (
        rehearsed.home / "backend" / ".pulumi" / "locks" / "organization" / "dra-fleet" / STACK / "0b1c.json"
    )
    lock.parent.mkdir(parents=True, exist_ok=True)
    holder = {"pid": ended.pid, "username": "x", "hostname": socket.gethostname()}
    lock.write_text(json.dumps({**holder, "timestamp": datetime.now(UTC).isoformat()}), encoding="utf-8")
