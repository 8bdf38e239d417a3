import ast
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.package.building import PROJECT
from tests.syntax_trees import tree_of

RULES_FOLDER = frozenset({"dra_fleet", "components", "stacks", "policies"})
CORE = ("settings", "plan", "proof", "checking", "clouds", "drivers", "model", "cel", "kubernetes", "facts")
FOLDERS = {
    "": [f"dra_fleet/{package}" for package in CORE],
    "program": ["stacks", "components/core", "components/clouds/existing"],
    "ack": ["components/clouds/ack"],
    "aks": ["components/clouds/aks"],
    "eks": ["components/clouds/eks"],
    "gke": ["components/clouds/gke"],
    "gate": ["policies", "dra_fleet/policy", "dra_fleet/core/declared"],
    "clusters": ["dra_fleet/clusters"],
    "review": ["dra_fleet/review"],
    "rehearse": ["dra_fleet/rehearsal", "dra_fleet/clouds", "dra_fleet/drivers"],
}
"""Folders by the extra that they need, "" for every installation, which loads no `simulation` folder."""


def installed_by(extras: frozenset[str], name: str = "dra-fleet", found: set[str] | None = None) -> set[str]:
    """Return the distributions that a distribution and its extras require."""
    found = set() if found is None else found
    for requested in map(Requirement, requires(name) or ()):
        if any(
            requested.marker is None or requested.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        ):
            new = plain(requested.name) not in found or requested.extras
            found.add(plain(requested.name))
            if new:
                installed_by(frozenset(requested.extras), requested.name, found)
    return found


@cache
def distributions() -> Mapping[str, list[str]]:
    """Return the distribution of each package that can be imported."""
    return packages_distributions()


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@cache
def imported(folder: Path, *, simulations: bool) -> frozenset[str]:
    """Return the packages that a folder's modules import while they run."""
    return frozenset(
        name
        for file in folder.rglob("*.py")
        if simulations or "simulation" not in file.parts
        for name in imports(tree_of(file.read_text("utf-8")))
    )


def imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Import):
        yield from (alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.partition(".")[0]
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):  # no expression imports
            yield from imports(child)


@pytest.mark.slow
@pytest.mark.parametrize("extra", FOLDERS)
def test_an_extra_names_every_package_that_its_folders_import(extra: str) -> None:
    named, known = installed_by(frozenset({extra})), distributions()
    simulations = extra == "rehearse"
    requested = {
        name for folder in FOLDERS[extra] for name in imported(PROJECT / folder, simulations=simulations)
    }
    others = requested - RULES_FOLDER - set(sys.stdlib_module_names)
    assert others
    missing = {name for name in others if named.isdisjoint(map(plain, known.get(name, ())))}
    assert missing == set()


def test_every_extra_is_for_some_folders_or_for_others() -> None:
    extras = {
        str(requested.marker).split('"')[1]
        for requested in map(Requirement, requires("dra-fleet") or ())
        if requested.marker
    }
    assert extras - set(FOLDERS) == {"all"}
