"""One wish to review: which stack, compared with what, from which events, written where."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dra_fleet.places import project, top_folder
from dra_fleet.plain import dataclass
from dra_fleet.review.against import read_against
from dra_fleet.review.assemble import Fleet, Known, fleet_of, previewed_fleet
from dra_fleet.review.errors import ReviewError
from dra_fleet.review.events import read_events
from dra_fleet.review.page import compile_templates
from dra_fleet.review.places import StackText
from dra_fleet.review.previewing import PreviewCommand, RunningPreview
from dra_fleet.review.was import Was, was_exported
from dra_fleet.review.writing import PLAN, prepare
from dra_fleet.settings import SettingsInvalid
from dra_fleet.settings.fleet_files import fleet_files
from dra_fleet.settings.stack_file import Written, read_written, stack_name
from dra_fleet.yaml_text import bounded_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.events import Preview
    from dra_fleet.review.running import Running

PACK = top_folder("policies") / "run-pack"
ENGINE = "pulumi"


class ReviewStep(Protocol):
    """A step under way, that is told where it is."""

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say where it is."""
        ...


@dataclass(frozen=True, kw_only=True)
class ReviewRequest:
    """What is reviewed.

    Attributes:
        name: The stack.
        file: Its stack file.
        directory: The Pulumi project.
        out: Where the files go.
        against: What it is compared with, empty for nothing.
        events: Saved events; None runs the engine.
        packs: Policy packs that judge.
    """

    name: str
    file: Path
    directory: Path
    out: Path
    against: str
    events: Path | None
    packs: tuple[Path, ...]

    @classmethod
    def of(
        cls,
        stack: str,
        *,
        against: str | None = None,
        events: Path | None = None,
        out: Path | None = None,
        directory: Path | None = None,
        packs: Sequence[Path] = (),
    ) -> ReviewRequest:
        """Find the stack.

        Raises:
            ReviewError: There is no such stack file.
            NoProjectError: There is no project.
        """
        is_path = stack.endswith((".yaml", ".yml"))
        # Saved events and a file of its own need no project.
        folder = (directory or (Path() if is_path and events else project())).resolve()
        file = Path(stack).resolve() if is_path else folder / f"Pulumi.{stack}.yaml"
        if not file.is_file():
            known = sorted(path.name.split(".")[1] for path in folder.glob("Pulumi.*.yaml"))
            raise ReviewError(
                f"there is no stack file {file}. Stacks here: {', '.join(known) or 'none'}; "
                "or give the path of a stack file"
            )
        name = stack_name(file)
        return cls(
            name=name,
            file=file,
            directory=folder,
            out=out or Path("build") / "review" / name,
            against=against or "",
            events=events,
            packs=tuple(pack.resolve() for pack in packs) or (PACK,),
        )

    def known(
        self,
        step: Callable[[str], AbstractContextManager[ReviewStep]],
        running: Callable[[tuple[FleetPlan, ...], Was], Running | None],
    ) -> Known:
        """Run or read the preview, and prove the fleet meanwhile.

        Args:
            step: Opens a step that is shown.
            running: Reads who holds devices, given the stack's plans and how it was.

        Raises:
            ReviewError: Something cannot be read or run.
        """
        plan = prepare(self.out)
        if self.events is not None:
            preview, fleet = self._saved(self.events), Fleet()
            was = read_against(self.against, self.file) if self.against else Was()
        else:
            preview, fleet, was = self._run(plan, step)
        given = previewed_fleet(preview)
        if given is not None and fleet.settings is None and fleet.invalid is None:
            fleet = fleet_of(given)
        if fleet.settings is None and fleet.invalid is None:
            read = self._read
            fleet = fleet_of(read.fleet) if isinstance(read, Written) else Fleet(invalid=read)
        if was.plan is None:
            exported = was_exported(preview.outputs)
            was = replace(exported, problem=was.problem, source=was.source or exported.source)
        plans = tuple(item for item in (fleet.plan, was.plan) if item is not None)
        return Known(
            stack=self.name,
            preview=preview,
            fleet=fleet,
            was=was,
            running=running(plans, was),
            plan_command=self._plan_command() if plan.is_file() else "",
        )

    def texts(self) -> tuple[StackText, ...]:
        """The files that the fleet stands in, for the places of findings."""
        near = next((item for item in self.file.parents if (item / ".git").exists()), self.file.parent)

        def named(file: str | Path) -> str:
            return Path(os.path.relpath(file, near)).as_posix()

        if isinstance(self._read, Written):
            return tuple(
                StackText(path=named(each.file), places=each.places) for each in self._read.documents
            )
        return tuple(
            StackText(path=named(file), text=file.read_text(encoding="utf-8", errors="replace"))
            for file in fleet_files(self.file)
        )

    def _saved(self, file: Path) -> Preview:
        try:
            with file.open("rb") as opened:
                return read_events(bounded_lines(opened), str(file))
        except OSError as problem:
            raise ReviewError(
                f"{file} cannot be read: {problem.strerror}; give saved events of a preview"
            ) from None

    def _run(
        self, plan: Path, step: Callable[[str], AbstractContextManager[ReviewStep]]
    ) -> tuple[Preview, Fleet, Was]:
        own = self.directory / f"Pulumi.{self.name}.yaml"
        command = PreviewCommand(
            pulumi=ENGINE,
            stack=self.name,
            directory=self.directory,
            config_file=None if self.file == own else self.file,
            plan=plan,
            policy_packs=self.packs,
            environment=dict(os.environ),
        )
        with step("preview") as shown:
            engine = RunningPreview(command)
            try:
                # The engine's own work takes longer than these, and another core.
                written = self._read.fleet if isinstance(self._read, Written) else None
                fleet = fleet_of(written) if written is not None else Fleet()
                was = read_against(self.against, self.file) if self.against else Was()
                compile_templates()
                preview = engine.result(lambda count: shown.update(f"{count} resources"))
            except BaseException:
                engine.stop()
                raise
        if written is None or previewed_fleet(preview) not in (None, written):
            fleet = Fleet()  # the engine was given something else, such as values from an environment
        return preview, fleet, was

    @cached_property
    def _read(self) -> Written | SettingsInvalid:
        """What the stack file says, read once; or why it cannot be read."""
        try:
            return read_written(self.file)
        except SettingsInvalid as invalid:
            return invalid

    def _plan_command(self) -> str:
        options = ["--stack", self.name, "--plan", str(self.out / PLAN)]
        if self.directory != project():
            options = ["--cwd", str(self.directory), *options]
        if self.file != self.directory / f"Pulumi.{self.name}.yaml":
            options += ["--config-file", str(self.file)]
        return shlex.join(["pulumi", "up", *options])
