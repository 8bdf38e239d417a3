"""Findings as SARIF 2.1.0, the form that code hosts show beside a change.

It knows nothing of who found what. Format: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Level = Literal["none", "note", "warning", "error"]

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SECURITY: Final = {"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
"""Severities as code scanning's `security-severity`, in the middle of each of its bands."""


class SarifRule(Struct, frozen=True, kw_only=True):
    """A rule that may have results. `severity` is one of critical, high, medium, low; empty for none."""

    name: str
    description: str
    help: str = ""
    link: str = ""
    level: Level
    severity: str = ""
    tags: tuple[str, ...] = ()


class SarifResult(Struct, frozen=True, kw_only=True):
    """A SARIF result.

    Attributes:
        names: the logical places, such as a URN.
        file: the artifact that it is shown on.
        identity: what makes it the same result in the next run.
        suppressed: why it is let be; empty where it is not.
        baseline: how it is to an earlier run, where one is compared with.
    """

    rule: str
    level: Level
    message: str
    names: tuple[str, ...] = ()
    file: str
    line: int = 1
    identity: tuple[str, ...]
    suppressed: str = ""
    baseline: Literal["new", "unchanged"] | None = None


class SarifRun(Struct, frozen=True, kw_only=True):
    """A SARIF run: the tool and its success.

    Attributes:
        category: sets this run's results apart from those of others on the same code.
        failures: why the run as a whole cannot be trusted; with any of them it is not successful.
    """

    tool: str
    version: str = ""
    link: str = ""
    rules: tuple[SarifRule, ...]
    category: str
    failures: tuple[str, ...] = ()
    properties: Mapping[str, object] = field(default_factory=dict[str, object])


def sarif(run: SarifRun, results: Iterable[SarifResult]) -> dict[str, object]:
    """Return one SARIF log with one run. If one result is suppressed, all have their suppressions."""
    results = list(results)
    suppressing = any(result.suppressed for result in results)
    indexes = {rule.name: index for index, rule in enumerate(run.rules)}
    failed = [{"level": "error", "message": {"text": text}} for text in run.failures]
    driver = {
        "name": run.tool,
        "version": run.version,
        "informationUri": run.link,
        "rules": [_rule(rule) for rule in run.rules],
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {key: value for key, value in driver.items() if value != ""}},
                "automationDetails": {"id": f"{run.category}/"},
                "invocations": [{"executionSuccessful": not failed, "toolExecutionNotifications": failed}],
                "results": [_result(result, indexes, suppressing=suppressing) for result in results],
                "columnKind": "unicodeCodePoints",
                "properties": dict(run.properties),
            }
        ],
    }


def _rule(rule: SarifRule) -> dict[str, object]:
    reported: dict[str, object] = {
        "id": rule.name,
        "shortDescription": {"text": rule.description},
        "defaultConfiguration": {"level": rule.level},
    }
    if rule.help:
        reported["help"] = {"text": rule.help}
    if rule.link:
        reported["helpUri"] = rule.link
    if rule.severity:
        reported["properties"] = {"security-severity": _SECURITY[rule.severity], "tags": list(rule.tags)}
    return reported


def _result(result: SarifResult, indexes: Mapping[str, int], *, suppressing: bool) -> dict[str, object]:
    identity = "\0".join((result.rule, *result.identity))
    accepted = {"kind": "external", "status": "accepted", "justification": result.suppressed}
    more: dict[str, object] = {"baselineState": result.baseline} if result.baseline else {}
    if suppressing:
        more["suppressions"] = [accepted] if result.suppressed else []
    return {
        **more,
        "ruleId": result.rule,
        "ruleIndex": indexes.get(result.rule, -1),
        "level": result.level,
        "message": {"text": result.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(result.file)},
                    "region": {"startLine": result.line},
                },
                "logicalLocations": [{"fullyQualifiedName": name} for name in result.names if name],
            }
        ],
        "partialFingerprints": {"finding/v1": hashlib.sha256(identity.encode()).hexdigest()[:32]},
    }
