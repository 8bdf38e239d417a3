"""What a Kubernetes minor changes is told on one page; the page names every file that knows one."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import pytest

from dra_fleet.cel import CelDevice, environment, minors
from dra_fleet.kubernetes.devices.gates import GATED_FIELDS
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.places import ROOT
from dra_fleet.rehearsal.tools import recipes
from tests.proof.proof_helpers import fleet, pool, proved

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "CONTRIBUTING.md"
MINORS = tuple(entry.minor for entry in kubernetes_facts().minors)
_MINOR = re.compile("|".join(rf"\b{re.escape(minor)}\b" for minor in MINORS))
_FOLDERS = ("dra_fleet", "components", "stacks", "policies")


def walk() -> str:
    """The page's walk of a minor."""
    (found,) = re.findall(
        r"^## A Kubernetes minor$.*?(?=^## )", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return found


def texts(file: Path) -> list[str]:
    """The strings of a file, but for its docstrings and those that only document a name."""
    tree = ast.parse(file.read_text("utf-8"))
    documenting = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting
    ]


def test_the_walk_names_every_module_that_knows_a_minor() -> None:
    listed = set(re.findall(r"`((?:dra_fleet|components|stacks|policies)/[\w/.-]+\.py)`", walk()))
    knowing = {
        str(file.relative_to(ROOT))
        for folder in _FOLDERS
        for file in sorted((ROOT / folder).rglob("*.py"))
        if any(_MINOR.search(text) for text in texts(file))
    }
    assert knowing <= listed
    assert all((ROOT / name).is_file() for name in listed)


def test_the_walk_names_what_is_built_per_minor() -> None:
    named = set(re.findall(r"`dra_fleet/rehearsal/engine/([a-z]+)-<minor>`", walk()))
    names = (re.fullmatch(r"(\w+)-1\.\d+", folder.name) for folder in recipes.ENGINE.iterdir())
    built = {match[1] for match in names if match is not None}
    assert named == built


def test_the_cel_of_devices_is_known_of_just_the_minors_that_are_known() -> None:
    assert tuple(f"1.{number}" for number in range(minors.OLDEST, minors.NEWEST + 1)) == MINORS


@pytest.mark.parametrize("minor", MINORS)
def test_every_gated_field_is_known_of_every_minor(minor: str) -> None:
    gates = {gate for fields in GATED_FIELDS.values() for _, gate in fields}
    assert {gate for gate in gates if minor in kubernetes_facts().gate(gate).stages} == gates


@pytest.mark.parametrize("minor", MINORS)
def test_every_minor_has_an_oracle_and_is_planned_and_proved(minor: str) -> None:
    assert (recipes.ENGINE / f"oracle-{minor}").is_dir()
    device = CelDevice.of({"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}, "gpu.nvidia.com")
    assert environment(minor).compile("device.driver == 'gpu.nvidia.com'").evaluate(device)
    settings = fleet(
        {"gpus": pool("hgx-h100-8", "gpus")},
        claims={"one": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}},
        workloads={"train": ("one", 8)},
    )
    (workload,) = proved({**settings, "kubernetes": minor}).workloads
    assert workload.word == "guaranteed"


def test_the_data_of_minors_is_read_nowhere_else() -> None:
    """One search for `minors` finds where minors are known, asked about and read from a program."""
    files = (file for file in (ROOT / "dra_fleet").rglob("minors.*") if file.suffix in (".py", ".yaml"))
    found = {str(file.relative_to(ROOT)) for file in files}
    assert found == {
        "dra_fleet/cel/minors.py",
        "dra_fleet/kubernetes/minors.py",
        "dra_fleet/kubernetes/minors.yaml",
        "dra_fleet/policy/reading/minors.py",
    }
