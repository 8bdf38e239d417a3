"""Tools are taken from PATH, from the official installer or from a build, in that order."""

from __future__ import annotations

import json
import os
import subprocess
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.tools import ensure, installer, recipes, toolset
from tests.rehearsal.tools.tool_workshop import REHEARSE_TOOLS, Told, Workshop

if TYPE_CHECKING:
    from pathlib import Path


def test_tools_on_path_that_are_new_enough_are_used(workshop: Workshop) -> None:
    workshop.put_go()
    asked = workshop.refuse_installer()
    pulumi = workshop.put_pulumi("v3.255.0")
    helm = workshop.put("helm", "v3.8.0+gd141386")
    kwok = workshop.put("kwok", "kwok version v0.8.0 go1.26.0 (linux/amd64)")
    tools = ensure()
    assert (tools.pulumi, tools.language_host_dir, tools.helm, tools.kwok) == (
        pulumi,
        pulumi.parent,
        helm,
        kwok,
    )
    assert workshop.builds() == ["controlplane"]
    assert asked == []
    assert tools.notes == ()


def test_tools_on_path_that_are_too_old_are_built_instead(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.refuse_installer()
    pulumi = workshop.put_pulumi("v3.254.9")
    helm = workshop.put("helm", "v3.7.2")
    kwok = workshop.put("kwok", "kwok version v0.7.0")
    tools = ensure()
    assert workshop.builds() == ["controlplane", "helm", "kwok", "pulumi", "pulumi-language-python"]
    assert [note.split(":")[0] for note in tools.notes] == [
        f"{helm} is 3.7.2, older than 3.8.0",
        f"{kwok} is 0.7.0, older than 0.8.0",
        f"{pulumi} is 3.254.9, older than 3.255.0",
    ]
    assert tools.notes[2].endswith("because the official installer failed: no network")


def test_a_tool_that_does_not_tell_its_version_is_not_used(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    workshop.put("kwok", "kwok version v0.8.0")
    helm = workshop.put("helm", "broken")
    tools = ensure()
    assert tools.helm != helm
    assert tools.notes[0].startswith(f"{helm} does not tell its version: Helm v4")


def test_a_pulumi_without_its_language_host_is_not_used(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.refuse_installer()
    pulumi = workshop.put_pulumi(language_host=False)
    tools = ensure()
    assert tools.pulumi != pulumi
    assert any(note.startswith(f"{pulumi} has no Python language host beside it") for note in tools.notes)


def test_a_linked_pulumi_is_used_where_its_language_host_is(workshop: Workshop, tmp_path: Path) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    installation = tmp_path / "opt"
    installation.mkdir()
    for program in workshop.bin.glob("pulumi*"):
        program.rename(installation / program.name)
    (workshop.bin / "pulumi").symlink_to(installation / "pulumi")
    assert ensure().language_host_dir == installation


def test_the_official_installer_comes_before_a_build(workshop: Workshop) -> None:
    workshop.put_go()

    def install(version: str, directory: Path) -> None:
        del version
        (directory / "bin").mkdir()
        (directory / "bin" / "pulumi").touch()

    workshop.monkeypatch.setattr(installer, "install", install)
    tools = ensure()
    assert (
        tools.pulumi
        == workshop.cache.place(f"pulumi-official-{installer.default_version()}") / "bin" / "pulumi"
    )
    assert tools.language_host_dir == tools.pulumi.parent
    assert workshop.builds() == ["controlplane", "helm", "kwok"]


def test_a_refusal_of_the_installer_is_remembered_for_a_day(workshop: Workshop) -> None:
    asked = workshop.refuse_installer()
    refusals = installer.Refusals(workshop.cache)
    assert isinstance(toolset.official_cli(workshop.cache, Told()), installer.InstallerRefusal)
    assert toolset.official_cli(workshop.cache, Told()) == installer.InstallerRefusal("no network")
    assert len(asked) == 1
    later = time.time() + installer.REFUSAL_SECONDS
    workshop.monkeypatch.setattr(time, "time", lambda: later)
    assert refusals.recent() is None
    assert workshop.leftovers() == []


def test_the_installer_reports_why_the_network_refused(workshop: Workshop, tmp_path: Path) -> None:
    workshop.monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    refused = installer.install(installer.default_version(), tmp_path / "pulumi")
    assert refused == installer.InstallerRefusal("<urlopen error [Errno 111] Connection refused>")


def test_a_second_run_builds_nothing(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.refuse_installer()
    first = ensure()
    built = workshop.builds()
    told = Told()
    second = ensure(told)
    assert replace(second, notes=first.notes) == first
    assert workshop.builds() == built
    assert told.titles == []


def test_the_language_host_lies_beside_the_exec_script_of_the_engine(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.refuse_installer()
    folder = ensure().language_host_dir
    assert sorted(path.name for path in folder.iterdir()) == [
        "pulumi-language-python",
        "pulumi-language-python-exec",
    ]
    assert os.access(folder / "pulumi-language-python-exec", os.X_OK)


def test_the_program_prints_where_each_tool_is(workshop: Workshop) -> None:
    workshop.put_go()
    workshop.put_pulumi()
    command = [*REHEARSE_TOOLS, "--json"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(printed.stdout)
    assert sorted(told) == ["controlplane", "helm", "kwok", "language_host_dir", "notes", "pulumi"]
    assert told["pulumi"] == str(workshop.bin / "pulumi")
    assert printed.stderr.splitlines()[0] == f"Kubernetes control plane {recipes.CONTROL_PLANE.version} ..."


def test_the_program_ends_with_a_message_and_no_traceback(workshop: Workshop) -> None:
    del workshop
    ended = subprocess.run(REHEARSE_TOOLS, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: Go is not on PATH; install Go ")
    assert len(ended.stderr.splitlines()) == 1
