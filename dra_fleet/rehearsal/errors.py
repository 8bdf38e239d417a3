"""The base of all errors that a rehearsal reports to its user."""

from __future__ import annotations

from dra_fleet.core.findings.errors import ExpectedError


class RehearsalError(ExpectedError):
    """Something a rehearsal cannot go on with. Its text says what is wrong and what to do."""
