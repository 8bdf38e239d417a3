"""Request for a review: stack, comparison, events, output.

It imports little: the engine is started by it, and all else is imported while the engine starts.
"""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dra_fleet.core.places import project, stack_name, top_folder
from dra_fleet.review.errors import ReviewError
from dra_fleet.review.previewing import PLAN, PreviewCommand, RunningPreview

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

PACK = top_folder("policies") / "run-pack"
ENGINE = "pulumi"


class ReviewStep(Protocol):
    """A step under way, that is reported where it is."""

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say where it is."""
        ...


@dataclass(frozen=True, kw_only=True)
class ReviewRequest:
    """A request for a review.

    Attributes:
        name: The stack.
        file: Its stack file.
        directory: The Pulumi project.
        out: Where the files go.
        against: What it is compared with, empty for nothing.
        events: Saved events; None runs the engine.
        packs: Policy packs that check.
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
        # Saved events and a separate file need no project.
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

    @contextmanager
    def preview(
        self, step: Callable[[str], AbstractContextManager[ReviewStep]]
    ) -> Generator[RunningPreview | Path]:
        """Start the preview, or say where one is saved; leaving the context stops what is left of it.

        Args:
            step: Opens a step that is shown.

        Raises:
            ReviewError: The files cannot be written, or the engine not be started.
        """
        plan = self._prepare()
        if self.events is not None:
            yield self.events
            return
        command = PreviewCommand(
            pulumi=ENGINE,
            stack=self.name,
            directory=self.directory,
            config_file=self.config_file,
            plan=plan,
            policy_packs=self.packs,
            environment=dict(os.environ),
        )
        with (
            step("preview") as shown,
            RunningPreview(command, lambda count: shown.update(f"{count} resources")) as engine,
        ):
            yield engine

    @property
    def config_file(self) -> Path | None:
        """The stack file, if the engine does not find it by the stack's name."""
        return None if self._has_own_name else self.file

    @property
    def plan_command(self) -> str:
        """Applies what was reviewed; empty without a saved plan."""
        if not (self.out / PLAN).is_file():
            return ""
        options = ["--stack", self.name, "--plan", str(self.out / PLAN)]
        if self.directory != project():
            options = ["--cwd", str(self.directory), *options]
        if not self._has_own_name:
            options += ["--config-file", str(self.file)]
        return shlex.join(["pulumi", "up", *options])

    @property
    def _has_own_name(self) -> bool:
        return self.file == self.directory / f"Pulumi.{self.name}.yaml"

    def _prepare(self) -> Path:
        """Make the folder, remove an earlier plan, and return the file of the new one."""
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            (self.out / PLAN).unlink(missing_ok=True)
        except OSError as problem:
            raise ReviewError(f"{self.out} cannot be written to: {problem.strerror}; choose --out") from None
        return (self.out / PLAN).resolve()
