"""Findings as SARIF 2.1.0, the form that code hosts show beside a change.

It knows nothing of who found what. Format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
Level = Literal["none", "note", "warning", "error"]
_SECURITY: Final = {"critical": "9.0", "high": "7.0", "medium": "5.0", "low": "3.0"}


@dataclass(frozen=True, kw_only=True)
class SarifRule:
    """A rule that may have results. `severity` is one of critical, high, medium, low."""

    name: str
    description: str
    help: str
    link: str
    level: Level
    severity: str


@dataclass(frozen=True, kw_only=True)
class SarifResult:
    """One result. `resource` is the logical place, such as a URN; `file` the artifact it is shown on."""

    rule: str
    level: Level
    message: str
    resource: str = ""
    file: str
    line: int = 1


@dataclass(frozen=True, kw_only=True)
class SarifTool:
    """Who found it."""

    name: str
    version: str
    link: str
    rules: tuple[SarifRule, ...] = field(default=())


def sarif(tool: SarifTool, results: Iterable[SarifResult], failures: Iterable[str] = ()) -> dict[str, object]:
    """One SARIF log with one run.

    Args:
        tool: who found it.
        results: what was found.
        failures: why the run as a whole cannot be trusted; a run with any of them is not successful.
    """
    indexes = {rule.name: index for index, rule in enumerate(tool.rules)}
    failed = [{"level": "error", "message": {"text": text}} for text in failures]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": tool.name,
                        "version": tool.version,
                        "informationUri": tool.link,
                        "rules": [_rule(rule) for rule in tool.rules],
                    }
                },
                "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
                "results": [_result(result, indexes) for result in results],
            }
        ],
    }


def _rule(rule: SarifRule) -> dict[str, object]:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.description},
        "help": {"text": rule.help},
        "helpUri": rule.link,
        "defaultConfiguration": {"level": rule.level},
        "properties": {"security-severity": _SECURITY[rule.severity], "tags": [rule.severity]},
    }


def _result(result: SarifResult, indexes: dict[str, int]) -> dict[str, object]:
    location: dict[str, object] = {
        "physicalLocation": {
            "artifactLocation": {"uri": result.file},
            "region": {"startLine": result.line},
        }
    }
    if result.resource:
        name = result.resource.rpartition("::")[2] or result.resource
        location["logicalLocations"] = [
            {"name": name, "fullyQualifiedName": result.resource, "kind": "resource"}
        ]
    identity = f"{result.rule}\n{result.resource}\n{result.message}"
    told: dict[str, object] = {
        "ruleId": result.rule,
        "level": result.level,
        "message": {"text": result.message},
        "locations": [location],
        "partialFingerprints": {"finding/v1": hashlib.sha256(identity.encode()).hexdigest()[:32]},
    }
    if result.rule in indexes:
        told["ruleIndex"] = indexes[result.rule]
    return told
