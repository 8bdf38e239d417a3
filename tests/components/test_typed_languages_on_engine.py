"""Programs in other languages with typed inputs: SDKs that Pulumi's generators write, on the real engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from components.schema import schema
from dra_fleet.rehearsal.tools import for_language, recipes
from tests.components.program.running import EXAMPLES, PROJECT, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine

HOSTS = {"yaml": recipes.YAML_HOST, "typescript": recipes.NODE_HOST, "go": recipes.GO_HOST}
WRONG_MACHINE = {
    "typescript": ('machine: "hgx-h100-8"', "machine: 8", "not assignable to type"),
    "go": ('"1.36"', "1.36", "cannot use 1.36"),
}


def write_sdk(language: str, folder: Path) -> None:
    """Write the package's SDK for a language."""
    command = [str(for_language(recipes.SDK_GENERATOR)), language, str(folder)]
    subprocess.run(command, input=json.dumps(schema()), text=True, check=True, timeout=300)


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=590)


def with_sdk(language: str, project: Path) -> None:
    """Install what the program of a language imports."""
    if language == "typescript":
        write_sdk("nodejs", project / "sdks" / "dra-fleet")
        done = run(["npm", "install", "--no-audit", "--no-fund"], project)
        assert done.returncode == 0, done.stderr
    if language == "go":
        write_sdk("go", project / "sdks" / "go")
        shutil.copy(project / "sdk.mod", project / "sdks" / "go" / "drafleet" / "go.mod")
        module = "example.com/dra-fleet/sdk/go/drafleet"
        done = run(["go", "mod", "edit", f"-replace={module}=./sdks/go/drafleet"], project)
        assert done.returncode == 0, done.stderr


def check_types(language: str, project: Path) -> subprocess.CompletedProcess[str]:
    """Run the compiler of a language."""
    commands = {
        "typescript": ["npx", "tsc", "--noEmit", "-p", "."],
        "go": ["go", "build", "-o", "program", "."],
    }
    return run(commands[language], project)


@pytest.mark.network
@pytest.mark.full
@pytest.mark.parametrize("language", WRONG_MACHINE)
def test_compiler_accepts_the_example_and_refuses_a_wrong_type(language: str, tmp_path: Path) -> None:
    project = Path(shutil.copytree(EXAMPLES / language, tmp_path / "project"))
    with_sdk(language, project)
    right = check_types(language, project)
    assert right.returncode == 0, right.stdout + right.stderr
    old, new, message = WRONG_MACHINE[language]
    (main,) = (path for path in project.iterdir() if path.name in {"index.ts", "main.go"})
    text = main.read_text(encoding="utf-8")
    assert old in text
    main.write_text(text.replace(old, new), encoding="utf-8")
    wrong = check_types(language, project)
    assert wrong.returncode != 0
    assert message in wrong.stdout + wrong.stderr


@pytest.fixture
def program(
    request: pytest.FixtureRequest, tmp_path: Path, rehearsal_simulator: RehearsalWorld, tools: Toolset
) -> Program:
    """The example of a language beside a cluster with one node of eight H100s."""
    language: str = request.param
    hosts = os.pathsep.join(str(for_language(host).parent) for host in HOSTS.values())
    found = Program(tmp_path, rehearsal_simulator, tools, language, hosts)
    with_sdk(language, found.folder)
    file = found.folder / "Pulumi.yaml"
    settings: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    components = {"name": "dra-fleet", "path": str(PROJECT / "components")}
    settings["plugins"] = {"providers": [components]}
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    found.enter()
    return found


@pytest.mark.parametrize(
    "program",
    [
        "yaml",
        pytest.param("typescript", marks=pytest.mark.network),
        pytest.param("go", marks=[pytest.mark.network, pytest.mark.full]),
    ],
    indirect=True,
)
def test_program_is_deployed_unchanged_and_deleted(program: Program) -> None:
    made = program.run("up", "--yes", "--skip-preview")
    assert made.returncode == 0, made.stdout
    assert {"dra-fleet:index:ExistingCluster", "kubernetes:resource.k8s.io/v1:DeviceClass"} <= program.types()
    assert "clusters" in program.run("stack", "output", "--json").stdout
    again = program.run("up", "--yes", "--skip-preview", "--expect-no-changes")
    assert again.returncode == 0, again.stdout
    deleted = program.run("destroy", "--yes", "--skip-preview")
    assert deleted.returncode == 0, deleted.stdout
    assert program.types() == set()
