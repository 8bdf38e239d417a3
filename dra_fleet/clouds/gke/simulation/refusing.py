"""Refusals in the grammar of Google's API errors."""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.refusals import CloudRefusal

_CODES: Final = {
    "INVALID_ARGUMENT": 400,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "FAILED_PRECONDITION": 400,
    "RESOURCE_EXHAUSTED": 429,
}


def refuse(status: str, message: str) -> CloudRefusal:
    """The error with Google's status and a message with the fix."""
    return CloudRefusal(f"googleapi: Error {_CODES[status]}: {message}, {status}")
