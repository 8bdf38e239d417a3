"""Refusals in the grammar of Azure's errors."""

from __future__ import annotations

from dra_fleet.rehearsal.clouds.refusals import CloudRefusal


def refuse(code: str, message: str) -> CloudRefusal:
    """The error with Azure's code and a message with the fix."""
    return CloudRefusal(f'Code="{code}" Message="{message}"')
