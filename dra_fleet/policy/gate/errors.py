"""Errors that prevent a gate from checking."""

from typing import Final

from dra_fleet.core.findings.errors import ExpectedError

NOT_PROVED: Final = 3
"""The exit code if nothing is proved."""
NO_ENGINE: Final = (
    "`pulumi` is not on PATH; fix: install the Pulumi CLI, or give it the rehearsal's: "
    'eval "$(dra-fleet rehearse env)"'
)
"""Message of all commands that run the engine."""


class GateError(ExpectedError):
    """Something that the user gave or that is not there; the text says what is wrong and the fix."""


class NoEventsError(GateError):
    """There is not a single event."""
