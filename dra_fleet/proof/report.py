"""A proof as code hosts show it beside a change: SARIF, on the lines of the stack file."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.findings.sarif import SarifResult, SarifRule, SarifRun, sarif

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.core.findings.sarif import Level


class DoesNotFit(Exception):  # noqa: N818 - it does not fit; that is the sentence
    """Claims or workloads cannot get what they ask for; the text says which, why and the fix."""


class RecordingInvalid(ExpectedError):  # noqa: N818 - the recording is invalid; that is the sentence
    """A file of recorded slices that cannot be used; the text says why and what to do."""


class Undecidable(Exception):  # noqa: N818 - an answer on its way up, not an error
    """There is no yes or no: an unknown value, a failure, or too long a search."""


_TOOL: Final = "dra-fleet"

_RULES: Final = (
    SarifRule(
        name="does-not-fit", description="A claim or workload that its pools cannot serve.", level="error"
    ),
    SarifRule(
        name="may-not-fit", description="A proof that is less than certain, or a doubt.", level="warning"
    ),
    SarifRule(name="stack-file", description="A stack file that is rejected.", level="error"),
)

_PLACE: Final = re.compile(r"^  at: (.*):(\d+):\d+$\n?", re.MULTILINE)


def to_sarif(
    stack: Path, here: Path, *, failures: Sequence[str], warnings: Sequence[str], refused: Sequence[str] = ()
) -> dict[str, object]:
    """Return the results of a proof as one SARIF log.

    Args:
        stack: the stack file; if a text has no place, its first line.
        here: the folder from which the code host knows files.
        failures: what stops the program; each may hold a line with its place, `at: FILE:LINE:COLUMN`.
        warnings: what does not.
        refused: what is wrong with the stack file itself, where nothing could be proved.
    """
    run = SarifRun(tool=_TOOL, version=version(_TOOL), rules=_RULES, category=f"dra-fleet-prove/{stack.stem}")
    reported = zip(_RULES, (failures, warnings, refused), strict=True)
    return sarif(
        run,
        [item for rule, texts in reported for item in _results(rule.name, rule.level, texts, stack, here)],
    )


def _results(rule: str, level: Level, texts: Iterable[str], stack: Path, here: Path) -> list[SarifResult]:
    results: list[SarifResult] = []
    for text in texts:
        place = _PLACE.search(text)
        results.append(
            SarifResult(
                rule=rule,
                level=level,
                message=_PLACE.sub("", text).strip(),
                file=_named(Path(place[1]) if place else stack, here),
                line=int(place[2]) if place else 1,
                identity=(_named(stack, here), text.partition("\n")[0]),
            )
        )
    return results


def _named(file: Path, here: Path) -> str:
    return str(file.relative_to(here) if file.is_relative_to(here) else file)
