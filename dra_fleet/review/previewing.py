"""Request for a review, and the preview that it runs: the environment chooses engine and back end."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, Self

from msgspec import Struct

from dra_fleet.core.findings.engine_events import streaming_environment
from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.core.places import project, stack_name, top_folder
from dra_fleet.policy.gate.errors import NO_ENGINE
from dra_fleet.review.events import ReviewError, read_events

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from typing import TextIO

    from dra_fleet.review.events import Preview


PLAN: Final = "plan.json"
"""The update plan among the files of a review."""
_STEP: Final = '"resourcePreEvent"'


class PreviewCommand(Struct, frozen=True, kw_only=True):
    """Preview command of the engine.

    Attributes:
        pulumi: The engine's command line.
        stack: The stack.
        directory: The Pulumi project.
        config_file: The stack file, where it is not the project's own.
        plan: The file of the update plan.
        policy_packs: Policy packs that check.
        environment: All variables.
    """

    pulumi: str
    stack: str
    directory: Path
    config_file: Path | None
    plan: Path
    policy_packs: Sequence[Path]
    environment: Mapping[str, str]

    @property
    def arguments(self) -> list[str]:
        """Program and arguments."""
        options = ["--stack", self.stack, "--save-plan", str(self.plan), "--json", "--non-interactive"]
        if self.config_file is not None:
            options += ["--config-file", str(self.config_file)]
        for pack in self.policy_packs:
            options += ["--policy-pack", str(pack)]
        return [self.pulumi, "preview", *options, "--color", "never"]


class EngineCommand(Protocol):
    """A command of the engine that prints streaming events and changes nothing."""

    @property
    def arguments(self) -> list[str]:
        """Program and arguments."""
        ...

    @property
    def directory(self) -> Path:
        """The Pulumi project."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """All variables."""
        ...


class RunningEngine:
    """An engine that was started; other work can be done in the meantime, within its context."""

    def __init__(self, command: EngineCommand, on_step: Callable[[int], None]) -> None:
        """Start it.

        Args:
            command: What to run.
            on_step: Receives the number of processed resources.

        Raises:
            ReviewError: The engine cannot be started.
        """
        self._on_step = on_step
        self._said: TextIO = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed at its end
        environment = streaming_environment({**os.environ, **command.environment})
        try:
            with heeding_interrupts():
                self._process = subprocess.Popen(
                    command.arguments,
                    cwd=command.directory,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=self._said,
                    text=True,
                    encoding="utf-8",
                )
        except OSError as problem:
            self._said.close()
            if isinstance(problem, FileNotFoundError):
                raise ReviewError(NO_ENGINE) from None
            raise ReviewError(f"{command.arguments[0]} cannot be started: {problem.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it where it has not ended yet; the engine stops what it started."""
        with self._process, self._said:
            self._process.terminate()

    def lines(self) -> Iterator[str]:
        """Yield the events as they are printed, one each."""
        count = 0
        for line in self._process.stdout or ():
            if _STEP in line:
                count += 1
                self._on_step(count)
            yield line

    def words(self) -> str:
        """Return the lines that the engine printed on stderr, without warnings."""
        self._said.seek(0)
        lines = [line.strip() for line in self._said if not line.startswith("warning:")]
        return "\n".join(line for line in lines if line)

    def wait(self) -> int:
        """Wait for the engine's end and return its exit code."""
        return self._process.wait()

    def kill(self) -> None:
        """End the engine at once."""
        self._process.kill()
        self._process.wait()


class RunningPreview(RunningEngine):
    """A preview that was started."""

    def result(self) -> Preview:
        """Follow it to its end.

        Raises:
            ReviewError: The engine ended without a preview; its own words.
        """
        try:
            preview = read_events(self.lines(), "the preview")
        except ReviewError as problem:
            self.kill()
            raise ReviewError(f"the preview could not be made: {self.words() or problem}") from None
        self.wait()
        if not preview.stack and not preview.steps and not preview.result:
            raise ReviewError(f"the preview could not be made: {self.words() or preview.errors[0]}")
        return preview


# Request for a review: stack, comparison, events, output. It imports little: the engine is started by it,
# and all else is imported while the engine starts.

PACK = top_folder("policies") / "run-pack"
ENGINE = "pulumi"


class ReviewStep(Protocol):
    """A step under way, that is reported where it is."""

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say where it is."""
        ...


class ReviewRequest(Struct, frozen=True, kw_only=True):
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
