"""What an API server says when it refuses a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import httpx2

Object = dict[str, Any]

NOT_FOUND = 404


class ApiError(Exception):
    """The API server refused a request; the message is the server's own."""

    def __init__(self, code: int, reason: str, message: str, details: Object) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details


class UnknownKindError(ApiError):
    """The server serves no such kind."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(404, "NotFound", f"the server serves no kind {kind} in {api_version}", {})


def refusal_of(response: httpx2.Response) -> ApiError:
    """What an answer that is an error says."""
    try:
        status: Any = response.json()
    except ValueError:
        status = None
    if isinstance(status, dict) and cast("Object", status).get("kind") == "Status":
        return refusal_in(cast("Object", status))
    return ApiError(response.status_code, "", response.text.strip() or f"HTTP {response.status_code}", {})


def refusal_in(status: Object) -> ApiError:
    """What a Status object says."""
    return ApiError(
        status.get("code", 0),
        status.get("reason", ""),
        status.get("message", ""),
        status.get("details") or {},
    )
