"""Gathers what a review is made of: preview, fleet, proof, how the fleet was, and who holds devices."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dra_fleet.core.yaml_text import bounded_lines
from dra_fleet.fleet import SettingsInvalid
from dra_fleet.fleet.fleet_files import fleet_files
from dra_fleet.fleet.stack_file import Written, read_written
from dra_fleet.review.against import read_against
from dra_fleet.review.assemble import Fleet, Known, fleet_of, previewed_fleet
from dra_fleet.review.errors import ReviewError
from dra_fleet.review.events import read_events
from dra_fleet.review.page import compile_templates
from dra_fleet.review.places import StackText
from dra_fleet.review.was import Was, was_exported

if TYPE_CHECKING:
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import Origin
    from dra_fleet.review.previewing import RunningPreview
    from dra_fleet.review.request import ReviewRequest
    from dra_fleet.review.running import Running


class Holders(Protocol):
    """Who holds devices now."""

    def begin(self, plans: tuple[FleetPlan, ...]) -> None:
        """Ask ahead, with what will be asked in all likelihood."""
        ...

    def told(self, plans: tuple[FleetPlan, ...], was: Was) -> Running | None:
        """Who holds devices, given the stack's plans and how it was; None where nobody is asked."""
        ...


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The preview, the fleet of its stack file, and what that is compared with."""

    preview: Preview
    fleet: Fleet
    was: Was


class Gathering:
    """What one review is made of."""

    def __init__(self, asked: ReviewRequest, holders: Holders) -> None:
        """Read the stack file.

        Args:
            asked: What is reviewed.
            holders: Tells who holds devices.
        """
        self._asked = asked
        self._holders = holders
        try:
            self._written: Written | SettingsInvalid = read_written(asked.file)
        except SettingsInvalid as invalid:
            self._written = invalid

    def seen(self, source: RunningPreview | Path) -> Seen:
        """Follow a preview to its end, and do meanwhile what needs none of it; or read one that was saved.

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
            ReviewError: It cannot be told who holds devices.
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
            running=self._holders.told(_plans(fleet, was), was),
            plan_command=self._asked.plan_command,
            origin=origin,
        )

    def texts(self) -> tuple[StackText, ...]:
        """The files that the fleet stands in, for the places of findings."""
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
        return read_against(self._asked.against, self._asked.file) if self._asked.against else Was()


def _plans(fleet: Fleet, was: Was) -> tuple[FleetPlan, ...]:
    return tuple(item for item in (fleet.plan, was.plan) if item is not None)
