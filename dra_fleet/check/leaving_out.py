"""Findings that somebody decided to leave out: by a comment at their line, for a file, or in a list.

A comment `# dra-fleet: ignore RULE, RULE` leaves them out on its own line and on the one below;
`# dra-fleet: ignore-file RULE` in all of the file. A line of a list is `GLOB RULE,RULE`; `#` begins a reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatch
from typing import TYPE_CHECKING

from dra_fleet.check.rules import RULES
from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.core.findings.finding import FileFinding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_NAMES = r"[a-z][a-z-]*(?:\s*,\s*[a-z][a-z-]*)*"
_COMMENT = re.compile(rf"#\s*dra-fleet:\s*ignore(?P<all>-file)?\s+(?P<rules>{_NAMES})")


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Rules that do not count in files.

    Attributes:
        files: The pattern of their names.
        rules: The rules.
        lines: The lines on which they do not count; empty for all.
    """

    files: str
    rules: frozenset[str]
    lines: tuple[int, ...] = ()

    def covers(self, finding: FileFinding) -> bool:
        """Whether a finding is left out."""
        is_there = finding.file == self.files or fnmatch(finding.file, self.files)
        return is_there and finding.rule in self.rules and (not self.lines or finding.line in self.lines)


def comments(name: str, data: bytes, found: list[FileFinding], known: Collection[str]) -> Iterator[LeftOut]:
    """What the comments of a file leave out; rules that are not known are told."""
    for line, text in enumerate(data.decode("utf-8", errors="replace").splitlines(), 1):
        match = _COMMENT.search(text)
        if match is not None:
            rules = _rules(name, line, match["rules"], found, known)
            yield LeftOut(files=name, rules=rules, lines=() if match["all"] else (line, line + 1))


def listed(name: str, text: str, found: list[FileFinding], known: Collection[str] = RULES) -> list[LeftOut]:
    """What a list leaves out; rules that are not known are told."""
    lines = (
        (number, line.partition("#")[0].split(None, 1)) for number, line in enumerate(text.splitlines(), 1)
    )
    return [
        LeftOut(files=words[0], rules=_rules(name, number, "".join(words[1:]), found, known))
        for number, words in lines
        if words
    ]


def _rules(
    name: str, line: int, text: str, found: list[FileFinding], known: Collection[str]
) -> frozenset[str]:
    rules = frozenset(re.split(r"[\s,]+", text.strip()))
    found += [_unknown(name, line, rule, known) for rule in sorted(rules - {*known})]
    return rules


def _unknown(name: str, line: int, rule: str, known: Collection[str]) -> FileFinding:
    return FileFinding(
        file=name,
        line=line,
        column=1,
        severity="error",
        object="",
        path="",
        rule="unknown-rule",
        what="leaves out a rule that does not exist",
        got=rule,
        allowed=choices(rule, known),
        fix=mistyped(rule, known),
    )


def counted(findings: Iterable[FileFinding], left_out: Iterable[LeftOut]) -> list[FileFinding]:
    """The findings that count."""
    rules = list(left_out)
    return [item for item in findings if not any(one.covers(item) for one in rules)]
