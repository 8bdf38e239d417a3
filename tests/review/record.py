"""Saves the events that the samples are made of, from rehearsals in a separate home.

`python -m tests.review.record lab` saves what tests look into: the lab's stack, which stays as it is, new,
unchanged, and changed in ways that a person or no one may approve. `python -m tests.review.record dev` saves
the dev stack, new and unchanged, for the golden comment; then run `make generate`.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from tests.engine.rehearsed import STACKS, Rehearsed
from tests.review.samples import DATA

PROJECT = Path(__file__).resolve().parents[2]
KEPT = ('"preludeEvent"', '"resourcePreEvent"', '"policy', '"summaryEvent"', '"diagnosticEvent"')
OMITTED = ('"severity":"debug"', '"policyRemediateSummaryEvent"', '"policyLoadEvent"', "$PATH at ")
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


def record_lab(rehearsed: Rehearsed) -> None:
    """The lab's stack in five states, and what runs."""
    file = STACKS / "lab.yaml"
    _up(rehearsed, str(file), "running")
    project = rehearsed.home / "projects" / "dra-fleet" / "lab"
    _save(rehearsed, project, "first", FRESH, _changed(file, rehearsed.files))
    _save(rehearsed, project, "same", "lab", _changed(file, rehearsed.files))
    for change in (destructive, refused, wrong):
        _save(rehearsed, project, change.__name__, "lab", _changed(file, rehearsed.files, change))


def record_dev(rehearsed: Rehearsed) -> None:
    """The dev stack, new and unchanged, and what runs."""
    file = PROJECT / "Pulumi.dev.yaml"
    _up(rehearsed, "dev", "dev_running")
    _save(rehearsed, PROJECT, "dev_first", FRESH, _changed(file, rehearsed.files))
    _save(rehearsed, PROJECT, "dev_same", "dev", _changed(file, rehearsed.files))


def _up(rehearsed: Rehearsed, stack: str, name: str) -> None:
    up = rehearsed.run("rehearse", "up", stack)
    if up.code:
        raise SystemExit(up.err)
    status = rehearsed.run("rehearse", "status", stack, "--json").out
    (DATA / f"{name}.json").write_text(status, encoding="utf-8")


def _changed(file: Path, folder: Path, change: Callable[[Fleet], None] | None = None) -> Path:
    """Write a separate stack file, changed or as it is."""
    content: Any = YAML(typ="safe", pure=True).load(file)  # pyright: ignore[reportUnknownMemberType]
    if change:
        change(content["config"]["dra-fleet:fleet"])
    changed = folder / "Pulumi.sample.yaml"
    YAML(typ="safe", pure=True).dump(content, changed)  # pyright: ignore[reportUnknownMemberType]
    return changed


def _save(rehearsed: Rehearsed, project: Path, name: str, stack: str, file: Path) -> None:
    preview = (
        f"PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json --non-interactive --stack {stack} "
        f"--config-file {file} --policy-pack {PROJECT / 'policies' / 'run-pack'}"
    )
    if stack == FRESH:
        made = f"pulumi stack init {FRESH} --no-select --non-interactive >/dev/null"
        preview = f"{made} && {{ {preview}; pulumi stack rm {FRESH} --yes --non-interactive >/dev/null; }}"
    said = rehearsed.shell(preview, project)
    lines = [
        line.replace(str(PROJECT), "/dra-fleet")
        for line in said.out.splitlines(keepends=True)
        if any(kind in line for kind in KEPT) and not any(kind in line for kind in OMITTED)
    ]
    if not lines:
        raise SystemExit(f"{name}: the preview said nothing: {said.err}")
    (DATA / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    sys.stderr.write(f"{name}: {len(lines)} events\n")


RECORDERS = {"lab": record_lab, "dev": record_dev}


def main() -> None:
    """Record what the command line names."""
    for name in sys.argv[1:] or RECORDERS:
        with tempfile.TemporaryDirectory(prefix="dra-fleet-record-") as folder:
            rehearsed = Rehearsed(home=Path(folder) / "home", files=Path(folder))
            try:
                RECORDERS[name](rehearsed)
            finally:
                rehearsed.run("rehearse", "down", "--remove")


if __name__ == "__main__":
    main()
