"""The main job: the dev stack from its file to allocated devices, on the real engine and control plane."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.policy.pack import RULES
from dra_fleet.proof.supply.prediction import predict
from stacks.start import CALLS
from tests.engine.agreement import disagreements
from tests.engine.rehearsed import CANARY, PROJECT

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

PLAN = make_plan(read_stack_file(PROJECT / "Pulumi.dev.yaml").settings)


def git_status() -> str:
    return subprocess.run(
        ["git", "status", "--porcelain"], cwd=PROJECT, check=True, capture_output=True, text=True
    ).stdout


def counts(pools: dict[str, dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the nodes and devices of each pool of a cluster."""
    return {name: {"nodes": pool["nodes"], "devices": pool["devices"]} for name, pool in pools.items()}


def expected_pools(cluster: ClusterPlan) -> dict[str, dict[str, int]]:
    """Return the predicted devices of each pool at its least number of nodes."""
    return {
        group.pool: {"nodes": group.least, "devices": group.least * len(group.shape.devices)}
        for group in predict(cluster)
    }


def test_every_workload_of_the_dev_stack_holds_its_devices(rehearsed: Rehearsed) -> None:
    rehearsed.up()

    status = rehearsed.ask("rehearse", "status", "--json").json
    assert status["all_allocated"] is True
    assert set(status["clusters"]) == {cluster.name for cluster in PLAN.clusters}
    for cluster in PLAN.clusters:
        shown = status["clusters"][cluster.name]
        assert shown["kubernetes"].startswith(f"v{cluster.kubernetes}.")
        assert counts(shown["pools"]) == expected_pools(cluster)
        allocated = {name: item["allocated"] for name, item in shown["workloads"].items()}
        assert allocated == {item.name: item.copies for item in cluster.workloads}
        assert {item["reason"] for item in shown["workloads"].values()} == {None}
    assert disagreements(rehearsed.ask("prove", "dev", "--json").json, status["clusters"]) == []


def test_no_device_of_the_lab_is_in_use_twice(rehearsed: Rehearsed) -> None:
    rehearsed.up()
    lab = rehearsed.ask("rehearse", "status", "--json").json["clusters"]["lab"]
    devices = [
        (device["pool"], device["device"])
        for item in lab["workloads"].values()
        for pod in item["pods"]
        for device in pod["devices"]
    ]
    assert len(devices) == len(set(devices)) == 2 + 2 * 2 + 19 + 3 * 2


def test_eight_a100_of_the_studio_are_56_partitions_and_every_vgpu_is_one_device(
    rehearsed: Rehearsed,
) -> None:
    rehearsed.up()
    pools = rehearsed.ask("rehearse", "status", "--json").json["clusters"]["studio"]["pools"]
    assert counts(pools) == {
        "mig": {"nodes": 1, "devices": 56},
        **{name: {"nodes": 1, "devices": 1} for name in ("sixth", "third", "half")},
    }


def test_the_same_stack_a_second_time_changes_nothing(rehearsed: Rehearsed) -> None:
    rehearsed.up()

    second = rehearsed.run("rehearse", "up", "--json")

    assert second.code == 0, second.err
    assert second.json["changes"] == 0
    assert second.json["policy"]["rules"] == sorted(
        rule.name for rule in RULES if rule.standard != "disabled"
    )


@pytest.mark.full
def test_a_preview_typed_by_hand_shows_no_change_and_leaves_the_checkout_alone(rehearsed: Rehearsed) -> None:
    rehearsed.up()
    before = git_status()

    typed = rehearsed.shell("pulumi preview --stack dev --expect-no-changes --color never")

    assert typed.code == 0, typed.out + typed.err
    assert git_status() == before


def test_the_state_holds_no_credential_in_clear(rehearsed: Rehearsed) -> None:
    rehearsed.up()

    state = rehearsed.state("dev")

    for mark in (
        "PRIVATE KEY",
        "certificate-authority-data",
        "eyJhbGciOi",
        "client-key-data",
        "current-context",
    ):
        assert mark not in state


def test_the_state_says_where_each_resource_is_declared_and_little_of_how_it_came_to_that(
    rehearsed: Rehearsed,
) -> None:
    rehearsed.up()
    resources = json.loads(rehearsed.state("dev"))["checkpoint"]["latest"]["resources"]
    declared = [item for item in resources if not item["type"].startswith("pulumi:")]
    assert [item["urn"] for item in declared if not item["sourcePosition"].startswith("project:///")] == []
    assert max(len(item["stackTrace"]) for item in declared) < CALLS


@pytest.mark.full
def test_a_credential_that_the_caller_exported_is_nowhere(rehearsed: Rehearsed) -> None:
    rehearsed.up()

    kept = [file for file in rehearsed.home.rglob("*") if file.is_file()]
    assert [file for file in kept if CANARY.encode() in file.read_bytes()] == []
    assert rehearsed.started()
    assert [item for item in rehearsed.started() if CANARY in item.environ().values()] == []


@pytest.mark.full
def test_down_leaves_no_process_and_up_continues_from_there(rehearsed: Rehearsed) -> None:
    rehearsed.up()
    assert rehearsed.processes()

    assert rehearsed.run("rehearse", "down").code == 0

    assert rehearsed.processes() == []
    again = rehearsed.run("rehearse", "up", "--json")
    assert again.code == 0, again.err
    assert again.json["changes"] == 0
    assert again.json["all_allocated"] is True
