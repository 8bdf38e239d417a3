"""Stack file of a command, and the Pulumi project directory for it.

A stack of the project itself (`Pulumi.<stack>.yaml` beside Pulumi.yaml) runs where it is if its file can be
rehearsed unchanged. Any other stack file, such as one of `examples/`, gets a separate project directory in
the rehearsal's home whose `main` is the project's program, so that the engine writes nothing beside the file.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import yaml12
from msgspec import Struct

from dra_fleet.core.facts import use_beside
from dra_fleet.core.findings.errors import KEY
from dra_fleet.core.places import PROJECT_FILE, nearest_project, project, stack_name
from dra_fleet.fleet.stack_file import read_written
from dra_fleet.rehearsal import stack_copy
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.simulator.files import write_private
from dra_fleet.rehearsal.stack_copy import read_project_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.home import Home


class StackSource(Struct, frozen=True, kw_only=True):
    """A stack's name, its file, and its simulated hardware."""

    name: str
    file: Path
    hardware: Path

    @property
    def argument(self) -> str:
        """Name of the stack in commands, or the path of a file that is not the project's own."""
        return self.name if self.file == _own_file(self.name) else str(self.file)

    def require_hardware(self) -> None:
        """Check that the hardware file is there.

        Raises:
            RehearsalError: it is not.
        """
        if not self.hardware.is_file():
            raise RehearsalError(
                f"stack {self.name} has no simulated hardware: {self.hardware} does not exist. "
                "Describe its nodes there (see docs/rehearsal.md), or name another file with --hardware"
            )


def stack_file(stack: str) -> tuple[str, Path]:
    """Return a stack's name and file, from its name (`dev`) or a path (`stacks/prod.yaml`).

    A custom catalogue next to the file counts from then on.

    Raises:
        RehearsalError: there is no such file.
    """
    is_path = stack.endswith((".yaml", ".yml")) or "/" in stack
    file = Path(stack) if is_path else _own_file(stack)
    if not file.is_file():
        here = nearest_project()
        files = here.glob("Pulumi.*.yaml") if here else ()
        known = ", ".join(sorted(path.name.split(".")[1] for path in files))
        folder = next((path for path in (file, Path(stack)) if path.is_dir()), None)
        what = f"{folder} is a directory" if folder else f"there is no stack file {file}"
        what = what if stack.strip() else "the name of the stack is empty"
        raise RehearsalError(
            f"{what}. Stacks here: {known or 'none'}; "
            "or give the path of a stack file, such as stacks/prod.yaml"
        )
    use_beside(file)
    return stack_name(file), file.resolve()


def find_stack(stack: str, *, hardware: Path | None = None) -> StackSource:
    """Find a stack and the description of its simulated hardware.

    A stack whose clusters all come from clouds may have no hardware file; one that is named must be there.

    Raises:
        RehearsalError: there is no such stack file, or no such hardware file.
    """
    name, file = stack_file(stack)
    source = StackSource(name=name, file=file, hardware=hardware or file.parent / "hardware" / f"{name}.yaml")
    if hardware is not None:
        source.require_hardware()
    return source


def project_directory(home: Home, source: StackSource) -> Path:
    """Return the directory to run `pulumi` in for this stack."""
    fleet, (first, *extended) = read_written(source.file)
    document = cast("stack_copy.Document", first.value)
    as_it_is = not extended and stack_copy.rehearsed(document) == document
    here = project()
    if as_it_is and source.file == _own_file(source.name):
        return here
    directory = _copied(home, source.name)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    copied = read_project_file(here / PROJECT_FILE)
    copied["main"] = str(here / copied.get("main", ""))
    match copied["runtime"]:
        case {"options": {"virtualenv": str(named)} as options}:
            options["virtualenv"] = str(here / named)
            if not (here / named).is_dir():
                del options["virtualenv"]  # then it is the first Python on PATH, the one that runs this
        case _:
            pass  # so is it without the option
    (directory / PROJECT_FILE).write_text(yaml12.format_yaml(copied) + "\n", encoding="utf-8")
    file = directory / f"Pulumi.{source.name}.yaml"
    if as_it_is:
        write_private(file, source.file.read_text(encoding="utf-8"))
        return directory
    rehearsed = stack_copy.rehearsed(stack_copy.read(source.file))
    if extended:
        copied_fleet = directory / "fleet.yaml"
        whole = stack_copy.redirected({"config": {KEY: dict(fleet)}})
        stack_copy.write(whole, copied_fleet)
        # The rehearsal's language host reports a program nothing of the project's folder.
        rehearsed["config"][KEY] = {"extends": str(copied_fleet)}
    stack_copy.write(rehearsed, file)
    return directory


def rehearsed_stack(home: Home, stack: str | None) -> tuple[str, Path] | None:
    """Return the name of a rehearsed stack and the directory to run `pulumi` in for it.

    Args:
        home: where the rehearsals live.
        stack: its name, or the path of its file. None: the only one there is, or `dev`; where that is open,
            the answer is None.

    Raises:
        RehearsalError: it is not rehearsed in this home, or nothing is.
    """
    found = sorted(file.stem for file in recorded(home.backend, "*").parent.glob("*.json"))
    name = stack_file(stack)[0] if stack else found[0] if len(found) == 1 else "dev"
    if name in found:
        copy = _copied(home, name)
        return name, copy if copy.is_dir() else project()
    if stack is None and any(home.backend.glob(".pulumi/stacks/*/*.json")):
        return None  # what is rehearsed is another project's, or no one said which
    raise RehearsalError(
        f"stack {name} is not rehearsed in {home.root}; run `dra-fleet rehearse up {stack or name}` first"
    )


def _copied(home: Home, stack: str) -> Path:
    return home.root / "projects" / stack_copy.project_name() / stack


def _own_file(stack: str) -> Path:
    return project() / f"Pulumi.{stack}.yaml"


def recorded(backend: Path, stack: str, project_name: str | None = None) -> Path:
    """Return the engine's own record of a stack; it exists once the stack has been created."""
    return backend / ".pulumi" / "stacks" / (project_name or stack_copy.project_name()) / f"{stack}.json"


def recorded_state(record: Path) -> dict[str, Any]:
    """Return the state in such a record; {} before the first update."""
    return json.loads(record.read_text(encoding="utf-8"))["checkpoint"].get("latest") or {}


def ensure_stack(
    home: Home,
    pulumi: Path,
    stack: str,
    directory: Path,
    env: Mapping[str, str],
    *,
    project_name: str | None = None,
) -> None:
    """Create the stack in the rehearsal's backend unless it is there.

    Raises:
        RehearsalError: the engine refused; its own text.
    """
    if recorded(home.backend, stack, project_name).exists():
        return
    command = [str(pulumi), "stack", "init", stack, "--no-select", "--non-interactive"]
    made = subprocess.run(command, cwd=directory, env=dict(env), capture_output=True, text=True, check=False)
    if made.returncode != 0 and "already exists" not in made.stderr:
        raise RehearsalError(f"the engine could not create stack {stack}: {made.stderr.strip()}")
