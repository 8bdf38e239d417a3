"""Ways past the pack that only a real engine shows: what stands beside the program, and what it does."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.policy.gate import preset, running
from dra_fleet.policy.gate.verdict import Expected, check
from dra_fleet.policy.rule_cases import Declared
from dra_fleet.rehearsal.tools import Toolset
from tests.policy.other_project import OtherProject

pytestmark = pytest.mark.engine

FLOOR = "cluster-require-minimum-kubernetes"
STABLE = "claim-require-stable-api"
KIND = "dra-fleet:clouds:ExistingCluster"
OLD = Declared(type=KIND, name="old", properties={"kubernetes": "1.33"})
NEW = Declared(type=KIND, name="new", properties={"kubernetes": "1.35"})
SHADOW = "raise SystemExit(0)  # in the place of what the pack imports\n"
BESIDE = ("policies", "fleet", "dra_fleet", "sitecustomize")
"""Modules in a program's own folder; the names of its requirements would end the program itself."""
ON_THE_PATH = ("policies", "fleet", "yaml", "grpc", "google", "pulumi", "pydantic")

KILLS = """
import os, pathlib, signal
for process in pathlib.Path("/proc").glob("[0-9]*"):
    try:
        words = (process / "cmdline").read_bytes().split(b"\\0")
    except OSError:
        continue
    if {pack!r}.encode() in words and b"-I" in words:
        parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
        if parent == pathlib.Path(f"/proc/{{os.getppid()}}/stat").read_text().rpartition(")")[2].split()[1]:
            os.kill(int(process.name), signal.SIGKILL)
"""
"""Ends the pack that the same engine started."""


@pytest.fixture
def project(tmp_path: Path, tools: Toolset) -> OtherProject:
    """A program with a cluster that is too old."""
    made = OtherProject(tmp_path, tools)
    made.declare([OLD, NEW])
    return made


def gate(project: OtherProject, **variables: str) -> dict[str, Any]:
    """Return the output of `dra-fleet gate --json`, started as by a user."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("dra-fleet")), "gate", "dev", "--json"],
        cwd=project.folder,
        env={**project.environment, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    return json.loads(done.stdout)


def finds_the_old_cluster(output: dict[str, Any]) -> bool:
    return (output["exitCode"], output["problems"]) == (1, []) and (FLOOR, OLD.urn) in {
        (found["rule"], found["urn"]) for found in output["findings"] if found["level"] == "mandatory"
    }


def put_shadows(folder: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(SHADOW, encoding="utf-8")


def test_modules_in_the_checked_folder_are_not_the_pack_s(project: OtherProject) -> None:
    put_shadows(project.folder, BESIDE)
    rules = project.folder / "policies" / "rules"
    rules.mkdir()
    (rules / "cluster.py").write_text("RULES = ()\n", encoding="utf-8")
    assert finds_the_old_cluster(gate(project))


def test_modules_on_the_checked_path_are_not_the_pack_s(project: OtherProject, tmp_path: Path) -> None:
    put_shadows(tmp_path / "shadows", ON_THE_PATH)
    # The program's own start needs a whole SDK: it takes the folder off its path again.
    host = Path(project.environment["PATH"].split(os.pathsep)[0]) / "python"
    first = tmp_path / "first"
    first.mkdir()
    (first / "python").write_text(f'#!/bin/sh\nunset PYTHONPATH\nexec {host} "$@"\n', encoding="utf-8")
    (first / "dirname").write_text("#!/bin/sh\necho /nowhere\n", encoding="utf-8")
    for file in first.iterdir():
        file.chmod(0o755)
    (first / "python3").symlink_to(first / "python")
    path = os.pathsep.join([str(first), project.environment["PATH"]])
    assert finds_the_old_cluster(gate(project, PYTHONPATH=str(tmp_path / "shadows"), PATH=path))


@pytest.mark.parametrize(
    "option",
    [
        {"PULUMI_OPTION_TARGET": NEW.urn},
        {"PULUMI_OPTION_EXCLUDE": OLD.urn},
        {"PULUMI_OPTION_POLICY_PACK_CONFIG": "no-such-file"},
    ],
    ids=lambda option: next(iter(option)),
)
def test_no_variable_is_an_option_of_the_engine(option: dict[str, str], project: OtherProject) -> None:
    project.declare([NEW])
    assert project.run("up", "--yes", "--skip-preview").returncode == 0
    project.declare([OLD, NEW])
    assert finds_the_old_cluster(gate(project, **option))


def test_a_program_that_ends_the_pack_passes_no_gate(project: OtherProject) -> None:
    program = project.folder / "__main__.py"
    kills = KILLS.format(pack=str(running.RUN_PACK.with_name("__main__.py")))
    program.write_text(kills + program.read_text(encoding="utf-8"), encoding="utf-8")
    output = gate(project)
    assert output["exitCode"] == 3, output
    assert any("preview failed" in problem for problem in output["problems"]), output


def test_a_program_that_changes_the_pack_passes_no_gate(
    project: OtherProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "rule.py").write_text("RULE = 1\n", encoding="utf-8")
    monkeypatch.setattr(running, "PACKAGE", pack)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    program = project.folder / "__main__.py"
    program.write_text(f"open({str(pack / 'rule.py')!r}, 'w').close()\n", encoding="utf-8")
    record = running.preview("dev", directory=project.folder, config=preset.config("standard"))
    output = check(record, Expected(preset="standard"))
    assert output.exit_code == 3
    (problem,) = output.problems
    assert problem == (
        f"1 files of the pack changed during the preview, the first is {pack / 'rule.py'}; "
        "fix: find out who changed it, and check with an unchanged pack"
    )


HIDDEN = """
import asyncio
import pulumi

def settled(value):
    future = asyncio.get_event_loop().create_future()
    future.set_result(value)
    return future

class Claim(pulumi.ComponentResource):
    def __init__(self, name, version):
        super().__init__(f"kubernetes:resource.k8s.io/{version}:ResourceClaim", name, {})

def when_known(_):
    Claim("inside", "v1beta1")

first = Claim("first", "v1")
known = None if pulumi.runtime.is_dry_run() else 1
"""
WAYS = {
    "apply": "pulumi.Output(settled(set()), settled(1), settled(known is not None)).apply(when_known)",
    "dry run": "known and when_known(known)",
}


@pytest.mark.parametrize("how", WAYS)
def test_values_that_no_preview_shows_are_checked_before_creation(
    how: str, tmp_path: Path, tools: Toolset
) -> None:
    project = OtherProject(tmp_path, tools, HIDDEN + WAYS[how])
    assert gate(project)["exitCode"] == 0
    done = project.run("up", "--yes", "--policy-pack", str(running.RUN_PACK))
    assert done.returncode != 0
    assert f"[mandatory] [severity: high]  {STABLE}" in done.stdout
    assert "::inside" not in project.run("stack", "export").stdout
