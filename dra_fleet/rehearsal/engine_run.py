"""Runs the Pulumi engine once and reads what it did from its event log.

The event log, not the printed text, is the source: it has each step, each finding and each diagnostic.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psutil
from msgspec import Struct, field
from typing_extensions import TypedDict

from dra_fleet.core.findings.errors import ReportedViolation, reported_violation
from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.rehearsal.simulator.processes import CREATION_TOLERANCE, ProcessId, stop_processes

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TextIO

    from dra_fleet.rehearsal.reporting import Reporter, Step


# The engine and everything it starts, as one session of processes that can be stopped as a whole.
#
# Language hosts, plugins and policy packs outlive an engine that is killed. Each run gets a session of its
# own, whose number is recorded, so that what is left of it is found again and nothing else is.

GRACE_SECONDS = 5.0

REST = "the rest"


class TimingJson(TypedDict):
    """A part of a run, its seconds and its share of all."""

    part: str
    seconds: float
    share: float


class Timing(Struct, frozen=True, kw_only=True):
    """Duration of one part of a run.

    Attributes:
        part: its name.
        seconds: what it took.
        share: of the whole run, 0 to 1.
    """

    part: str
    seconds: float
    share: float

    def as_json(self) -> TimingJson:
        """Return the documented shape in `rehearse up --timings --json`."""
        return {"part": self.part, "seconds": round(self.seconds, 3), "share": round(self.share, 4)}


class Timed:
    """A reporter that remembers what each step took.

    Args:
        inner: Receives every report.
    """

    def __init__(self, inner: Reporter) -> None:
        self.inner = inner
        self._began = time.monotonic()
        self._parts: dict[str, float] = {}

    def say(self, line: str) -> None:
        """Report a result that remains while the work continues."""
        self.inner.say(line)

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        """Time a part and report it as a step."""
        with self.part(title), self.inner.step(title) as step:
            yield step

    @contextmanager
    def part(self, title: str) -> Generator[None]:
        """Time a part without a report; parts follow each other."""
        began = time.monotonic()
        try:
            yield
        finally:
            self._parts[title] = self._parts.get(title, 0.0) + time.monotonic() - began

    def split(self, title: str, parts: Mapping[str, float]) -> None:
        """Replace a part that is over by the parts it consisted of; what they do not report stays its own."""
        rest = self._parts.pop(title) - sum(parts.values())
        self._parts |= {f"{title}: {name}": seconds for name, seconds in parts.items()}
        self._parts[f"{title}: else"] = max(rest, 0.0)

    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._began

    def timings(self) -> tuple[Timing, ...]:
        """Return the duration of each part in order, and last the time that no part covers."""
        whole = self.seconds()
        parts = {**self._parts, REST: max(whole - sum(self._parts.values()), 0.0)}
        return tuple(
            Timing(part=part, seconds=seconds, share=seconds / whole) for part, seconds in parts.items()
        )


POLL_SECONDS = 0.1

CANCEL_SECONDS = 60

UNCHANGED = frozenset({"same", "read", "refresh", "read-discard", "discard"})

FINISHED_STEPS = frozenset({"resOutputsEvent", "resOpFailedEvent"})


class EngineResult(Struct, kw_only=True):
    """Result of one run of the engine."""

    exit_code: int = 0
    seconds: float = 0.0
    operations: Counter[str] = field(default_factory=Counter[str])
    findings: list[ReportedViolation] = field(default_factory=list[ReportedViolation])
    rules: set[str] = field(default_factory=set[str])
    errors: list[str] = field(default_factory=list[str])
    text: str = ""
    first_step: float | None = None
    """Seconds until the first resource was finished; None where none was."""
    last_step: float = 0.0

    def parts(self) -> dict[str, float]:
        """Return the seconds of each part of the run, in order."""
        if self.first_step is None:
            return {"without a resource": self.seconds}
        return {
            "until the first resource": self.first_step,
            "resources": self.last_step - self.first_step,
            "after the last resource": self.seconds - self.last_step,
        }

    @property
    def changes(self) -> int:
        """Number of resources that were created, changed, replaced or deleted."""
        return sum(count for operation, count in self.operations.items() if operation not in UNCHANGED)

    def take(self, event: Mapping[str, Any]) -> None:
        """Add one engine event."""
        if summary := event.get("summaryEvent"):
            self.operations.update(summary.get("resourceChanges") or {})
        if finding := event.get("policyEvent"):
            self.findings.append(reported_violation(finding))
        analysed = event.get("policyAnalyzeSummaryEvent") or event.get("policyAnalyzeStackSummaryEvent")
        if analysed:
            self.rules.update(analysed.get("passed") or [])
            self.rules.update(analysed.get("failed") or [])
        diagnostic = event.get("diagnosticEvent")
        if diagnostic and diagnostic["severity"] == "error":
            self.errors.append(diagnostic["message"].strip())


def run_engine(
    command: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    log: Path,
    on_step: Callable[[int, str], None],
) -> EngineResult:
    """Run one `pulumi` command that takes `--event-log`, calling `on_step` as resources are finished.

    Args:
        command: program and arguments, without `--event-log`.
        directory: the Pulumi project.
        environment: all variables, see `dra_fleet.rehearsal.environment`.
        log: the file of the event log; replaced if it exists.
        on_step: receives the number of finished steps and the name of the last.
    """
    log.unlink(missing_ok=True)
    log.touch(mode=0o600)
    result = EngineResult()
    started = time.monotonic()
    steps = 0
    printed = log.with_suffix(".txt")
    record = log.with_suffix(".session")
    stop_left(record)
    with printed.open("w", encoding="utf-8") as output:
        process = start(
            [*command, "--event-log", str(log)],
            directory=directory,
            environment={**environment, "PULUMI_DEBUG_COMMANDS": "true"},
            output=output,
            record=record,
        )
    try:
        for event in _follow(log, process):
            result.take(event)
            if FINISHED_STEPS & event.keys():
                steps += 1
                result.last_step = time.monotonic() - started
                if result.first_step is None:
                    result.first_step = result.last_step
                on_step(steps, _resource_name(event))
        result.exit_code = process.wait()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGINT)  # the engine finishes what is under way and saves its state
        with contextlib.suppress(subprocess.TimeoutExpired):  # then it is killed with all it started
            process.wait(timeout=CANCEL_SECONDS)
        raise
    finally:
        stop_left(record)
    result.text = printed.read_text(encoding="utf-8", errors="replace")
    result.seconds = time.monotonic() - started
    return result


def _follow(log: Path, process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    with log.open(encoding="utf-8") as stream:
        partial = ""
        while True:
            ended = process.poll() is not None
            while chunk := stream.readline():
                partial += chunk
                if partial.endswith("\n"):
                    yield json.loads(partial)
                    partial = ""
            if ended:
                return
            time.sleep(POLL_SECONDS)  # a growing file reports no one


def _resource_name(event: Mapping[str, Any]) -> str:
    step = next(event[kind] for kind in FINISHED_STEPS if kind in event)
    urn: str = step["metadata"]["urn"]
    return urn.rsplit("::", 1)[-1]


def start(
    command: Sequence[str], *, directory: Path, environment: Mapping[str, str], output: TextIO, record: Path
) -> subprocess.Popen[bytes]:
    """Start a program in a separate session and record which one; what cannot be recorded does not run.

    Args:
        command: program and arguments.
        directory: where it runs.
        environment: all its variables.
        output: gets what it prints.
        record: the file that remembers the session.

    Raises:
        OSError: the program cannot be started, or the record not be written.
    """
    with heeding_interrupts():
        process = subprocess.Popen(
            list(command),
            cwd=directory,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        ProcessId(pid=process.pid, created=psutil.Process(process.pid).create_time()).write(record)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return process


def stop_left(record: Path) -> None:
    """Stop what is left of the recorded session."""
    leader = ProcessId.read(record)
    if leader is None:
        return
    leader.signal(signal.SIGKILL)  # at once: what is under way stays in the state as pending, cleared by name
    stop_processes(_members(leader), grace=GRACE_SECONDS)
    record.unlink(missing_ok=True)


def _members(leader: ProcessId) -> list[ProcessId]:
    """Return the processes of the leader's session. Its number is not used again while a member lives."""
    successor = ProcessId.of(leader.pid)
    if successor and abs(successor.created - leader.created) >= CREATION_TOLERANCE:
        return []  # the number was advertised again
    if leader.created < psutil.boot_time() - CREATION_TOLERANCE:
        return []  # the machine was started again, and the number may be that of any session since
    found: list[ProcessId] = []
    for pid in psutil.pids():
        try:
            session = os.getsid(pid)
        except (ProcessLookupError, PermissionError):
            continue
        member = ProcessId.of(pid) if session == leader.pid else None
        if member and member.created >= leader.created - CREATION_TOLERANCE:
            found.append(member)
    return found
