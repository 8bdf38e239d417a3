import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dra_fleet import clouds
from tests.syntax_trees import tree_of

PROJECT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
    "contracts"
]
NAMES = [contract["name"] for contract in CONTRACTS]
BREAKING = {
    "packages import only packages below them": (
        "dra_fleet/model/breaking_packages.py",
        "dra_fleet.fleet.plan.claims",
    ),
    "what decides is pure: no engine, no cloud SDK, no network": (
        "dra_fleet/fleet/plan/breaking_pure.py",
        "httpx2",
    ),
    "a review reads events and the fleet: no engine, no cluster, no cloud SDK, no network but code hosts": (
        "dra_fleet/review/breaking_review.py",
        "dra_fleet.clusters.client",
    ),
    "nothing of the program knows about rehearsals": (
        "components/breaking_program.py",
        "dra_fleet.rehearsal.home",
    ),
    "the gate checks any program: nothing of this one's resources, no cluster, no cloud SDK, no network": (
        "dra_fleet/policy/breaking_gate.py",
        "pulumi_aws",
    ),
    "the proof's packages import one way: supply and demand know nothing of each other": (
        "dra_fleet/proof/supply/breaking_supply.py",
        "dra_fleet.proof.answer.workloads",
    ),
    "each of the three top-level folders stands alone": ("stacks/breaking_folder.py", "components.fleet"),
    "clouds know nothing of one another": (
        "dra_fleet/clouds/gke/breaking_cloud.py",
        "dra_fleet.clouds.aks.checks",
    ),
    "components of clouds know nothing of one another": (
        "components/clouds/gke/breaking_component.py",
        "components.clouds.aks.cluster",
    ),
    "only rehearsals load simulations": (
        "dra_fleet/fleet/plan/breaking_simulation.py",
        "dra_fleet.clouds.aks.simulation.cloud",
    ),
    "drivers know nothing of one another": (
        "dra_fleet/drivers/tpu/breaking_driver.py",
        "dra_fleet.drivers.dranet.driver",
    ),
    "a driver's folder is imported by itself alone, NVIDIA's by its component too": (
        "dra_fleet/check/breaking_driver.py",
        "dra_fleet.drivers.amd.driver",
    ),
    **{
        f"clouds/{name} is imported by its own folders alone": (
            f"dra_fleet/check/breaking_{name}.py",
            f"dra_fleet.clouds.{name}.resources",
        )
        for name in clouds.BUILT_IN
    },
}
"""Contract -> a file, and what it imports, which the contract forbids."""


@pytest.fixture(scope="module")
def sections(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return import-linter's text for each contract, in a copy of the project with all breaking files."""
    copy = tmp_path_factory.mktemp("broken")
    for folder in ("dra_fleet", "components", "stacks", "policies"):
        shutil.copytree(
            PROJECT / folder, copy / folder, ignore=shutil.ignore_patterns("engine", "__pycache__")
        )
    shutil.copy(PROJECT / "pyproject.toml", copy)
    for file, imported in BREAKING.values():
        (copy / file).write_text(f"import {imported}\n", encoding="utf-8")
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache"]
    done = subprocess.run(
        command,
        cwd=copy,
        env={"PYTHONPATH": str(copy), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    _, _, report = done.stdout.partition("Broken contracts")
    starts = sorted((report.index(f"\n{name}\n"), name) for name in NAMES if f"\n{name}\n" in report)
    ends = [start for start, _ in starts[1:]] + [len(report)]
    return {name: report[start:end] for (start, name), end in zip(starts, ends, strict=True)}


def test_every_contract_has_a_file_that_breaks_it() -> None:
    assert sorted(BREAKING) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_breaking_import_is_named(name: str, sections: dict[str, str]) -> None:
    file, imported = BREAKING[name]
    importer = file.removesuffix(".py").replace("/", ".")
    assert f"{importer} -> {imported}" in sections[name]


PROGRAM = ("dra_fleet", "components", "stacks", "policies")
BY_STRING = {"import_module", "resolve_name", "__import__"}
ALLOWED = {
    "components/__main__.py": "serves components under their installed name",
    "dra_fleet/__init__.py": "finds the top folders of a checkout under their installed names",
    "dra_fleet/policy/gate/running.py": "loads what the policy pack loads",
}
"""File -> reason for an import by string."""


def test_no_module_of_the_program_is_imported_by_a_string() -> None:
    found = {
        path.relative_to(PROJECT).as_posix()
        for folder in PROGRAM
        for path in (PROJECT / folder).rglob("*.py")
        for node in ast.walk(tree_of(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and called(node.func) in BY_STRING
    }
    assert found == set(ALLOWED)


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
