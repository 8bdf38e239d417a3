"""Runs one preview and follows its events. Whose engine, which back end: whatever the environment says."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self

from dra_fleet.core.findings.engine_events import streaming_environment
from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.review.errors import ReviewError
from dra_fleet.review.events import read_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

    from dra_fleet.review.events import Preview

PLAN: Final = "plan.json"
"""The update plan among the files of a review."""
_STEP: Final = '"resourcePreEvent"'


@dataclass(frozen=True, kw_only=True)
class PreviewCommand:
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
            raise ReviewError(
                f"{command.arguments[0]} cannot be started: {problem.strerror}; put Pulumi on PATH, "
                "or give saved events with --events"
            ) from None

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
