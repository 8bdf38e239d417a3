"""Each Kubernetes minor has a scheduler, or a note that says what plays it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import ToolsError, ensure, recipes, toolset
from tests.rehearsal.tools.tool_workshop import Told, Workshop


def test_the_scheduler_of_the_control_planes_own_minor_is_the_control_plane(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    tools = ensure()
    own = tools.scheduler(toolset.own_minor())
    assert own.command == (str(tools.controlplane), "kube-scheduler", "--emulated-version=1.36")
    assert own.note is None


def test_the_scheduler_of_an_older_minor_is_built_from_its_own_modules(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    told = Told()
    older = ensure().scheduler("1.34", told)
    program, flag = older.command
    assert Path(program).name == "kube-scheduler"
    assert flag == "--emulated-version=1.34"
    assert older.note is None
    assert told.titles == [
        f"Kubernetes 1.34 scheduler {recipes.pinned(recipes.ENGINE / 'scheduler-1.34', recipes.KUBERNETES)}"
    ]


def test_a_scheduler_that_cannot_be_built_is_emulated_and_the_note_says_so(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    tools = ensure()
    (workshop.bin / "failure").write_text("no such module", encoding="utf-8")
    emulated = tools.scheduler("1.35")
    assert emulated.command == (str(tools.controlplane), "kube-scheduler", "--emulated-version=1.35")
    assert (emulated.note or "").startswith(
        "the 1.36 scheduler emulates 1.35 (its gates, not its code), because Kubernetes 1.35 scheduler v1.35."
    )


@pytest.mark.parametrize("minor", ["1.33", "1.99", "latest"])
def test_a_minor_without_a_scheduler_is_refused(workshop: Workshop, minor: str) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    tools = ensure()
    with pytest.raises(ToolsError) as refused:
        tools.scheduler(minor)
    assert str(refused.value) == f"no scheduler for Kubernetes {minor}; a rehearsal plays 1.34, 1.35, 1.36"
