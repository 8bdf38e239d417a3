"""Runs a preview with the pack and reads its events as they come."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from dra_fleet.core.findings.engine_events import streaming_environment
from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.core.places import PACKAGE, top_folder
from dra_fleet.policy.asked_policies import NOTHING, AskedPolicies
from dra_fleet.policy.gate.errors import NO_ENGINE, GateError, NoEventsError
from dra_fleet.policy.gate.limits import ANSWER_SECONDS, SECONDS, end_session
from dra_fleet.policy.gate.record import read_record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from dra_fleet.policy.gate.record import Record


_CACHE: Final = "__pycache__"

_SITE: Final = "site-packages"

RUN_PACK: Final = top_folder("policies") / "run-pack"

_EXPORT_SECONDS: Final = 60

_TAIL: Final = 20
"""Lines of the engine's own text that an error shows."""


def preview(
    stack: str,
    *,
    directory: Path,
    config: Mapping[str, Any],
    asked: AskedPolicies = NOTHING,
    seconds: float = SECONDS,
    save: Path | None = None,
    on_event: Callable[[Mapping[str, Any]], None] | None = None,
) -> Record:
    """Preview a stack with the pack, by the engine on PATH and the backend it is logged in to.

    Args:
        stack: the stack's name.
        directory: the Pulumi project.
        config: the policy config.
        asked: custom rules and exemptions.
        seconds: the limit of the whole gate; one answer of the pack may take half of it.
        save: where the events are kept too.
        on_event: receives each event, for progress.

    Raises:
        GateError: There is no engine or no project, or the engine said nothing that can be checked.
    """
    engine = shutil.which("pulumi")
    if engine is None:
        raise GateError(NO_ENGINE)
    if not directory.is_dir():
        raise GateError(f"{directory} is not a directory; fix: give the folder of the project with --cwd")
    with tempfile.TemporaryDirectory(prefix="dra-fleet-gate-") as folder:
        file = Path(folder) / "policy-config.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        pack = started(asked, Path(folder), seconds)
        command = [
            engine,
            "preview",
            "--json",
            "--non-interactive",
            *("--stack", stack),
            *("--policy-pack", str(pack)),
            *("--policy-pack-config", str(file)),
        ]
        files = (pack, *asked.paths)
        before = identity(*files)
        record = _run(command, directory, Path(folder) / "engine.txt", save=save, on_event=on_event)
        record.changed_files = changed(before, identity(*files))
        return record


def started(asked: AskedPolicies, folder: Path, seconds: float = SECONDS) -> Path:
    """Return what an engine starts: the pack, or a script that starts it with options."""
    within = min(ANSWER_SECONDS, seconds / 2)
    limit = () if within == ANSWER_SECONDS else ("--answer-within", f"{within:g}")
    if not asked.options and not limit:
        return RUN_PACK
    script = folder / "run-pack"
    command = shlex.join([str(RUN_PACK), *asked.options, *limit])
    script.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return script


def resources_in_state(stack: str, directory: Path) -> Sequence[Mapping[str, Any]]:
    """Return the resources in the state of a stack; none if the engine has no such stack."""
    command = ["pulumi", "stack", "export", "--non-interactive", "--stack", stack]
    process = _start(command, directory, subprocess.DEVNULL)
    try:
        text, _ = process.communicate(timeout=_EXPORT_SECONDS)
    except subprocess.TimeoutExpired:
        return ()
    finally:
        end_session(process)
    if process.returncode:
        return ()
    deployment: dict[str, Any] = json.loads(text).get("deployment") or {}
    return deployment.get("resources") or ()


def _start(command: list[str], directory: Path, errors: IO[str] | int) -> subprocess.Popen[str]:
    """Start the engine in a new session, which `end_session` ends."""
    return subprocess.Popen(
        command,
        cwd=directory,
        env=streaming_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    )


def _run(
    command: list[str],
    directory: Path,
    said: Path,
    *,
    save: Path | None,
    on_event: Callable[[Mapping[str, Any]], None] | None,
) -> Record:
    with said.open("w", encoding="utf-8") as errors:
        with heeding_interrupts():
            process = _start(command, directory, errors)
        try:
            record = read_record(_lines(process, save), "the preview", on_event)
            code = process.wait()
        except NoEventsError:
            process.wait()
            raise GateError(f"pulumi made no preview: {_tail(said) or 'it said nothing'}") from None
        except GateError as problem:
            tail = _tail(said)
            raise GateError(f"{problem}; the engine said: {tail}" if tail else str(problem)) from None
        finally:
            end_session(process)
    if code and not record.errors and not record.violations:
        record.errors.append(f"pulumi ended with exit code {code}: {_tail(said)}")
    return record


def _lines(process: subprocess.Popen[str], save: Path | None) -> Iterator[str]:
    assert process.stdout is not None  # noqa: S101 - asked for above
    if save is None:
        yield from process.stdout
        return
    with save.open("w", encoding="utf-8") as kept:
        for line in process.stdout:
            kept.write(line)
            yield line


def _tail(said: Path) -> str:
    lines = [line.rstrip() for line in said.read_text(encoding="utf-8").splitlines() if line.strip()]
    return "\n".join(lines[-_TAIL:])


def identity(*own: Path) -> Mapping[str, str]:
    """Return the signature of every file that the pack is or runs on, by path.

    These are its own folders, the modules that it imports with their compiled forms, the interpreter, and
    what an environment may contain that changes how Python starts. A folder of the environment counts by the
    names in it, because Python imports from the first folder that has a module.

    A signature has the time of the last change of the file's status, which the kernel sets. Unlike the time
    of modification, no program can set it back: https://man7.org/linux/man-pages/man7/inode.7.html

    Args:
        own: a team's own files and folders, which count too.
    """
    import_module("dra_fleet.policy.serving")  # all that the pack imports, which the gate else does not
    found = {str(file): signature for file in _files(*own) if (signature := _signature(file)) is not None}
    for folder in map(Path, sys.path):
        if folder.name == _SITE and folder.is_dir():
            names = sorted(entry.name for entry in folder.iterdir() if entry.name != _CACHE)
            found[str(folder)] = "\0".join(names)
    return found


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """List the paths whose content differs. Compiled files that Python adds are not listed."""
    return [
        path
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path) and not (path not in before and _CACHE in path)
    ]


def _files(*own: Path) -> Iterator[Path]:
    yield from own
    for folder in (PACKAGE, top_folder("policies"), *own):
        # Compiled forms of what is not imported yet may be of an older source, and Python renews them.
        yield from (file for file in folder.rglob("*") if _CACHE not in file.parts)
    for module in list(sys.modules.values()):
        for place in (getattr(module, "__file__", None), getattr(module, "__cached__", None)):
            if isinstance(place, str):
                yield Path(place)
    yield Path(sys.executable)
    yield Path(sys.prefix) / "pyvenv.cfg"
    for folder in map(Path, sys.path):
        yield from folder.glob("*.pth")


def _signature(file: Path) -> str | None:
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return f"{status.st_dev} {status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
