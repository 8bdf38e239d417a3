import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.fleet.upgrades import UnknownTargetError, upgrade_path, worst
from dra_fleet.model.plan import FleetPlan

EXAMPLES = Path(__file__).parents[3] / "examples"
LAB = Path(__file__).parents[2] / "data" / "stacks" / "lab.yaml"


def lab(**cluster: Any) -> FleetPlan:
    """The lab's plan, with other settings of its cluster."""
    yaml = YAML(typ="safe", pure=True)
    content: Any = yaml.load(LAB)  # pyright: ignore[reportUnknownMemberType]
    fleet = content["config"]["dra-fleet:fleet"]
    fleet["clusters"]["lab"] |= cluster
    return make_plan(parse(fleet))


def at_driver(version: str) -> FleetPlan:
    return lab(drivers={"nvidia": {"version": version}})


def printed(*options: str) -> tuple[int, Any]:
    result = CliRunner().invoke(app, ["upgrade", str(LAB), *options, "-o", "json"])
    return result.exit_code, json.loads(result.stdout)


def test_kubernetes_is_upgraded_one_version_at_a_time() -> None:
    path = upgrade_path(lab(kubernetes="1.34"), {"kubernetes": "1.37"})
    assert [step.name for step in path] == [
        "kubernetes:1.34-1.35",
        "kubernetes:1.35-1.36",
        "kubernetes:1.36-1.37",
    ]
    assert {step.verdict for step in path} == {"manual"}


def test_the_renamed_chart_is_on_the_way_and_its_step_is_manual() -> None:
    path = upgrade_path(at_driver("25.12.0"), {"nvidia": "0.5.0"})
    assert [(step.name, step.verdict) for step in path] == [
        ("nvidia:25.12.0-0.4.0", "manual"),
        ("nvidia:0.4.0-0.4.1", "safe"),
        ("nvidia:0.4.1-0.5.0", "safe"),
    ]
    assert any("nameOverride=nvidia-dra-driver-gpu" in text for text in path[0].steps)
    assert worst(path) == "manual"


def test_a_documented_downgrade_is_blocked_and_cannot_be_accepted() -> None:
    [step] = upgrade_path(at_driver("0.4.0"), {"nvidia": "25.12.0"})
    assert (step.verdict, step.is_unknown) == ("blocked", False)
    with pytest.raises(UnknownTargetError, match="not an unknown step of this path; allowed: nothing"):
        upgrade_path(at_driver("0.4.0"), {"nvidia": "25.12.0"}, [step.name])


def test_an_unknown_kubernetes_version_is_refused() -> None:
    with pytest.raises(UnknownTargetError, match=r"^--to kubernetes=9: unknown version; allowed: 1\.34, "):
        upgrade_path(at_driver("0.5.0"), {"kubernetes": "9"})


def test_a_downgrade_of_kubernetes_is_blocked_and_cannot_be_accepted() -> None:
    plan = at_driver("0.5.0")
    before = plan.clusters[0].kubernetes
    minor = int(before.partition(".")[2])
    [step] = upgrade_path(plan, {"kubernetes": f"1.{minor - 1}"})
    assert (step.verdict, step.is_unknown) == ("blocked", False)
    assert step.reason == "Kubernetes does not support the downgrade of a control plane"


def test_an_unknown_step_is_blocked_until_it_is_accepted_by_name() -> None:
    plan, targets = at_driver("25.8.1"), {"nvidia": "25.12.0"}
    [blocked] = upgrade_path(plan, targets)
    [accepted] = upgrade_path(plan, targets, [blocked.name])
    assert (blocked.name, blocked.verdict) == ("nvidia:25.8.1-25.12.0", "blocked")
    assert blocked.reason == "no source describes this transition"
    assert accepted.verdict == "manual"
    assert accepted.reason.startswith("accepted by name: ")


def test_a_version_that_the_catalogue_does_not_have_is_one_unknown_step() -> None:
    [step] = upgrade_path(at_driver("0.5.0"), {"nvidia": "0.6.0"})
    assert (step.name, step.verdict) == ("nvidia:0.5.0-0.6.0", "blocked")


def test_another_layout_of_partitions_is_manual() -> None:
    [step] = upgrade_path(lab(), {"mig": "2g.10gb:3"})
    assert (step.before, step.after, step.verdict) == ("1g.5gb:7", "2g.10gb:3", "manual")


def test_a_version_that_removes_an_api_of_the_driver_blocks_its_step() -> None:
    fleet = read_fleet(EXAMPLES / "gke-tpu.yaml")
    assert isinstance(fleet, dict)
    path = upgrade_path(make_plan(parse(fleet)), {"kubernetes": "1.38"})
    assert path[-1].verdict == "blocked"
    assert "resource.k8s.io/v1beta1 is no longer served" in path[-1].reason


def test_planned_versions_carry_the_notes_of_the_outlook() -> None:
    path = upgrade_path(lab(), {"kubernetes": "1.38"})
    assert [bool(step.notes) for step in path] == [False, True]
    assert path[-1].notes[0].startswith("Kubernetes 1.38 (planned for 2026-12-16): attributes can be lists")


def test_the_version_in_use_needs_no_step() -> None:
    assert upgrade_path(lab(), {"kubernetes": "1.36", "nvidia": "0.5.0"}) == ()


def test_rejects_unused_entries_and_lists_the_used_ones() -> None:
    expected = "--to kueue=0.20.0: no cluster uses kueue; allowed: kubernetes, mig, nvidia"
    with pytest.raises(UnknownTargetError, match=f"^{expected}$"):
        upgrade_path(lab(), {"kueue": "0.20.0"})


def test_a_target_that_is_no_version_is_refused() -> None:
    expected = "--to nvidia=latest: not a version; write three numbers, such as 0.6.0"
    with pytest.raises(UnknownTargetError, match=f"^{expected}$"):
        upgrade_path(lab(), {"nvidia": "latest"})


def test_a_kubernetes_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(
        UnknownTargetError, match=r"^--to kubernetes=1\.99: unknown version; allowed: 1\.34, "
    ):
        upgrade_path(lab(), {"kubernetes": "1.99"})


@pytest.mark.parametrize(
    ("options", "code", "verdict"),
    [
        (("--to", "nvidia=0.5.0"), 0, "safe"),
        (("--to", "kubernetes=1.37"), 10, "manual"),
        (("--to", "nvidia=0.6.0"), 1, "blocked"),
        (("--to", "nvidia=0.6.0", "--accept", "nvidia:0.5.0-0.6.0"), 10, "manual"),
    ],
)
def test_the_exit_code_is_that_of_the_worst_verdict(
    options: tuple[str, ...], code: int, verdict: str
) -> None:
    found, answer = printed(*options)
    assert (found, answer["stack"], answer["verdict"]) == (code, "lab", verdict)


@pytest.mark.parametrize(
    ("word", "example"),
    [("1.37", "kubernetes=1.37"), ("nvidia", "nvidia=0.5.0"), ("nvidia=", "nvidia=0.5.0")],
)
def test_a_target_without_name_or_version_is_refused_with_an_example(word: str, example: str) -> None:
    result = CliRunner().invoke(app, ["upgrade", str(LAB), "--to", word])
    assert result.exit_code == 2
    assert f"{word} is not NAME=VERSION, such as {example}" in " ".join(result.output.split())


def test_the_list_for_people_names_the_step_the_steps_to_do_and_the_source() -> None:
    result = CliRunner().invoke(app, ["upgrade", str(LAB), "--to", "kubernetes=1.37"])
    assert "kubernetes:1.36-1.37 (lab)" in result.stdout
    assert (
        "  - write the next version into `kubernetes` of the cluster; no version can be skipped"
        in result.stdout
    )
    assert "  - source: https://kubernetes.io/releases/version-skew-policy/" in result.stdout
