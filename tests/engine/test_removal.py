"""The removal of stacks: its order, pods that hold devices, protection, and a cluster that is gone."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine_support import delete_cluster

if TYPE_CHECKING:
    from tests.engine.rehearsed import Finished, Rehearsed, Settings

pytestmark = pytest.mark.engine

STACK: Final = "variation"
NAMESPACE: Final = "gpu-workloads"
USERS: Final = (
    "batch/v1:Job", "apps/v1:Deployment", ":ResourceClaimTemplate", ":ResourceClaim", ":ComputeDomain"
)  # fmt: skip
RELEASE: Final = "helm.sh/v3:Release"
DRIVERS: Final = ("-dra-driver-nvidia-gpu", "-dranet")


@dataclass(frozen=True, kw_only=True)
class Destroyed:
    """A destroy of the engine and the begin and end of each deletion, as lines of its log."""

    done: Finished
    began: dict[str, int]
    ended: dict[str, int]
    dependencies: dict[str, list[str]]

    def check_order(self) -> None:
        """Check that each resource is deleted before its dependencies, and drivers after all users."""
        for urn, dependencies in self.dependencies.items():
            assert [other for other in dependencies if self.began[other] < self.ended[urn]] == [], urn
        users = [urn for urn in self.ended if kind_of(urn).endswith(USERS)]
        drivers = [urn for urn in self.ended if kind_of(urn).endswith(RELEASE) and urn.endswith(DRIVERS)]
        assert users
        assert drivers
        assert max(self.ended[urn] for urn in users) < min(self.began[urn] for urn in drivers)


def kind_of(urn: str) -> str:
    return urn.split("::")[2]


def destroy(rehearsed: Rehearsed, stack: str, options: str = "--run-program") -> Destroyed:
    """Run `pulumi destroy` of a rehearsed stack in its copy of the project."""
    project, log = rehearsed.home / "projects" / "dra-fleet" / stack, rehearsed.files / "destroy.jsonl"
    log.unlink(missing_ok=True)
    latest = json.loads(rehearsed.state(stack))["checkpoint"]["latest"]["resources"]
    dependencies = {
        item["urn"]: item.get("dependencies", [])
        for item in latest
        if item.get("custom") and "kubernetes" in kind_of(item["urn"])
    }
    done = rehearsed.shell(
        f"PULUMI_DEBUG_COMMANDS=true pulumi destroy --yes --skip-preview --color never "
        f"--non-interactive --event-log {log} --stack {stack} {options}",
        project,
    )
    began: dict[str, int] = {}
    ended: dict[str, int] = {}
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for number, line in enumerate(lines):
        event: dict[str, Any] = json.loads(line)
        for key, found in (("resourcePreEvent", began), ("resOutputsEvent", ended)):
            step = event.get(key, {}).get("metadata", {})
            if step.get("op") == "delete":
                found[step["urn"]] = number
    return Destroyed(done=done, began=began, ended=ended, dependencies=dependencies)


def resources(rehearsed: Rehearsed, stack: str) -> list[str]:
    """Return the URNs in a stack's state."""
    latest = json.loads(rehearsed.state(stack))["checkpoint"]["latest"]
    return [item["urn"] for item in latest.get("resources") or ()]


def every_consumer(fleet: Settings) -> None:
    """Consume devices by Jobs, a Deployment, a shared claim and a queue."""
    del fleet["clusters"]["lab"]["pools"]["a100"]
    fleet["classes"] = {"large": {"driver": "nvidia", "type": "gpu", "memory": {"min": "20Gi"}}}
    request = {"requests": {"gpu": {"class": "large"}}}
    fleet["claims"] = {"gpu": request, "queued": request, "common": {**request, "shared": True}}
    fleet["queues"] = {
        "version": "0.19.0",
        "deviceClassMappings": {"gpus": ["large"]},
        "clusterQueues": {"batch": {"cluster": "lab", "nominalQuota": {"gpus": 2}}},
    }
    fleet["workloads"] = {
        "train": {"cluster": "lab", "claim": "gpu", "copies": 2},
        "serve": {"cluster": "lab", "claim": "gpu", "copies": 1, "kind": "Deployment"},
        "notebook": {"cluster": "lab", "claim": "common", "copies": 1},
        "sweep": {"cluster": "lab", "claim": "queued", "copies": 1, "queue": "batch"},
    }


def small(fleet: Settings) -> None:
    """Keep one Job."""
    del fleet["clusters"]["lab"]["pools"]["a100"]
    fleet["classes"] = {}
    fleet["claims"] = {"gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}}
    fleet["workloads"] = {"train": {"cluster": "lab", "claim": "gpu", "copies": 1}}


def test_pods_are_deleted_before_claims_and_claims_before_drivers(own_rehearsed: Rehearsed) -> None:
    own_rehearsed.up(own_rehearsed.stack_file(every_consumer))

    destroyed = destroy(own_rehearsed, STACK)

    assert destroyed.done.code == 0, destroyed.done.out + destroyed.done.err
    destroyed.check_order()
    assert resources(own_rehearsed, STACK) == []


@pytest.mark.full
def test_a_driver_stays_while_another_pod_has_its_device(own_rehearsed: Rehearsed) -> None:
    own_rehearsed.up(own_rehearsed.stack_file(small))
    asyncio.run(run_pod(Home.at(own_rehearsed.home)))

    refused = destroy(own_rehearsed, STACK)

    shown = " ".join((refused.done.out + refused.done.err).split())
    assert refused.done.code != 0
    assert "pods in cluster lab still use devices of " in shown
    assert "default/foreign; without their driver they cannot end" in shown
    assert "Traceback" not in shown, shown
    assert [urn for urn in resources(own_rehearsed, STACK) if kind_of(urn).endswith(RELEASE)]

    asyncio.run(delete_pod(Home.at(own_rehearsed.home)))
    again = destroy(own_rehearsed, STACK)
    assert again.done.code == 0, again.done.out + again.done.err
    assert resources(own_rehearsed, STACK) == []


@pytest.mark.full
def test_a_wrong_stack_file_blocks_no_destroy(own_rehearsed: Rehearsed) -> None:
    own_rehearsed.up(own_rehearsed.stack_file(small))
    plain = destroy(own_rehearsed, STACK, options="")
    assert plain.done.code != 0
    assert "--run-program" in plain.done.out + plain.done.err

    def wrong(fleet: Settings) -> None:
        small(fleet)
        fleet["workloads"]["train"]["copies"] = 99

    file = own_rehearsed.home / "projects" / "dra-fleet" / STACK / f"Pulumi.{STACK}.yaml"
    file.write_text(own_rehearsed.stack_file(wrong).read_text())
    destroyed = destroy(own_rehearsed, STACK)

    assert destroyed.done.code == 0, destroyed.done.out + destroyed.done.err
    assert "the destroy continues although the stack file is wrong" in destroyed.done.out
    destroyed.check_order()
    assert resources(own_rehearsed, STACK) == []


@pytest.mark.full
def test_nothing_in_a_protected_cluster_is_deleted(own_rehearsed: Rehearsed) -> None:
    def protected(fleet: Settings) -> None:
        small(fleet)
        fleet["environment"] = "production"

    own_rehearsed.up(own_rehearsed.stack_file(protected))
    before = resources(own_rehearsed, STACK)

    refused = destroy(own_rehearsed, STACK)

    assert refused.done.code != 0
    assert "Protection::lab" in refused.done.out
    assert refused.ended == {}
    assert sorted(resources(own_rehearsed, STACK)) == sorted(before)

    project = own_rehearsed.home / "projects" / "dra-fleet" / STACK
    unprotected = own_rehearsed.stack_file(small).read_text()
    (project / f"Pulumi.{STACK}.yaml").write_text(unprotected)
    assert own_rehearsed.shell(f"pulumi state unprotect --all --yes --stack {STACK}", project).code == 0
    destroyed = destroy(own_rehearsed, STACK)
    assert destroyed.done.code == 0, destroyed.done.out + destroyed.done.err
    destroyed.check_order()


@pytest.mark.full
def test_a_stack_whose_cluster_is_gone_can_be_removed(own_rehearsed: Rehearsed) -> None:
    own_rehearsed.up(own_rehearsed.stack_file(small))
    delete_cluster(Home.at(own_rehearsed.home), "lab").raise_for_status()

    refused = destroy(own_rehearsed, STACK)
    assert refused.done.code != 0
    assert "PULUMI_K8S_DELETE_UNREACHABLE" in refused.done.out + refused.done.err

    project = own_rehearsed.home / "projects" / "dra-fleet" / STACK
    [provider] = [urn for urn in resources(own_rehearsed, STACK) if "pulumi:providers:kubernetes" in urn]
    forgotten = own_rehearsed.shell(
        f"pulumi state delete '{provider}' --target-dependents --force --yes --stack {STACK}", project
    )
    assert forgotten.code == 0, forgotten.out + forgotten.err
    removed = destroy(own_rehearsed, STACK)
    assert removed.done.code == 0, removed.done.out + removed.done.err
    assert resources(own_rehearsed, STACK) == []


async def run_pod(home: Home) -> None:
    """Run a pod that no stack declares, with a device."""
    async with connect(home, "lab") as api:
        model = (await api.list("v1", "Pod", NAMESPACE))["items"][0]
        spec = {key: model["spec"][key] for key in ("containers", "tolerations")}
        claim = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}
        await api.create(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": "foreign", "namespace": "default"},
                "spec": claim,
            }
        )
        name = spec["containers"][0]["resources"]["claims"][0]["name"]
        spec["resourceClaims"] = [{"name": name, "resourceClaimName": "foreign"}]
        metadata = {"name": "foreign", "namespace": "default"}
        await api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        for _ in range(120):
            pod = await api.get("v1", "Pod", "foreign", "default")
            if pod["status"].get("phase") == "Running":
                return
            await asyncio.sleep(0.5)
        pytest.fail("the pod never ran")


async def delete_pod(home: Home) -> None:
    async with connect(home, "lab") as api:
        await api.delete("v1", "Pod", "foreign", "default")
        await api.delete("resource.k8s.io/v1", "ResourceClaim", "foreign", "default")
        for _ in range(120):
            if await api.find("v1", "Pod", "foreign", "default") is None:
                return
            await asyncio.sleep(0.5)
        pytest.fail("the pod never ended")


@pytest.mark.full
def test_a_running_job_in_production_is_replaced_only_if_the_stack_file_accepts_it(
    own_rehearsed: Rehearsed,
) -> None:
    def changed(fleet: Settings) -> None:
        fleet["environment"] = "production"
        for workload in fleet["workloads"].values():
            workload["image"] = "registry.k8s.io/pause:3.9"

    def accepted(fleet: Settings) -> None:
        changed(fleet)
        for name, workload in fleet["workloads"].items():
            workload["accept"] = {"replacement": f"{name} is a test"}

    def production(fleet: Settings) -> None:
        fleet["environment"] = "production"

    assert own_rehearsed.up(own_rehearsed.stack_file(production))["all_allocated"] is True
    refused = own_rehearsed.run("rehearse", "up", str(own_rehearsed.stack_file(changed)))
    assert refused.code == 1
    assert "unfinished pods, and this change replaces the Job" in refused.err
    assert own_rehearsed.up(own_rehearsed.stack_file(accepted))["all_allocated"] is True
