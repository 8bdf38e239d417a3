"""Reads the JSON bodies of requests, each part of the type it must have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.rehearsal.world.errors import InvalidRequestError

if TYPE_CHECKING:
    from aiohttp import web


async def json_body(request: web.Request) -> dict[str, Any]:
    """The body, a JSON object; empty where there is none.

    Raises:
        InvalidRequestError: it is something else.
    """
    content = await request.text()
    try:
        body: object = json.loads(content) if content.strip() else {}
    except ValueError as error:
        raise InvalidRequestError(f"the request's body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise InvalidRequestError("the request's body is not a JSON object")
    return cast("dict[str, Any]", body)


def text(body: dict[str, Any], key: str) -> str:
    """A text at a key.

    Raises:
        InvalidRequestError: it is something else.
    """
    value = body.get(key)
    if not isinstance(value, str):
        raise InvalidRequestError(f"{key} must be a text, not {value!r}")
    return value


def mapping(body: dict[str, Any], key: str) -> dict[str, Any]:
    """An object at a key.

    Raises:
        InvalidRequestError: it is something else.
    """
    value = body.get(key)
    if not isinstance(value, dict):
        raise InvalidRequestError(f"{key} must be an object, not {value!r}")
    return cast("dict[str, Any]", value)
