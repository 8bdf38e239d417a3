"""The findings as SARIF 2.1.0, for code scanning: https://docs.oasis-open.org/sarif/sarif/v2.1.0/.

Each finding is at its place in the stack file where it names one, else at the file's first line, and always
names the resource. What ends running claims is a result too.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from review.places import line_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from review.model import Change, Finding, Review, Severity

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: dict[Severity, str] = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
_SCORES: dict[Severity, str] = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
"""What code scanning reads as `security-severity`, in the middle of each of its bands."""
_CHANGE = "running-claims-lose-devices"

Object = dict[str, Any]


def render_sarif(review: Review, stack_file: str, stack_text: str) -> str:
    """The whole log.

    Args:
        review: What was found.
        stack_file: The stack file's path in its repository.
        stack_text: Its text, in which settings are looked up; may be empty.
    """
    results = [_result(item, stack_file, stack_text) for item in review.findings]
    results += [
        _change(item, stack_file)
        for item in review.changes
        if item.lost_claims or item.weight == "destructive"
    ]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(review)},
                "automationDetails": {"id": f"dra-fleet-review/{review.stack}/"},
                "results": results,
                "columnKind": "unicodeCodePoints",
                "properties": {
                    "decision": review.verdict.decision,
                    "reasons": [item.text for item in review.verdict.reasons],
                },
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _driver(review: Review) -> Object:
    worst: dict[str, Finding] = {}
    for item in review.findings:
        worst.setdefault(item.rule, item)  # they are sorted, gravest first
    rules = [_rule(item) for item in worst.values()]
    if any(item.lost_claims or item.weight == "destructive" for item in review.changes):
        text = "Something that runs ends, or something is deleted"
        rules.append(
            {
                "id": _CHANGE,
                "shortDescription": {"text": text},
                "defaultConfiguration": {"level": "warning"},
            }
        )
    return {"name": "dra-fleet review", "rules": rules}


def _rule(item: Finding) -> Object:
    rule: Object = {
        "id": item.rule,
        "shortDescription": {"text": f"{item.source} {item.rule}"},
        "defaultConfiguration": {"level": _LEVELS[item.severity]},
        "properties": {"security-severity": _SCORES[item.severity], "tags": [item.source, item.level]},
    }
    if item.fix:
        rule["help"] = {"text": item.fix}
    if item.url:
        rule["helpUri"] = item.url
    return rule


def _result(item: Finding, stack_file: str, stack_text: str) -> Object:
    text = item.message if not item.fix or item.fix in item.message else f"{item.message}\nfix: {item.fix}"
    return {
        "ruleId": item.rule,
        "level": "error" if item.level == "mandatory" else _LEVELS[item.severity],
        "message": {"text": text},
        "locations": [
            _location(stack_file, line_of(item.subject, stack_text), [item.resource, item.subject])
        ],
        "partialFingerprints": {"finding/v1": _fingerprint((item.rule, item.resource, item.subject))},
    }


def _change(item: Change, stack_file: str) -> Object:
    urns = [resource.urn for resource in item.resources[:1]]
    return {
        "ruleId": _CHANGE,
        "level": "warning",
        "message": {"text": item.text},
        "locations": [_location(stack_file, 1, [*urns, f"{item.kind} {item.name}"])],
        "partialFingerprints": {"change/v1": _fingerprint((item.kind, item.cluster, item.name, item.action))},
    }


def _location(stack_file: str, line: int, names: Sequence[str]) -> Object:
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": stack_file},
            "region": {"startLine": line},
        },
        "logicalLocations": [{"fullyQualifiedName": name} for name in dict.fromkeys(names) if name],
    }


def _fingerprint(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
