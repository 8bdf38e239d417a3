"""A project of one's own, outside the checkout: made by `init` or `pulumi new`, rehearsed, gated."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.cli.init import TEMPLATE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine


def test_a_new_project_is_rehearsed_reviewed_and_gated(own_rehearsed: Rehearsed) -> None:
    folder = own_rehearsed.files / "own"
    made = own_rehearsed.run("init", str(folder), "--description", "ours")
    assert made.code == 0, made.err
    rehearsed = replace(own_rehearsed, project=folder)
    before = files_of(folder)

    up = rehearsed.up()
    gate = rehearsed.shell("dra-fleet gate dev --json")
    review = rehearsed.shell("dra-fleet review dev --json")

    assert up["all_allocated"] is True
    assert gate.code == 0, gate.out + gate.err
    assert gate.json["passed"] is True
    assert review.code == 0, review.out + review.err
    page = folder / "build" / "review" / "dev" / "index.html"
    assert page.is_file()
    after = files_of(folder)
    assert {
        name: text for name, text in after.items() if not name.startswith(("build/", "__pycache__/"))
    } == (before)

    # The engine's own way, in a folder that is no project, gives the same files.
    other = own_rehearsed.files / "other"
    other.mkdir()
    options = "--generate-only --yes --name own --description ours"
    new = replace(own_rehearsed, project=other).shell(f"pulumi new {shlex.quote(str(TEMPLATE))} {options}")
    assert new.code == 0, new.out + new.err
    theirs = files_of(other)
    ours: dict[str, Any] = yaml.safe_load(before.pop("Pulumi.yaml"))
    said: dict[str, Any] = yaml.safe_load(theirs.pop("Pulumi.yaml"))
    assert said.pop("config") == {"pulumi:tags": {"value": {"pulumi:template": str(TEMPLATE)}}}
    assert (ours, before) == (said, theirs)


def files_of(folder: Path) -> dict[str, str]:
    """The text of each file below a folder by its path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
