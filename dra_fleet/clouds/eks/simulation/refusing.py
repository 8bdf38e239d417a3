"""Refusals in the grammar of AWS's errors."""

from __future__ import annotations

from dra_fleet.rehearsal.clouds.refusals import CloudRefusal


def refuse(code: str, message: str) -> CloudRefusal:
    """The error with AWS's code and a message with the fix."""
    return CloudRefusal(f"api error {code}: {message}")
