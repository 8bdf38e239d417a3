"""Saves the events that the samples are made of, from a rehearsal of the dev stack.

Run it after the dev stack changed, in a shell that has evaluated `dra-fleet rehearse env` of a rehearsal that
is up: `python -m tests.review.record`, then `python -m tests.review.golden`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

from tests.review.samples import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PROJECT = Path(__file__).resolve().parents[2]
KEPT = ('"preludeEvent"', '"resourcePreEvent"', '"policy', '"summaryEvent"', '"diagnosticEvent"')
LEFT_OUT = ('"severity":"debug"', '"policyRemediateSummaryEvent"', '"policyLoadEvent"', "$PATH at ")
FRESH = "fresh"
"""A stack that nothing was deployed to."""

Fleet = dict[str, Any]


def destructive(fleet: Fleet) -> None:
    """Workloads, a template and a class go or change."""
    del fleet["workloads"]["train-pair"]
    del fleet["claims"]["gpu-pair"]
    fleet["claims"]["single-gpu"]["requests"]["gpu"]["class"] = "gpu.nvidia.com"
    fleet["classes"]["mig-5g"]["multiprocessors"]["min"] = 10
    fleet["clusters"]["lab"]["pools"]["a100"]["nodes"]["max"] = 2


def refused(fleet: Fleet) -> None:
    """More copies than devices, and a claim of the wrong class."""
    fleet["workloads"]["infer"]["copies"] = 30
    fleet["claims"]["single-gpu"]["requests"]["gpu"]["class"] = "mig-5g"


def wrong(fleet: Fleet) -> None:
    """Two errors in the file."""
    fleet["kubernetes"] = "1.33"
    fleet["clusters"]["lab"]["pools"]["a100"]["machin"] = "x"


CHANGES: Mapping[str, tuple[str, Callable[[Fleet], None] | None]] = {
    "first": (FRESH, None),
    "same": ("dev", None),
    "destructive": ("dev", destructive),
    "refused": ("dev", refused),
    "wrong": ("dev", wrong),
}
"""By sample the stack and how its file is changed."""


def record() -> None:
    """Save all events, and what runs."""
    command = Path(sys.executable).parent / "dra-fleet"
    status = subprocess.run(
        [str(command), "rehearse", "status", "--json"], capture_output=True, text=True, check=True
    )
    (DATA / "running.json").write_text(status.stdout, encoding="utf-8")
    _pulumi("stack", "init", FRESH, "--no-select")
    try:
        for name, (stack, change) in CHANGES.items():
            (DATA / f"{name}.jsonl").write_text("".join(_events(stack, change)), encoding="utf-8")
    finally:
        _pulumi("stack", "rm", FRESH, "--yes", "--preserve-config")


def _events(stack: str, change: Callable[[Fleet], None] | None) -> list[str]:
    yaml = YAML(typ="safe", pure=True)
    content: Any = deepcopy(yaml.load(PROJECT / "Pulumi.dev.yaml"))  # pyright: ignore[reportUnknownMemberType]
    if change:
        change(content["config"]["dra-fleet:fleet"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "Pulumi.sample.yaml"
        yaml.dump(content, file)  # pyright: ignore[reportUnknownMemberType]
        pack = str(PROJECT / "policies" / "run-pack")
        options = ["--json", "--stack", stack, "--config-file", str(file), "--policy-pack", pack]
        said = _pulumi("preview", *options, PULUMI_ENABLE_STREAMING_JSON_PREVIEW="true")
    return [
        line
        for line in said.splitlines(keepends=True)
        if any(kind in line for kind in KEPT) and not any(kind in line for kind in LEFT_OUT)
    ]


def _pulumi(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        ["pulumi", *arguments, "--non-interactive"],
        cwd=PROJECT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.stdout


if __name__ == "__main__":
    record()
