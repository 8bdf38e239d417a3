import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
import yaml
from google.protobuf import empty_pb2
from packaging.requirements import Requirement
from pulumi.runtime.proto import analyzer_pb2, analyzer_pb2_grpc

from dra_fleet.policy import pack
from dra_fleet.policy.gate import preset, running
from dra_fleet.policy.gate.verdict import Expected, GateVerdict, check
from dra_fleet.policy.rule_cases import Declared
from dra_fleet.rehearsal.tools import Toolset
from tests.policy.other_project import PACK, OtherProject

pytestmark = pytest.mark.engine

PROJECT = Path(__file__).resolve().parents[2]
CLUSTER = "dra-fleet:clouds:ExistingCluster"
OLD = Declared(type=CLUSTER, name="train", properties={"kubernetes": "1.33"})
NEW = Declared(type=CLUSTER, name="train", properties={"kubernetes": "1.35"})
FOUND = "cluster-require-minimum-kubernetes"


@pytest.fixture
def project(tmp_path: Path, tools: Toolset) -> OtherProject:
    """Another project, with one cluster that is too old."""
    made = OtherProject(tmp_path, tools)
    made.declare([OLD])
    return made


@pytest.fixture
def standing(project: OtherProject) -> OtherProject:
    """The same, and the cluster is there already."""
    done = project.run("up", "--yes", "--skip-preview")
    assert done.returncode == 0, done.stdout
    return project


def analyze(project: OtherProject, form: Path, first: Path) -> subprocess.CompletedProcess[str]:
    """`pulumi policy analyze`, which runs no program, with no Python of use on PATH."""
    path = os.pathsep.join([str(first), str(project.pulumi.parent), "/usr/bin", "/bin"])
    return project.run("policy", "analyze", "--stack", "dev", "--policy-pack", str(form), PATH=path)


def test_the_executable_pack_runs_its_own_interpreter(standing: OtherProject, tmp_path: Path) -> None:
    others = tmp_path / "others"
    others.mkdir()
    for name in ("python", "python3"):
        (others / name).write_text("#!/bin/sh\nexit 9\n", encoding="utf-8")
        (others / name).chmod(0o755)
    result = analyze(standing, PACK, others)
    assert result.returncode != 0
    assert f"[mandatory] [severity: critical]  {FOUND}" in result.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return the folder of the pack with an environment, as after `pulumi install`: here the tests'."""
    folder = tmp_path / "pack"
    shutil.copytree(PACK.parent, folder)
    (folder / "venv").symlink_to(sys.prefix)
    return folder


def test_the_directory_form_serves_the_pack_from_any_folder(installed: Path, tmp_path: Path) -> None:
    described = yaml.safe_load((installed / "PulumiPolicy.yaml").read_text(encoding="utf-8"))
    assert (described["runtime"]["name"], described["version"]) == ("python", pack.VERSION)
    (required,) = [
        Requirement(line)
        for line in (installed / "requirements.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ]
    assert (required.name, required.extras, str(required.specifier)) == (
        "dra-fleet", {"gate"}, f"=={pack.VERSION}",
    )  # fmt: skip
    python = installed / described["runtime"]["options"]["virtualenv"] / "bin" / "python"
    # As a language host starts it; this project's built one is too old to start packs.
    command = [str(python), "-u", "-m", "pulumi.policy", "127.0.0.1:1", str(installed)]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        port = int(served.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            asked: Any = analyzer_pb2_grpc.AnalyzerStub(channel)
            info = cast("analyzer_pb2.AnalyzerInfo", asked.GetAnalyzerInfo(empty_pb2.Empty()))
        served.kill()
    assert (info.name, info.version) == (pack.NAME, pack.VERSION)
    assert [policy.name for policy in info.policies] == [rule.name for rule in pack.RULES]


def test_an_existing_stack_that_keeps_every_rule_passes(standing: OtherProject) -> None:
    standing.declare([NEW])
    assert standing.run("up", "--yes", "--skip-preview").returncode == 0
    result = standing.run("policy", "analyze", "--stack", "dev", "--policy-pack", str(PACK))
    assert result.returncode == 0, result.stdout


def serving(folder: Path, change: str) -> Path:
    """This pack, changed by a line of Python before it is served."""
    start = folder / "changed-pack"
    program = f"from msgspec.structs import replace; from dra_fleet.policy import pack; {change}"
    started = "from dra_fleet.policy.serving import start; start()"
    start.write_text(
        f"#!/bin/sh\nPYTHONPATH={PROJECT} exec {sys.executable} -u -c '\n{program}\n{started}\n'\n",
        encoding="utf-8",
    )
    start.chmod(0o755)
    return start


def verdict(
    project: OtherProject, start: Path, patch: pytest.MonkeyPatch, *, levels: bool = True
) -> GateVerdict:
    """The gate's, with a pack in place of this one; an engine refuses levels of rules that a pack lacks."""
    project.declare([NEW])
    patch.setattr(running, "RUN_PACK", start)
    for name, value in project.environment.items():
        patch.setenv(name, value)
    record = running.preview(
        "dev", directory=project.folder, config=preset.config("standard") if levels else {}
    )
    return check(record, Expected(preset="standard"))


def test_the_whole_pack_passes(project: OtherProject, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdict(project, PACK, monkeypatch)
    assert (found.problems, found.exit_code) == ((), 0)
    assert len(found.ran) == len([rule for rule in pack.RULES if rule.standard != "disabled"])


def test_a_rule_that_breaks_fails_the_gate(
    project: OtherProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = f'pack.RULES = tuple(replace(r, check=None) if r.name == "{FOUND}" else r for r in pack.RULES)'
    found = verdict(project, serving(tmp_path, change), monkeypatch)
    assert found.exit_code == 3
    assert any(
        "a rule of the policy pack dra-fleet broke: TypeError" in problem for problem in found.problems
    )


def test_a_pack_that_ends_at_once_fails_the_gate(
    project: OtherProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = verdict(project, serving(tmp_path, "raise SystemExit(7)"), monkeypatch)
    assert found.exit_code == 3
    assert any("the policy pack dra-fleet did not run" in problem for problem in found.problems)


def test_a_pack_without_a_mandatory_rule_fails_the_gate_naming_it(
    project: OtherProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = f'pack.RULES = tuple(r for r in pack.RULES if r.name != "{FOUND}")'
    unchecked = f"{change}; pack.check_complete = lambda: None"
    found = verdict(project, serving(tmp_path, change), monkeypatch, levels=False)
    assert found.exit_code == 3
    assert any("did not run" in problem for problem in found.problems)
    found = verdict(project, serving(tmp_path, unchecked), monkeypatch, levels=False)
    assert found.exit_code == 3
    assert [problem.split()[2] for problem in found.problems] == [FOUND]


def test_an_empty_pack_fails_the_gate(
    project: OtherProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = verdict(project, serving(tmp_path, "pack.RULES = ()"), monkeypatch, levels=False)
    assert found.exit_code == 3
    assert any(FOUND in problem or "did not run" in problem for problem in found.problems)
