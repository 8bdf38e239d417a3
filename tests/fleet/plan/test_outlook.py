import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.fleet import outlook as outlooks
from dra_fleet.fleet import parse
from dra_fleet.fleet.outlook import known_minors, outlook
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.kubernetes.minors import is_on, kubernetes_facts, minor_order
from tests.fleet.plan.plan_helpers import dev, planned

EXAMPLES = Path(__file__).parents[3] / "examples"
PLANNED = "1.38"


def example(name: str) -> dict[str, Any]:
    fleet = read_fleet(EXAMPLES / f"{name}.yaml")
    assert isinstance(fleet, dict)
    return fleet


def concerned(fleet: Mapping[str, Any]) -> set[str]:
    """The changes until the planned version that concern a stack, by their names."""
    found = outlook(planned(dict(fleet)), PLANNED)
    texts = [*(error.what for error in found.errors), *found.notes]
    return {
        change.name for change in kubernetes_facts().changes if any(change.what in text for text in texts)
    }


def test_the_removal_of_v1beta1_refuses_the_driver_that_needs_it() -> None:
    [error] = outlook(planned(example("gke-tpu")), PLANNED).errors
    assert error.path == "dra-fleet:fleet.clusters.tpus.drivers.tpu.google.com"
    assert "v1beta1" in error.what
    assert "planned for 2026-12-16" in error.what


def test_nothing_is_said_of_a_version_that_is_not_reached() -> None:
    found = outlook(planned(example("gke-tpu")), "1.37")
    assert (found.errors, found.notes) == ((), ())


def test_locked_shares_concern_who_claims_a_capacity() -> None:
    assert "consumable-capacity-locked" in concerned(example("network-cards"))
    assert "consumable-capacity-locked" not in concerned(example("gke-tpu"))


def test_list_attributes_concern_who_compares_attributes() -> None:
    assert "list-attributes" in concerned(example("pcie-topology"))
    assert "list-attributes" not in concerned(example("gke-tpu"))


def test_preemption_concerns_who_runs_pods() -> None:
    fleet = example("gke-tpu")
    assert "preemption" in concerned(fleet)
    assert "preemption" not in concerned({**fleet, "workloads": {}})


def test_allocatable_resources_concern_the_driver_of_cpus() -> None:
    holds = [path.stem for path in EXAMPLES.glob("*.yaml") if "dra.cpu" in path.read_text(encoding="utf-8")]
    assert holds
    assert all("node-allocatable" in concerned(example(name)) for name in holds)
    assert "node-allocatable" not in concerned(example("gke-tpu"))


def test_every_change_is_looked_for() -> None:
    assert {change.name for change in kubernetes_facts().changes} == set(vars(outlooks)["_CONCERNS"])


@pytest.mark.parametrize(
    ("gate", "is_on_by_plan"),
    [
        ("DRAConsumableCapacity", True),
        ("DRAListTypeAttributes", True),
        ("DRANodeAllocatableResources", False),
    ],
)
def test_a_planned_version_has_the_gates_of_its_plan(gate: str, *, is_on_by_plan: bool) -> None:
    assert is_on(gate, PLANNED) == is_on_by_plan


def test_other_gates_stay_as_in_the_newest_version() -> None:
    planned_gates = kubernetes_facts().announced(PLANNED).gates
    others = [gate for gate in kubernetes_facts().gates if gate.name not in planned_gates]
    assert others
    assert all(gate.is_on(PLANNED) == gate.is_on(kubernetes_facts().newest) for gate in others)


@pytest.mark.parametrize("minor", known_minors())
def test_a_stack_is_planned_at_each_version(minor: str) -> None:
    settings = parse(dev())
    before = {cluster.name: minor_order(cluster.kubernetes) for cluster in make_plan(settings).clusters}
    plan = make_plan(settings.at_minor(minor), any_version=True)
    after = {cluster.name: minor_order(cluster.kubernetes) for cluster in plan.clusters}
    assert after == {name: max(order, minor_order(minor)) for name, order in before.items()}


def test_prove_and_check_take_a_later_version(tmp_path: Path) -> None:
    run = CliRunner()
    proof = run.invoke(app, ["prove", str(EXAMPLES / "gke-tpu.yaml"), "--at", PLANNED, "--json"])
    answer = json.loads(proof.stdout)
    assert (proof.exit_code, answer["fits"], len(answer["failures"])) == (1, False, 1)
    claim = tmp_path / "claim.yaml"
    claim.write_text(
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n"
        "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n"
    )
    checked = run.invoke(app, ["check", str(claim), "-s", "dev", "--at", PLANNED])
    assert checked.exit_code == 0, checked.output


@pytest.mark.parametrize("command", [["prove", "dev"], ["check", "x.yaml", "-s", "dev"]])
def test_an_unknown_version_is_refused_with_those_that_are_known(command: list[str]) -> None:
    refused = CliRunner().invoke(app, [*command, "--at", "1.99"])
    assert refused.exit_code == 2
    assert "1.38, 1.37, 1.36" in refused.output


@pytest.mark.parametrize(
    ("minor", "name"), [("1.35", "gangs-v1alpha1-removed"), ("1.36", "gangs-v1alpha2-removed")]
)
def test_an_api_of_gangs_that_ends_concerns_who_runs_gangs(minor: str, name: str) -> None:
    fleet: dict[str, Any] = {**example("pcie-topology"), "kubernetes": minor}
    assert name not in {change for change in concerned(fleet) if change.startswith("gangs")}
    (cluster,) = fleet["clusters"].values()
    cluster["featureGates"] = ["GenericWorkload", "GangScheduling"]
    for workload in fleet["workloads"].values():
        workload["gang"] = "native"
    assert name in concerned(fleet)
    assert any("; gangs: " in error.what for error in outlook(planned(fleet), "1.37").errors)
