"""A custom project, by the installed package: init or pulumi new, rehearsed, reviewed, gated."""

from __future__ import annotations

import shlex
import subprocess
import sysconfig
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.cli.test_commands_of_pages import FENCED
from tests.package.building import PROJECT, built, install

if TYPE_CHECKING:
    from pathlib import Path

    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine


@pytest.fixture
def outside(own_rehearsed: Rehearsed) -> Rehearsed:
    """Install the wheel in a separate environment without the checkout, in a folder without a project.

    What the package requires is not installed again: it is taken from the environment of the tests.
    """
    folder = own_rehearsed.files / "empty"
    folder.mkdir()
    wheel = built("wheel", PROJECT, own_rehearsed.files / "wheel")
    commands = install(own_rehearsed.files / "environment", wheel, "--no-deps", "--no-index")
    (packages,) = commands.parent.glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    return replace(own_rehearsed, project=folder, command=commands / "dra-fleet")


def test_a_new_project_is_rehearsed_reviewed_and_gated_by_the_installed_package(outside: Rehearsed) -> None:
    folder = outside.files / "own"
    made = outside.run("init", str(folder), "--description", "own")
    assert made.code == 0, made.err
    rehearsed = replace(outside, project=folder)
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

    # The engine's own way gives the same files.
    template = str(PROJECT / "templates" / "fleet")
    options = "--generate-only --yes --name own --description own"
    new = rehearsed.shell(f"pulumi --cwd {outside.project} new {shlex.quote(template)} {options}")
    assert new.code == 0, new.out + new.err
    theirs = files_of(outside.project)
    own: dict[str, Any] = yaml.safe_load(before.pop("Pulumi.yaml"))
    said: dict[str, Any] = yaml.safe_load(theirs.pop("Pulumi.yaml"))
    assert said.pop("config") == {"pulumi:tags": {"value": {"pulumi:template": template}}}
    assert (own, before) == (said, theirs)


@pytest.mark.full
def test_the_start_page_holds_word_for_word_with_the_installed_package(own_rehearsed: Rehearsed) -> None:
    """Its commands, in an environment that has the wheel and the packages of the extras only."""
    page = (PROJECT / "docs" / "start.md").read_text(encoding="utf-8")
    part = page.partition("## Install")[2].partition("## First real cluster")[0]
    steps = [block for language, block in FENCED.findall(part) if not language]
    environment, packages, *commands = [line.strip() for step in steps for line in step.strip().splitlines()]
    assert environment == "python3 -m venv .venv && source .venv/bin/activate"
    assert packages == "pip install 'dra-fleet[rehearse,review]'"
    wheel = built("wheel", PROJECT, own_rehearsed.files / "wheel")
    pins = ("-c", str(PROJECT / "requirements.lock"))
    folder = own_rehearsed.files / ".venv"
    installed = install(folder, wheel, *pins, extra="rehearse,review")
    text = "\n".join(["set -e", f"source {installed}/activate", *commands])

    done = subprocess.run(
        ["bash", "-c", text], cwd=own_rehearsed.files, env=own_rehearsed.environment,
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    assert (own_rehearsed.files / "gpu-fleet" / "build" / "review" / "dev" / "index.html").is_file()
    assert commands[-1] == "dra-fleet rehearse down"


def files_of(folder: Path) -> dict[str, str]:
    """The text of each file below a folder by its path in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
