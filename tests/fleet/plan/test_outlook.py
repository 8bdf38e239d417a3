import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from dra_fleet import clouds, drivers
from dra_fleet.cli.main import app
from dra_fleet.drivers import known
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet import upgrades as outlooks
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.fleet.upgrades import MOST_DAYS, Age, ages, catalogue_date, known_minors, outlook
from dra_fleet.kubernetes.minors import is_on, kubernetes_facts, minor_order
from dra_fleet.proof.prove import prove
from tests.fleet.plan.plan_helpers import dev, planned
from tests.proof.proof_helpers import fleet, plan_of, pool

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


TODAY = dt.date(2026, 11, 27)


def of_example(name: str, today: dt.date = TODAY) -> dict[str, Age]:
    found = ages(make_plan(read_stack_file(EXAMPLES / f"{name}.yaml").settings), today)
    return {age.subject: age for age in found}


def with_driver(name: str, version: str) -> Age:
    driver = drivers.named(name)
    assert driver is not None
    plan = plan_of(fleet({"a": pool("pcie-t4-1", "a")}))
    (cluster,) = plan.clusters
    release = replace(cluster.releases[0], name="chart", driver=driver.facts.driver, version=version)
    changed = replace(plan, clusters=(replace(cluster, releases=(release,)),))
    return next(age for age in ages(changed, TODAY) if age.subject == "chart chart")


@pytest.mark.parametrize("name", [driver.name for driver in known()])
def test_only_the_newest_chart_of_a_driver_is_current(name: str) -> None:
    driver = drivers.named(name)
    assert driver is not None
    *older, newest = [entry.version for entry in driver.facts.versions]
    assert with_driver(name, newest).state == "current"
    for version in older:
        age = with_driver(name, version)
        assert (age.state, age.newest) == ("behind", newest)


def test_operators_and_kueue_are_compared_with_their_charts() -> None:
    operator = of_example("aks-mig")["chart gpu-operator"]
    assert (operator.used, operator.state) == ("v25.10.0", "behind")
    queues = of_example("team-queues")["chart kueue"]
    assert (queues.used, queues.state, queues.newest) == ("0.19.0", "behind", "0.20.5")


def test_a_described_driver_is_unknown_to_the_catalogue() -> None:
    age = of_example("fpga-unknown-driver")["chart fpga-dra-driver"]
    assert (age.state, age.newest, age.date) == ("unknown", "", None)


def test_kubernetes_is_current_behind_or_without_fixes() -> None:
    def state(minor: str, today: dt.date) -> str:
        plan = plan_of({**fleet({"a": pool("pcie-t4-1", "a")}), "kubernetes": minor})
        return ages(plan, today)[0].state

    facts = kubernetes_facts()
    oldest = facts.minors[0]
    assert state(facts.newest, TODAY) == "current"
    assert state(oldest.minor, oldest.end_of_life - dt.timedelta(days=1)) == "behind"
    assert state(oldest.minor, oldest.end_of_life) == "ended"


def test_a_price_gets_old() -> None:
    machine = "p5.4xlarge"
    price = clouds.named("eks").machines[machine].price
    assert price is not None
    at_last = price.date + dt.timedelta(days=MOST_DAYS)
    assert of_example("eks-mig", at_last)[f"price of {machine}"].state == "current"
    assert of_example("eks-mig", at_last + dt.timedelta(days=1))[f"price of {machine}"].state == "old"


def test_command_lists_what_is_behind_and_exits_1() -> None:
    stack = str(EXAMPLES / "aks-mig.yaml")
    shown = CliRunner().invoke(app, ["drivers", "--outdated", stack], env={"COLUMNS": "120"})
    assert shown.exit_code == 1
    assert "mnist" in shown.stdout
    assert "v25.10.0" in shown.stdout
    assert f"catalogue of {catalogue_date()}" in shown.stdout
    printed: dict[str, Any] = json.loads(
        CliRunner().invoke(app, ["drivers", "--outdated", stack, "-o", "json"]).stdout
    )
    assert printed["catalogue"] == catalogue_date().isoformat()
    assert {"cluster": "mnist", "subject": "chart gpu-operator", "used": "v25.10.0"}.items() <= next(
        age for age in printed["ages"] if age["subject"] == "chart gpu-operator"
    ).items()


@pytest.mark.parametrize("arguments", [["--outdated", "-s"], ["-s"], ["--outdated"], []])
def test_outdated_takes_the_stack_as_other_commands_do_and_needs_one(arguments: list[str]) -> None:
    stack = [] if arguments == ["--outdated"] else [str(EXAMPLES / "aks-mig.yaml")]
    shown = CliRunner().invoke(app, ["drivers", *arguments, *stack])
    if arguments == ["--outdated", "-s"]:
        assert (shown.exit_code, "Outdated" in shown.stdout) == (1, True)
    else:
        assert (shown.exit_code, "--outdated and STACK need each other" in shown.output) == (2, True)


def test_command_exits_0_if_nothing_is_behind(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.new.yaml"
    (nvidia,) = (driver for driver in known() if driver.name == "nvidia")
    chart = {"version": nvidia.facts.versions[-1].version}
    newest = {
        **fleet({"a": pool("pcie-t4-1", "a")}, drivers={"nvidia": chart}),
        "kubernetes": kubernetes_facts().newest,
    }
    file.write_text(json.dumps({"config": {"dra-fleet:fleet": newest}}), encoding="utf-8")
    shown = CliRunner().invoke(app, ["drivers", "--outdated", str(file)])
    assert (shown.exit_code, "0 of 2 outdated" in shown.stdout) == (0, True)


NVIDIA = "dra-fleet:fleet.clusters.lab.drivers.nvidia"


def lab(version: str, values: dict[str, Any] | None = None) -> dict[str, Any]:
    fleet = dev()
    fleet["clusters"]["lab"]["drivers"]["nvidia"] |= {"version": version, "values": values or {}}
    return fleet


def test_a_newer_version_is_planned_and_proved_with_a_warning_that_names_what_cannot_be_checked() -> None:
    plan = planned(lab("0.6.0"))
    (release,) = [item for item in plan.clusters[0].releases if item.driver == "gpu.nvidia.com"]
    assert release.version == "0.6.0"
    (warning,) = plan.warnings
    assert warning == (
        f"{NVIDIA}.version: 0.6.0 is not known to this program: values, defaults, feature gates, classes "
        "and what it publishes are checked by 0.5.1, the newest known before it, and values that one would "
        "refuse are warnings"
    )
    assert prove(plan).fits


def test_a_value_that_only_the_new_chart_may_know_is_a_warning() -> None:
    warnings = planned(lab("0.6.0", {"brandNew": True})).warnings
    assert warnings[1].startswith(f"{NVIDIA}.values.brandNew: 0.5.1 refuses it: ")


@pytest.mark.parametrize(
    ("version", "checked_by"),
    [("25.9.0", "25.8.1"), ("26.1.0", "25.12.0"), ("0.4.7", "0.4.1"), ("v0.6.0-rc.1", "0.5.1")],
)
def test_the_newest_version_before_it_stands_for_one_that_is_not_known(version: str, checked_by: str) -> None:
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    found = nvidia.facts.checked_version(version)
    assert found is not None
    assert (found.version, found.checked_by) == (version, checked_by)
    assert nvidia.facts.attributes_in(version) == nvidia.facts.attributes_in(checked_by)
    assert not nvidia.facts.is_older(version, checked_by)


@pytest.mark.parametrize("version", ["latest", "0.5", ">=0.5.0", "0.0.1"])
def test_partial_versions_and_versions_older_than_all_match_nothing(version: str) -> None:
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    assert nvidia.facts.checked_version(version) is None
