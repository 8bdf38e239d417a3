"""Gathers what a review is made of: preview, fleet, proof, how the fleet was, and who holds devices."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.core.places import project, rehearsed_copy
from dra_fleet.core.yaml_text import bounded_lines
from dra_fleet.fleet import SettingsInvalid
from dra_fleet.fleet.stack_file import Written, fleet_at, fleet_files, read_fleet, read_written
from dra_fleet.review.assemble import Fleet, Known, fleet_of, previewed_fleet
from dra_fleet.review.events import ReviewError, read_events
from dra_fleet.review.page import compile_templates
from dra_fleet.review.running import Was, was_exported, was_planned
from dra_fleet.review.writing import StackText

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import Origin
    from dra_fleet.review.previewing import ReviewRequest, RunningPreview
    from dra_fleet.review.running import Running


def read_against(against: str, stack_file: Path) -> Was:
    """Read the fleet from another file or revision.

    Args:
        against: A file's path, or a revision such as `main` or `HEAD~1`.
        stack_file: The stack file that is reviewed.

    Raises:
        ReviewError: There is neither such a file nor such a revision.
    """
    if Path(against).is_file():
        return _was(lambda: read_fleet(Path(against)), against)
    if _show(against, stack_file) is None:
        return Was(source=f"{against}, which has no {stack_file.name} yet")
    return _was(
        lambda: fleet_at(stack_file, lambda file: _show(against, file)), f"{stack_file.name} at {against}"
    )


class Holders(Protocol):
    """Source of the devices' current users."""

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """Ask ahead, with what will be asked in all likelihood."""
        ...

    def read(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """Return the devices' current users for the stack's plans; None if no cluster was asked."""
        ...


class Seen(Struct, frozen=True, kw_only=True):
    """The preview, the fleet of its stack file, and what that is compared with."""

    preview: Preview
    fleet: Fleet
    was: Was


class Gathering:
    """Inputs of one review."""

    def __init__(self, asked: ReviewRequest, holders: Holders) -> None:
        """Read the stack file.

        Args:
            asked: What is reviewed.
            holders: Source of the users of devices.
        """
        self._asked = asked
        self._holders = holders
        try:
            self._written: Written | SettingsInvalid = read_written(asked.file)
        except SettingsInvalid as invalid:
            self._written = invalid

    def seen(self, source: RunningPreview | Path) -> Seen:
        """Follow a preview to its end and do other work in the meantime; or read one that was saved.

        Raises:
            ReviewError: Something cannot be read, or the engine ended without a preview.
        """
        return self._saved(source) if isinstance(source, Path) else self._previewed(source)

    def _previewed(self, engine: RunningPreview) -> Seen:
        # The engine's own work takes longer than these, and another core.
        written = self._written.fleet if isinstance(self._written, Written) else None
        fleet = fleet_of(written) if written is not None else Fleet()
        was = self._compared()
        if plans := _plans(fleet, was):
            self._holders.begin(plans)
        compile_templates()
        preview = engine.result()
        if written is None or previewed_fleet(preview) not in (None, written):
            fleet = Fleet()  # the engine was given something else, such as values from an environment
        return Seen(preview=preview, fleet=fleet, was=was)

    def _saved(self, file: Path) -> Seen:
        try:
            with file.open("rb") as opened:
                preview = read_events(bounded_lines(opened), str(file))
        except OSError as problem:
            raise ReviewError(
                f"{file} cannot be read: {problem.strerror}; give saved events of a preview"
            ) from None
        return Seen(preview=preview, fleet=Fleet(), was=self._compared())

    def known(self, seen: Seen, origin: Origin) -> Known:
        """All that the review is made of.

        Args:
            seen: What was seen.
            origin: Where it was made.

        Raises:
            ReviewError: It is unknown who holds devices.
        """
        fleet, was = seen.fleet, seen.was
        given = previewed_fleet(seen.preview)
        if given is not None and fleet.settings is None and fleet.invalid is None:
            fleet = fleet_of(given)
        if fleet.settings is None and fleet.invalid is None:
            written = self._written
            fleet = fleet_of(written.fleet) if isinstance(written, Written) else Fleet(invalid=written)
        if was.plan is None:
            exported = was_exported(seen.preview.outputs)
            was = replace(exported, problem=was.problem, source=was.source or exported.source)
        return Known(
            stack=self._asked.name,
            preview=seen.preview,
            fleet=fleet,
            was=was,
            running=self._holders.read(_plans(fleet, was), was),
            plan_command=self._asked.plan_command,
            origin=origin,
        )

    def texts(self) -> tuple[StackText, ...]:
        """Return the files that contain the fleet, for the places of findings."""
        own = self._asked.file
        near = next((item for item in own.parents if (item / ".git").exists()), own.parent)

        def named(file: str | Path) -> str:
            return Path(os.path.relpath(file, near)).as_posix()

        if isinstance(self._written, Written):
            return tuple(
                StackText(path=named(each.file), places=each.places) for each in self._written.documents
            )
        return tuple(
            StackText(path=named(file), text=file.read_text(encoding="utf-8", errors="replace"))
            for file in fleet_files(own)
        )

    def _compared(self) -> Was:
        if not self._asked.against:
            return Was()
        file = self._asked.file
        # The rehearsed copy of a stack file is in no repository.
        return read_against(
            self._asked.against, project() / file.name if file.parent == rehearsed_copy() else file
        )


def _plans(fleet: Fleet, was: Was) -> tuple[FleetPlan, ...]:
    return tuple(item for item in (fleet.plan, was.plan) if item is not None)


def _was(read: Callable[[], Mapping[str, Any]], source: str) -> Was:
    try:
        fleet = fleet_of(read())
    except SettingsInvalid as invalid:
        return Was(problem=f"{source}: {invalid}")
    if fleet.invalid is not None or fleet.plan is None or fleet.proof is None:
        return Was(problem=f"{source}: {fleet.invalid}")
    return was_planned(fleet.plan, fleet.proof, source)


def _show(revision: str, stack_file: Path) -> str | None:
    known = _git(stack_file.parent, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if known.returncode != 0:
        raise ReviewError(
            f"--against {revision} is neither a file nor a revision of the repository of {stack_file}; "
            "give the path of another stack file, or a branch, tag or commit"
        )
    shown = _git(stack_file.parent, "show", f"{known.stdout.strip()}:./{stack_file.name}")
    return shown.stdout if shown.returncode == 0 else None


def _git(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["git", "-C", str(directory), *arguments], capture_output=True, text=True, check=False
        )
    except OSError as problem:
        raise ReviewError(
            f"git cannot be started: {problem.strerror}; give the path of another stack file"
        ) from None
