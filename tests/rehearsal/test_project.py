from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from dra_fleet.core import places
from dra_fleet.core.places import ROOT as PROJECT
from dra_fleet.rehearsal import stack_copy
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.project import (
    StackSource,
    ensure_stack,
    find_stack,
    project_directory,
    recorded,
    rehearsed_stack,
    stack_file,
)
from dra_fleet.rehearsal.stack_copy import SALT, ProjectFileError, read_project_file

FLEET = "dra-fleet:fleet: {clusters: {lab: {cloud: existing, kubeconfig: {context: lab}}}}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "home")


def written(file: Path) -> dict[str, Any]:
    return YAML(typ="safe").load(file)  # pyright: ignore[reportUnknownMemberType]


def test_a_stack_is_found_by_its_name_with_its_hardware() -> None:
    assert find_stack("dev") == StackSource(
        name="dev", file=PROJECT / "Pulumi.dev.yaml", hardware=PROJECT / "hardware" / "dev.yaml"
    )


def test_a_stack_is_found_by_its_file_wherever_the_caller_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Pulumi.lab.yaml").touch()
    monkeypatch.chdir(tmp_path)
    assert stack_file("Pulumi.lab.yaml") == ("lab", tmp_path / "Pulumi.lab.yaml")


def test_hardware_of_another_place_is_taken_where_it_is_named(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.touch()
    assert find_stack("dev", hardware=other).hardware == other


def test_a_stack_without_hardware_is_reported_where_to_describe_it(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.touch()
    with pytest.raises(RehearsalError) as refused:
        find_stack(str(file)).require_hardware()
    assert str(refused.value).startswith(
        f"stack lab has no simulated hardware: {tmp_path}/hardware/lab.yaml does not exist. "
    )


def test_a_stack_of_the_project_runs_where_it_is(home: Home) -> None:
    assert project_directory(home, find_stack("dev")) == PROJECT
    assert not home.root.exists()


def test_any_other_file_runs_from_a_project_whose_program_is_this_one(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(f"encryptionsalt: other\nconfig:\n  {FLEET}\n")
    source = StackSource(name="lab", file=file, hardware=file)

    directory = project_directory(home, source)

    assert directory == home.root / "projects" / "dra-fleet" / "lab"
    assert directory.stat().st_mode & 0o777 == 0o700
    project = written(directory / "Pulumi.yaml")
    assert project["main"] == str(PROJECT)
    assert project["runtime"]["options"]["virtualenv"] == str(PROJECT / ".venv")
    assert written(directory / "Pulumi.lab.yaml")["encryptionsalt"] == SALT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "lab.yaml"]


def test_a_file_that_can_be_rehearsed_as_it_is_is_copied_to_the_letter(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(f"encryptionsalt: {SALT} # kept\nconfig:\n  acme:day: 2026-11-21\n  {FLEET}\n")

    directory = project_directory(home, StackSource(name="lab", file=file, hardware=file))

    copied = directory / "Pulumi.lab.yaml"
    assert copied.read_text() == file.read_text()
    assert copied.stat().st_mode & 0o777 == 0o600


def test_a_fleet_is_rehearsed_with_all_that_it_extends(home: Home, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(f"config:\n  {FLEET.replace('context: lab', 'context: real')}\n")
    file = tmp_path / "staging.yaml"
    file.write_text(
        "config:\n  dra-fleet:fleet: {extends: base.yaml, clusters: {lab: {pools: {h100: null}}}}\n"
    )

    directory = project_directory(home, StackSource(name="staging", file=file, hardware=file))

    copied = directory / "fleet.yaml"
    assert written(directory / "Pulumi.staging.yaml")["config"] == {
        "dra-fleet:fleet": {"extends": str(copied)}
    }
    assert written(copied)["config"]["dra-fleet:fleet"]["clusters"] == {
        "lab": {"cloud": "existing", "kubeconfig": {"context": "lab"}, "pools": {"h100": None}}
    }


@pytest.fixture
def other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another project than the checkout, with a folder in it that the caller works in."""
    folder = tmp_path / "acme"
    (folder / "docs").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: acme-gpus\nruntime: python\nmain: program\n")
    (folder / "Pulumi.prod.yaml").write_text(f"config:\n  {FLEET}\n")
    monkeypatch.chdir(folder / "docs")
    return folder


def test_stacks_are_those_of_the_project_that_the_caller_works_in(other: Path) -> None:
    assert find_stack("prod") == StackSource(
        name="prod", file=other / "Pulumi.prod.yaml", hardware=other / "hardware" / "prod.yaml"
    )
    with pytest.raises(RehearsalError) as refused:
        stack_file("dev")
    assert str(refused.value).startswith(
        f"there is no stack file {other}/Pulumi.dev.yaml. Stacks here: prod; "
    )


@pytest.mark.parametrize("there", [True, False])
def test_another_project_s_virtualenv_is_taken_where_it_is_there(
    home: Home, other: Path, *, there: bool
) -> None:
    runtime = "{name: python, options: {toolchain: pip, virtualenv: .venv}}"
    (other / "Pulumi.yaml").write_text(f"name: acme-gpus\nruntime: {runtime}\n")
    if there:
        (other / ".venv").mkdir()

    directory = project_directory(home, find_stack("prod"))

    options = {"toolchain": "pip"} | ({"virtualenv": str(other / ".venv")} if there else {})
    assert written(directory / "Pulumi.yaml")["runtime"]["options"] == options


def test_another_project_s_own_program_is_rehearsed(home: Home, other: Path) -> None:
    directory = project_directory(home, find_stack("prod"))

    assert directory == home.root / "projects" / "acme-gpus" / "prod"
    assert written(directory / "Pulumi.yaml") == {
        "name": "acme-gpus",
        "runtime": "python",
        "main": str(other / "program"),
    }
    assert sorted(path.name for path in other.iterdir()) == ["Pulumi.prod.yaml", "Pulumi.yaml", "docs"]


def test_no_stack_is_selected_for_another_project_s_rehearsal(home: Home, other: Path) -> None:
    del other
    remembers(home, "dev")
    assert rehearsed_stack(home, None) is None


def test_without_a_project_a_stack_s_name_says_where_to_run_and_how_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(places, "ROOT", tmp_path)
    with pytest.raises(places.NoProjectError) as refused:
        stack_file("dev")
    assert str(refused.value) == (
        f"there is no Pulumi.yaml in {tmp_path} or above it; "
        "fix: run this in the folder of your project, or make one: dra-fleet init fleet"
    )
    (tmp_path / "lab.yaml").touch()
    assert stack_file("lab.yaml") == ("lab", tmp_path / "lab.yaml")


def test_a_renamed_project_s_stacks_are_found_under_its_name(home: Home, other: Path) -> None:
    kept = recorded(home.backend, "dev")
    assert kept == home.backend / ".pulumi" / "stacks" / "acme-gpus" / "dev.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    assert rehearsed_stack(home, None) == ("dev", other)
    assert stack_copy.reference("organization/acme-gpus/site") == ("acme-gpus-reference", "site")


def test_the_project_names_no_key_of_a_namespace_that_a_renamed_one_would_not_have() -> None:
    assert "config" not in written(PROJECT / "Pulumi.yaml")


def test_a_changed_file_is_copied_again(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    source = StackSource(name="lab", file=file, hardware=file)
    for owner in ("first", "second"):
        file.write_text(f"config:\n  {FLEET}\n  a:b: {owner}\n")
        directory = project_directory(home, source)
        assert written(directory / "Pulumi.lab.yaml")["config"]["a:b"] == owner


def engine(directory: Path, script: str) -> Path:
    """A program that stands for the engine's command line."""
    directory.mkdir(exist_ok=True)
    program = directory / "pulumi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_a_stack_that_is_there_is_not_made_again(home: Home, tmp_path: Path) -> None:
    stacks = home.backend / ".pulumi" / "stacks" / "dra-fleet"
    stacks.mkdir(parents=True)
    (stacks / "lab.json").touch()
    ensure_stack(home, engine(tmp_path, "exit 1"), "lab", tmp_path, {})


def test_a_stack_is_made_in_the_homes_backend(home: Home, tmp_path: Path) -> None:
    pulumi = engine(tmp_path, 'echo "$@" > called')
    ensure_stack(home, pulumi, "lab", tmp_path, {})
    assert (tmp_path / "called").read_text() == "stack init lab --no-select --non-interactive\n"


def test_reports_the_engine_s_objections_to_a_stack(home: Home, tmp_path: Path) -> None:
    pulumi = engine(tmp_path, "echo 'error: invalid stack name' >&2; exit 255")
    with pytest.raises(RehearsalError) as refused:
        ensure_stack(home, pulumi, "lab", tmp_path, {})
    assert str(refused.value) == "the engine could not create stack lab: error: invalid stack name"


def remembers(home: Home, *stacks: str) -> Path:
    folder = home.backend / ".pulumi" / "stacks" / "dra-fleet"
    folder.mkdir(parents=True)
    for stack in stacks:
        (folder / f"{stack}.json").touch()
    return home.root / "projects" / "dra-fleet"


def test_the_only_rehearsed_stack_is_selected_with_its_own_project(home: Home) -> None:
    projects = remembers(home, "lab")
    assert rehearsed_stack(home, None) == ("lab", PROJECT)
    (projects / "lab").mkdir(parents=True)
    assert rehearsed_stack(home, None) == ("lab", projects / "lab")


def test_of_several_rehearsed_stacks_the_named_one_is_selected_else_dev(home: Home, tmp_path: Path) -> None:
    remembers(home, "dev", "lab")
    (tmp_path / "lab.yaml").touch()
    assert rehearsed_stack(home, None) == ("dev", PROJECT)
    assert rehearsed_stack(home, "dev") == ("dev", PROJECT)
    assert rehearsed_stack(home, str(tmp_path / "lab.yaml")) == ("lab", PROJECT)


def test_none_of_several_rehearsed_stacks_is_selected_where_none_is_dev(home: Home) -> None:
    remembers(home, "lab", "train")
    assert rehearsed_stack(home, None) is None


@pytest.mark.parametrize("named", ["dev", None])
def test_a_stack_that_was_not_rehearsed_is_reported_with_the_way_to_do_it(
    named: str | None, home: Home
) -> None:
    with pytest.raises(RehearsalError) as refused:
        rehearsed_stack(home, named)
    assert str(refused.value) == (
        f"stack dev is not rehearsed in {home.root}; run `dra-fleet rehearse up dev` first"
    )


NO_NAME = ": names no name; fix: write one, such as `name: gpu-fleet`"
NO_RUNTIME = ": names no runtime; fix: write one, such as `runtime: python`"


def test_a_project_s_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.yaml"
    file.write_text("name: acme\nruntime: {name: python}\nmain: program\n", encoding="utf-8")
    assert read_project_file(file) == {"name": "acme", "runtime": {"name": "python"}, "main": "program"}


@pytest.mark.parametrize(
    ("text", "output"),
    [
        (
            b"a: [\n",
            (
                ":2:1: is not valid YAML: did not find expected node content; "
                "fix: look at the indentation, quotes and brackets above"
            ),
        ),
        (b"\xff", ":1:1: is not UTF-8 text; fix: save it as UTF-8"),
        (b"", NO_NAME),
        (b"- a\n", NO_NAME),
        (b"runtime: python\n", NO_NAME),
        (b"name: 3\nruntime: python\n", NO_NAME),
        (b"name: acme\n", NO_RUNTIME),
        (b"name: acme\nruntime: 3\n", NO_RUNTIME),
    ],
)
def test_names_values_that_the_engine_rejected(text: bytes, output: str, tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.yaml"
    file.write_bytes(text)
    with pytest.raises(ProjectFileError) as refused:
        read_project_file(file)
    assert str(refused.value) == f"{file}{output}"


def test_a_folder_of_that_name_is_no_project_s_file(tmp_path: Path) -> None:
    with pytest.raises(ProjectFileError) as refused:
        read_project_file(tmp_path)
    assert str(refused.value) == f"{tmp_path}: cannot be read: Is a directory"
