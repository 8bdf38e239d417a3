"""A review before the change and the rehearsal after it agree on who loses devices; a plan binds `up`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.engine.rehearsed import Finished, Rehearsed, Settings

pytestmark = pytest.mark.engine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "reviews"
BEFORE = EXAMPLES / "studio.yaml"
AFTER = EXAMPLES / "larger-parts" / "studio.yaml"
PERSON = 10


def pods(rehearsed: Rehearsed, stack: Path) -> dict[str, list[str]]:
    """The devices of each pod that holds some."""
    status: dict[str, Any] = rehearsed.ask("rehearse", "status", str(stack), "--json").json
    return {
        pod["name"]: [device["device"] for device in pod["devices"]]
        for cluster in status["clusters"].values()
        for workload in cluster["workloads"].values()
        for pod in workload["pods"]
        if pod["devices"]
    }


def reviewed(rehearsed: Rehearsed, stack: str, *options: str) -> tuple[Finished, dict[str, Any]]:
    """Review a stack in the rehearsal, asking its clusters who holds devices."""
    out = rehearsed.files / "review"
    words = ["dra-fleet review", stack, "--running clusters", f"--out {out}", *options]
    done = rehearsed.shell(" ".join(words))
    assert (out / "review.json").is_file(), done.err
    return done, json.loads((out / "review.json").read_text(encoding="utf-8"))


def test_a_review_names_exactly_the_pods_that_the_rehearsal_then_takes_devices_from(
    own_rehearsed: Rehearsed,
) -> None:
    assert own_rehearsed.run("rehearse", "up", str(BEFORE)).code == 0
    before = pods(own_rehearsed, BEFORE)

    done, review = reviewed(own_rehearsed, str(AFTER), f"--against {BEFORE}")

    lost = {pod["name"]: pod["devices"] for pod in review["blast"]["pods"]}
    assert done.code == PERSON, done.out + done.err
    assert review["changes"][0]["text"] == (
        "pool notebooks: machine type changes from Standard_NV6ads_A10_v5 to Standard_NV12ads_A10_v5: "
        "2 GPU nodes are replaced, 2 running claims lose their device"
    )
    assert pods(own_rehearsed, BEFORE) == before, "a review changes nothing"

    up = own_rehearsed.run("rehearse", "up", str(AFTER))

    assert up.code == 0, up.err
    after = pods(own_rehearsed, AFTER)
    assert {name: devices for name, devices in before.items() if after.get(name) != devices} == lost
    assert len(after) == len(before)


@pytest.mark.full
def test_a_plan_applies_what_was_reviewed_and_refuses_a_changed_stack(rehearsed: Rehearsed) -> None:
    stack = rehearsed.stack_file()
    rehearsed.up(stack)
    project = rehearsed.home / "projects" / "dra-fleet" / "variation"
    file = project / "Pulumi.variation.yaml"

    def without_pairs(fleet: Settings) -> None:
        del fleet["workloads"]["train-pair"]

    def without_singles(fleet: Settings) -> None:
        del fleet["workloads"]["train"]

    file.write_text(rehearsed.stack_file(without_pairs).read_text())
    done, review = reviewed(rehearsed, "variation", f"--cwd {project}")
    assert done.code == PERSON, done.out + done.err
    assert {pod["workload"] for pod in review["blast"]["pods"]} == {"train-pair"}
    up = f"{review['plan']} --yes --skip-preview --non-interactive --color never"
    state = rehearsed.state("variation")

    file.write_text(rehearsed.stack_file(without_singles).read_text())
    refused = rehearsed.shell(up)
    assert refused.code != 0
    assert "violates plan" in refused.out + refused.err
    assert declared(rehearsed.state("variation")) == declared(state)

    file.write_text(rehearsed.stack_file(without_pairs).read_text())
    applied = rehearsed.shell(up)
    assert applied.code == 0, applied.out + applied.err
    assert "lab-train-pair" not in " ".join(declared(rehearsed.state("variation")))


@pytest.mark.full
def test_a_secret_of_the_stack_is_in_no_file_of_its_review(rehearsed: Rehearsed) -> None:
    rehearsed.up(rehearsed.stack_file())
    project = rehearsed.home / "projects" / "dra-fleet" / "variation"
    canary = "canary-4f2a"
    kept = rehearsed.shell(f"pulumi config set --secret canary {canary} --stack variation", project)
    assert kept.code == 0, kept.err

    _, review = reviewed(rehearsed, "variation", f"--cwd {project}")

    assert any("dra-fleet:canary" in fact["text"] for fact in review["exposure"])
    found = [
        file.name for file in (rehearsed.files / "review").iterdir() if canary in file.read_text("utf-8")
    ]
    assert found == []
    assert (rehearsed.files / "review" / "plan.json").is_file()


def declared(state: str) -> list[str]:
    """The URNs of a state."""
    return sorted(item["urn"] for item in json.loads(state)["checkpoint"]["latest"]["resources"])
