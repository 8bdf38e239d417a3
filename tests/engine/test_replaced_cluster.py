"""A cluster that cannot become what the stack says is made anew, and everything in it with it, in order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.rehearsed import PROJECT

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

EXAMPLE = PROJECT / "examples" / "s04-gke-cel.yaml"


def test_what_lives_in_a_cluster_goes_before_it_and_lives_again_in_the_one_in_its_place(
    own_rehearsed: Rehearsed,
) -> None:
    """No project of Google's takes a cluster of another."""
    stack = own_rehearsed.files / "moved.yaml"
    stack.write_text(EXAMPLE.read_text())
    before = own_rehearsed.up(stack)
    text = EXAMPLE.read_text()
    assert text.count("project: ml-render\n") == 1
    stack.write_text(text.replace("project: ml-render\n", "project: ml-render-two\n"))

    after = own_rehearsed.up(stack)
    project = own_rehearsed.home / "projects" / "dra-fleet" / stack.stem
    history = own_rehearsed.shell(f"pulumi stack history --stack {stack.stem} --json", project)
    again = own_rehearsed.shell(f"pulumi preview --stack {stack.stem} --expect-no-changes", project)

    assert held(after) == held(before)
    assert again.code == 0, again.out + again.err
    assert set(json.loads(history.out)[0]["resourceChanges"]) == {"same", "update", "replace"}


def held(shown: dict[str, Any]) -> dict[str, int]:
    """How many devices the pods of each workload hold."""
    return {
        name: sum(len(pod["devices"]) for pod in workload["pods"])
        for cluster in shown["clusters"].values()
        for name, workload in cluster["workloads"].items()
    }
