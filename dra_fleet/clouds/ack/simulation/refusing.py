"""Refusals in the grammar of Alibaba Cloud's SDKs.

Codes and words are published ones where there are any; a rule that is described without them is refused as
InvalidParameter, in words of this simulation.
"""

from __future__ import annotations

from dra_fleet.rehearsal.clouds.refusals import CloudRefusal

INVALID = "InvalidParameter"


def refuse(code: str, message: str) -> CloudRefusal:
    """The error with Alibaba Cloud's code and a message with the fix."""
    status = 404 if "NotFound" in code else 403 if code.startswith(("OperationDenied", "Quota")) else 400
    return CloudRefusal(f"SDKError: StatusCode: {status} Code: {code} Message: {message}")
