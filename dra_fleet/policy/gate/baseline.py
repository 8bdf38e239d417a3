"""A baseline: the findings that a program had when the gate was adopted. New ones stop it, those do not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.policy.gate.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.policy.gate.verdict import GateFinding, GateVerdict

_RULE: Final = "rule"
_URN: Final = "urn"
_MESSAGE: Final = "message"
_WRITE: Final = "fix: write it with --write-baseline"


def baseline_text(verdict: GateVerdict) -> str:
    """The file that lists what stops a gate now."""
    keys = sorted({_key(finding) for finding in verdict.findings if finding.stops})
    listed = [dict(zip((_RULE, _URN, _MESSAGE), key, strict=True)) for key in keys]
    return json.dumps({"stack": verdict.stack, "findings": listed}, indent=2) + "\n"


def against_baseline(verdict: GateVerdict, path: Path) -> GateVerdict:
    """A verdict in which findings that a baseline lists are known, and what it lists and is gone is told.

    Raises:
        GateError: the file cannot be read, is no baseline, or is another stack's.
    """
    listed = _read(path, verdict.stack)
    findings = [replace(found, known=found.stops and _key(found) in listed) for found in verdict.findings]
    there = {_key(finding) for finding in verdict.findings}
    gone = tuple(f"{rule}: {message}" for rule, urn, message in listed if (rule, urn, message) not in there)
    ordered = sorted(findings, key=lambda found: (not found.stops, found.level != "mandatory"))
    return replace(verdict, findings=tuple(ordered), baseline=True, gone=gone)


def _key(finding: GateFinding) -> tuple[str, str, str]:
    return finding.title, finding.urn, finding.message


def _read(path: Path, stack: str) -> list[tuple[str, str, str]]:
    try:
        content: object = read_json_file(path)
    except OSError as problem:
        raise GateError(f"{path}: the baseline cannot be read: {problem.strerror}; {_WRITE}") from None
    except Unreadable as problem:
        raise GateError(f"{path}: {problem}; {_WRITE}") from None
    held: Mapping[str, Any] = cast("Mapping[str, Any]", content) if isinstance(content, dict) else {}
    findings: object = held.get("findings")
    if not isinstance(findings, list) or not all(map(_is_finding, cast("list[object]", findings))):
        raise GateError(f"{path}: is no baseline; {_WRITE}")
    if held.get("stack") != stack:
        raise GateError(
            f"{path}: is the baseline of the stack {held.get('stack')}, and this is {stack}; {_WRITE}"
        )
    return [(one[_RULE], one[_URN], one[_MESSAGE]) for one in cast("list[dict[str, str]]", findings)]


def _is_finding(value: object) -> bool:
    given: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, dict) else {}
    return all(isinstance(given.get(name), str) for name in (_RULE, _URN, _MESSAGE))
