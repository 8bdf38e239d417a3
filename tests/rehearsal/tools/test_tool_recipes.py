"""What is built, and when it is built again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import ToolsError, recipes, toolset


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A copy of a Go module, to change."""
    return Path(shutil.copytree(recipes.ENGINE / "controlplane", tmp_path / "engine" / "controlplane"))


def recipe_in(
    module: Path, *, package: str = ".", stamp: str = "-X example.com/version={version}"
) -> recipes.Recipe:
    return recipes.Recipe(
        name="controlplane",
        title="Control plane",
        module=module,
        package=package,
        requirement=recipes.KUBERNETES,
        stamp=stamp,
        sources=("*.go", "versionstamp/*.go"),
    )


def test_the_key_changes_with_all_that_decides_what_is_built(engine: Path) -> None:
    keys = [recipe_in(engine).fingerprint("go1.26.8")]
    keys.append(recipe_in(engine).fingerprint("go1.26.9"))
    keys.append(recipe_in(engine, stamp="").fingerprint("go1.26.8"))
    keys.append(recipe_in(engine, package="./other").fingerprint("go1.26.8"))
    for name in ("go.mod", "go.sum", "main.go", "versionstamp/versionstamp.go"):
        with (engine / name).open("a", encoding="utf-8") as file:
            file.write("\n// changed\n")
        keys.append(recipe_in(engine).fingerprint("go1.26.8"))
    assert len(set(keys)) == len(keys)


def test_the_key_does_not_depend_on_where_the_repository_lies_or_on_go_tests(engine: Path) -> None:
    key = recipe_in(recipes.ENGINE / "controlplane").fingerprint("go1.26.8")
    (engine / "more_test.go").write_text("package main\n", encoding="utf-8")
    assert recipe_in(engine).fingerprint("go1.26.8") == key


def test_versions_come_from_the_go_modules() -> None:
    version = recipes.CONTROL_PLANE.version
    assert f"k8s.io/kubernetes {version}" in (recipes.ENGINE / "controlplane" / "go.mod").read_text("utf-8")
    assert f"gitVersion={version} " in recipes.CONTROL_PLANE.ldflags
    assert toolset.playable_minors() == ("1.34", "1.35", "1.36")


def test_a_version_that_go_mod_does_not_pin_is_named() -> None:
    module = recipes.ENGINE / "controlplane"
    with pytest.raises(ToolsError) as refused:
        recipes.pinned(module, "example.com/unknown")
    assert str(refused.value) == f"{module}/go.mod does not require example.com/unknown; restore the file"
