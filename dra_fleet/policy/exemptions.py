"""Exemptions: that a rule lets one resource be, for a reason and until a day."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final, cast

from msgspec import Struct

from dra_fleet.core.findings.errors import ExpectedError, choices, mistyped
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from dra_fleet.core.yaml_text import Document

LONGEST: Final = dt.timedelta(days=366)
"""The time for which an exemption can be agreed on."""

_KEY: Final = "exemptions"
_FIELDS: Final = ("rule", "resource", "reason", "expires")
_HOLDS: Final = re.compile(r"; exempted (until \d{4}-\d{2}-\d{2}: .+)\Z", re.DOTALL)
_FORM: Final = "{rule: pod-forbid-fixed-node, resource: train, reason: why, expires: 2027-01-31}"


class ExemptionsError(ExpectedError):
    """A file of exemptions cannot be used; the message says where and what to do."""


class Exemption(Struct, frozen=True, kw_only=True):
    """An exemption from a rule.

    Attributes:
        rule: the rule's name.
        resource: the logical name or the URN of the resource.
        reason: why it is right.
        expires: the last day it holds.
    """

    rule: str
    resource: str
    reason: str
    expires: dt.date

    def covers(self, rule: str, urn: str) -> bool:
        """Return whether the exemption is about this rule and resource."""
        return rule == self.rule and self.resource in (urn, urn.rpartition("::")[2])

    def holds(self, today: dt.date) -> bool:
        """Return whether the exemption has not expired."""
        return today <= self.expires

    @property
    def about(self) -> str:
        """Rule and resource of the exemption."""
        return f"the exemption of {self.resource} from {self.rule}"

    def describe(self, today: dt.date) -> str:
        """Describe the exemption for a finding's message."""
        if self.holds(today):
            return f"exempted until {self.expires}: {self.reason}"
        return (
            f"its exemption expired on {self.expires} ({self.reason}); "
            "fix: fix the finding, or agree on a later day in the exemption's `expires`"
        )


def without_exemption(message: str) -> tuple[str, str]:
    """Split a finding's message into the message and its text about a valid exemption; empty without one."""
    found = _HOLDS.search(message)
    return (message, "") if found is None else (message[: found.start()], found[1])


def today() -> dt.date:
    """Return the day by which exemptions are checked."""
    return dt.datetime.now(tz=dt.UTC).date()


def exemption_of(exemptions: Iterable[Exemption], rule: str, urn: str) -> Exemption | None:
    """Return the exemption for this rule and resource, also if it has expired."""
    return next((found for found in exemptions if found.covers(rule, urn)), None)


def read_exemptions(path: Path, rules: Collection[str]) -> tuple[Exemption, ...]:
    """Read a file of exemptions, a YAML list under the key `exemptions`.

    Args:
        path: the file.
        rules: the names of all rules that may be named.

    Raises:
        ExemptionsError: it cannot be read, or one of its entries is wrong.
    """
    document = _document(path)
    content = document.value
    entries = cast("Mapping[str, object]", content).get(_KEY) if isinstance(content, dict) else None
    if not isinstance(entries, list) or set(cast("Mapping[str, object]", content)) != {_KEY}:
        raise ExemptionsError(
            f"{path}: must be a list under the key {_KEY}, and nothing else; such as {_FORM}"
        )
    read = [
        _exemption(document, index, entry, rules) for index, entry in enumerate(cast("list[object]", entries))
    ]
    for index, found in enumerate(read):
        if any((found.rule, found.resource) == (one.rule, one.resource) for one in read[:index]):
            raise ExemptionsError(f"{_at(document, index)}: {found.about} is given twice; fix: keep one")
    return tuple(read)


def _document(path: Path) -> Document:
    try:
        with path.open("rb") as file:
            documents = read_documents(str(path), file.read(MAX_BYTES + 1))
    except OSError as problem:
        raise ExemptionsError(
            f"{path}: the exemptions cannot be read: {problem.strerror}; "
            "fix: restore the file, or take it out of the policies"
        ) from None
    except Unreadable as problem:
        raise ExemptionsError(problem.message(path)) from None
    if len(documents) != 1:
        raise ExemptionsError(f"{path}: must be one YAML document; fix: write {_KEY}: [] for none")
    return documents[0]


def _exemption(document: Document, index: int, entry: object, rules: Collection[str]) -> Exemption:
    at = _at(document, index)
    if not isinstance(entry, dict):
        raise ExemptionsError(f"{at}: must be a mapping of {', '.join(_FIELDS)}; such as {_FORM}")
    given = cast("Mapping[str, object]", entry)
    for name in given:
        if name not in _FIELDS:
            raise ExemptionsError(f"{at}: {name!r} is not a key; allowed: {', '.join(_FIELDS)}")
    for name in _FIELDS:
        text = given.get(name)
        if not isinstance(text, str) or not text.strip():
            raise ExemptionsError(f"{at}: {name} must be a text, got {text!r}; such as {_FORM}")
    rule, resource, reason, expires = (str(given[name]).strip() for name in _FIELDS)
    if rule not in rules:
        fix = mistyped(rule, rules)
        raise ExemptionsError(
            f"{at}: {rule!r} is not a rule; allowed: {choices(rule, rules)}"
            + (f"; fix: {fix}" if fix else "")
        )
    try:
        day = dt.date.fromisoformat(expires)
    except ValueError:
        raise ExemptionsError(f"{at}: expires is {expires!r}; allowed: a day as YYYY-MM-DD") from None
    if day > (last := today() + LONGEST):
        raise ExemptionsError(
            f"{at}: expires is {expires}; allowed: at most a year from today, {last}; "
            "fix: write an earlier day, and decide again then"
        )
    return Exemption(rule=rule, resource=resource, reason=reason, expires=day)


def _at(document: Document, index: int) -> str:
    place = document.place((_KEY, index))
    return f"{document.file}:{place.line}:{place.column}"
