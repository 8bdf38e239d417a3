import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.schema import schema
from dra_fleet.rehearsal.tools import Toolset, for_language, recipes
from tests.components.program.running import EXAMPLES, PROJECT, Program
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
        pytest.param("yaml", marks=pytest.mark.full),
        pytest.param("typescript", marks=[pytest.mark.network, pytest.mark.full]),
        pytest.param("go", marks=[pytest.mark.network, pytest.mark.full]),
    ],
    indirect=True,
)
def test_program_is_gated_deployed_unchanged_and_deleted(program: Program) -> None:
    first = program.gate()
    assert (first["findings"], first["passed"]) == ([], True)
    made = program.run("up", "--yes")
    assert made.returncode == 0, made.stdout
    template = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
    assert {"dra-fleet:index:ResourceClaimTemplate", template} <= program.types()
    assert '"single-gpu-' in program.run("stack", "output", "--json").stdout
    again = program.run("up", "--yes", "--skip-preview", "--expect-no-changes")
    assert again.returncode == 0, again.stdout
    second = program.gate()
    assert (second["findings"], second["passed"]) == ([], True)
    deleted = program.run("destroy", "--yes", "--skip-preview")
    assert deleted.returncode == 0, deleted.stdout
    assert program.types() == set()


WRONG = {
    "nine replicas on eight devices": (
        ("replicas: 8", "replicas: 9"),
        "Demand inference: on cluster lab, never: inference: 9 x 1 devices are requested, and 8 can match",
    ),
    "class that matches nothing": (
        ("min: 40Gi", "min: 1Ti"),
        "DeviceClass at-least-40g: class at-least-40g matches 0 of 8 devices of a node of pool",
    ),
    "order that is not defined": (
        ('driver: "${nvidia}"', "driver: nvidia"),
        "problem: DeviceClass at-least-40g must be created after ",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("program", ["yaml"], indirect=True)
def test_wrong_program_stops_its_preview_with_one_sentence(program: Program) -> None:
    file = program.folder / "Pulumi.yaml"
    right = yaml.safe_load(file.read_text(encoding="utf-8"))
    example = (EXAMPLES / "yaml" / "Pulumi.yaml").read_text(encoding="utf-8")
    for (old, new), message in WRONG.values():
        assert old in example
        wrong = yaml.safe_load(example.replace(old, new)) | {"plugins": right["plugins"]}
        file.write_text(yaml.safe_dump(wrong), encoding="utf-8")
        done = program.run("preview")
        assert done.returncode != 0
        _, _, diagnostics = done.stdout.partition("Diagnostics:")
        assert diagnostics.count(message) == 1, done.stdout
        assert "Traceback" not in done.stdout
