"""Errors that prevent a review."""

from dra_fleet.core.findings.errors import ExpectedError


class ReviewError(ExpectedError):
    """Something that the user gave or that the engine said; the text says what is wrong and the fix."""
