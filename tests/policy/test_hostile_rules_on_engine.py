import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.policy.gate import running
from dra_fleet.policy.rule_cases import Declared
from dra_fleet.rehearsal.tools import Toolset
from tests.policy.other_project import OtherProject
from tests.policy.own_rules import NAMESPACE, write_rules

pytestmark = pytest.mark.engine

RUNNER = CliRunner()
HOW = {
    "ends the process": "import os; os._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "loops for ever": "while True: pass",
    "holds the interpreter for ever": "import time; time.sleep(10**6)",
}


@pytest.fixture
def project(tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch) -> OtherProject:
    """A program with a namespace, and a stack file that names custom rules."""
    made = OtherProject(tmp_path, tools)
    write_rules(made.folder / "rules")
    assert made.run("config", "set", "--path", "dra-fleet:policies.rules", "./rules").returncode == 0
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    made.declare([Declared(type=NAMESPACE, name="team", properties={"metadata": {"labels": {}}})])
    return made


def change(project: OtherProject, line: str, place: str = "") -> None:
    file = project.folder / "rules" / "namespace_require_owner.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(place, f"{place}    {line}\n", 1) if place else f"{line}\n{text}")


def gated(project: OtherProject, *options: str) -> tuple[int, Any]:
    command = ["gate", "dev", "--cwd", str(project.folder), "--json", *options]
    result = RUNNER.invoke(app, command)
    return result.exit_code, json.loads(result.stdout)


@pytest.mark.parametrize("how", HOW)
def test_a_rule_that_ends_or_delays_the_pack_proves_nothing(how: str, project: OtherProject) -> None:
    change(project, HOW[how], "def check(resource, settings):\n")
    code, report = gated(project)
    assert (code, report["problems"], report["findings"]) == (0, [], [])
    code, report = gated(project, "--project-policies", "--timeout", "30")
    assert (code, report["passed"]) == (3, False)


def test_a_pack_that_hangs_before_its_port_is_ended_with_all_its_processes(
    project: OtherProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note, start = tmp_path / "pid", tmp_path / "hanging-pack"
    start.write_text(f"#!/bin/sh\necho $$ > {note}\nsleep 1000\n", encoding="utf-8")
    start.chmod(0o755)
    monkeypatch.setattr(running, "RUN_PACK", start)
    code, report = gated(project, "--timeout", "15")
    assert code == 3
    assert report["error"].startswith("the gate did not end within 15 s")
    gone(int(note.read_text(encoding="utf-8")))


def test_processes_of_the_program_end_with_the_gate(project: OtherProject, tmp_path: Path) -> None:
    note, program = tmp_path / "pid", project.folder / "__main__.py"
    started = (
        f"import subprocess\nopen({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '1000']).pid))\n"
    )
    program.write_text(started + program.read_text(encoding="utf-8"), encoding="utf-8")
    assert gated(project)[0] == 0
    gone(int(note.read_text(encoding="utf-8")))


def gone(pid: int) -> None:
    """Wait until a process has ended; fail, and end it, if it stays."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout.strip()
        if not state or state.startswith("Z"):
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    pytest.fail(f"the process {pid} is left")
