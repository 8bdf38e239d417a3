"""What keeps a gate from judging."""

from dra_fleet.core.findings.errors import ExpectedError


class GateError(ExpectedError):
    """Something that the user gave or that is not there; the text says what is wrong and the fix."""


class NoEventsError(GateError):
    """There is not a single event."""
