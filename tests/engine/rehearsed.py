"""Runs the command line as a user does, in a separate home, on variations of a stack."""

from __future__ import annotations

import copy
import json
import os
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROJECT = Path(__file__).resolve().parents[2]
STACKS = PROJECT / "tests" / "data" / "stacks"
COMMAND = Path(sys.executable).parent / "dra-fleet"
Settings = dict[str, Any]
CANARY = "a-real-credential-5c1d"
LONGEST = 600.0
"""Seconds; only to end a hang."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """One rehearsal home, a directory for stack files, and which command is run in which project."""

    home: Path
    files: Path
    project: Path = PROJECT
    command: Path = COMMAND
    _shown: dict[tuple[str, str], dict[str, Any]] = field(
        default_factory=dict[tuple[str, str], dict[str, Any]]
    )
    """Output of `up` for a stack and its file, until a command runs that may change something."""

    @property
    def environment(self) -> dict[str, str]:
        """The caller's environment, pointing at this home, with a credential that no run may see."""
        own = {"DRA_FLEET_HOME": str(self.home), "NO_COLOR": "1", "MY_REGISTRY_KEY": CANARY}
        return {**os.environ, **own}

    def run(self, *arguments: str) -> Finished:
        """Run `dra-fleet`."""
        self._shown.clear()
        return self.ask(*arguments)

    def ask(self, *arguments: str) -> Finished:
        """Run a command of `dra-fleet` that changes nothing."""
        return self._finish([str(self.command), *arguments], self.project)

    def up(self, stack: str | Path = "dev") -> dict[str, Any]:
        """Return the output of `rehearse up --json`; run it only if another command than `ask` ran since."""
        key = (str(stack), stack.read_text() if isinstance(stack, Path) else "")
        if key not in self._shown:
            done = self.run("rehearse", "up", str(stack), "--json")
            assert done.code == 0, done.err
            self._shown[key] = done.json
        return self._shown[key]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `dra-fleet` in a separate process group."""
        return self._start([str(self.command), *arguments], self.project)

    def start_shell(self, line: str, directory: Path) -> subprocess.Popen[bytes]:
        """Start a line as `shell` runs it, in a separate process group."""
        return self._start(["bash", "-c", self._in_environment(line)], directory)

    def _start(self, command: Sequence[str], directory: Path) -> subprocess.Popen[bytes]:
        self._shown.clear()
        return subprocess.Popen(
            command,
            cwd=directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def until(self, started: subprocess.Popen[bytes], what: str, reached: Callable[[], bool]) -> None:
        """Wait until a command that was started is somewhere in the midst of its work."""
        deadline = time.monotonic() + LONGEST
        while not reached():
            assert started.poll() is None, f"it ended before {what}"
            assert time.monotonic() < deadline, f"{what}: not within {LONGEST:.0f} s"
            time.sleep(0.05)

    @property
    def events(self) -> Path:
        """The log of the running engine."""
        return self.home / "engine.jsonl"

    def is_changing(self, moment: str) -> bool:
        """Return whether the engine has begun to change a Kubernetes resource with `moment` in its type."""
        text = self.events.read_text(encoding="utf-8") if self.events.exists() else ""
        for line in text.splitlines(keepends=True):
            if "resourcePreEvent" not in line or not line.endswith("\n"):
                continue
            step = json.loads(line)["resourcePreEvent"]["metadata"]
            is_change = step["op"] not in ("same", "read", "refresh")
            if is_change and step["type"].startswith("kubernetes:") and moment in step["type"]:
                return True
        return False

    def shell(self, line: str, directory: Path | None = None) -> Finished:
        """Type a line into a shell that has evaluated `rehearse env`."""
        self._shown.clear()
        return self._finish(["bash", "-c", self._in_environment(line)], directory or self.project)

    def _in_environment(self, line: str) -> str:
        return f'eval "$({shlex.quote(str(self.command))} rehearse env)" && {line}'

    def stack_file(self, change: Callable[[Settings], None] | None = None) -> Path:
        """Write the lab's stack, changed, as the stack `variation`, with the lab's hardware."""
        yaml = YAML(typ="safe", pure=True)
        content: Any = copy.deepcopy(yaml.load(STACKS / "lab.yaml"))  # pyright: ignore[reportUnknownMemberType]
        if change:
            change(content["config"]["dra-fleet:fleet"])
        (self.files / "hardware").mkdir(exist_ok=True)
        hardware = (STACKS / "hardware" / "lab.yaml").read_text()
        (self.files / "hardware" / "variation.yaml").write_text(hardware)
        file = self.files / "variation.yaml"
        yaml.dump(content, file)  # pyright: ignore[reportUnknownMemberType]
        return file

    def state(self, stack: str) -> str:
        """The text of a stack's state file."""
        return (self.home / "backend" / ".pulumi" / "stacks" / "dra-fleet" / f"{stack}.json").read_text()

    def processes(self) -> list[str]:
        """Command lines of living processes that name this home."""
        return [" ".join(item.info["cmdline"]) for item in self.started()]

    def started(self) -> list[psutil.Process]:
        """Living processes whose command line names this home."""
        everything = psutil.process_iter(["cmdline"])
        return [item for item in everything if str(self.home) in " ".join(item.info["cmdline"] or ())]

    def _finish(self, command: Sequence[str], directory: Path) -> Finished:
        done = subprocess.run(
            command,
            cwd=directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
        return Finished(code=done.returncode, out=done.stdout, err=done.stderr)
