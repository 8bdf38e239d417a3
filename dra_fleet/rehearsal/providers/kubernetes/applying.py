"""Write objects through server-side apply: create, update, and dry runs of both."""

from __future__ import annotations

import asyncio
import re
import secrets
from typing import TYPE_CHECKING, Final

from dra_fleet.clusters.api_errors import NOT_FOUND, ApiError, UnknownKindError
from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.following import Reference, read
from dra_fleet.rehearsal.providers.kubernetes.naming import annotation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration

_FORCE: Final = "pulumi.com/patchForce"
_PAUSES: Final = (
    0.5,
    1.0,
    2.0,
    4.0,
)  # seconds; a namespace or kind made by a neighbour may come a moment later
_FORBIDDEN: Final = 403
_CONFLICT_WITH: Final = re.compile(r'conflict with "([^"]+)"')
_TAKEN_OVER: Final = ("kubectl", "before-first-apply", "pulumi-")
_NO_DRY_RUN: Final = "does not support dry run"


def _forced(body: Object, configuration: Configuration) -> bool:
    """Whether the program takes fields away from other field managers."""
    return configuration.takes_fields or annotation(body, _FORCE) == "true"


async def create(
    api: KubeApi,
    body: Object,
    manager: str,
    tell: Callable[[str], Awaitable[None]],
    configuration: Configuration,
) -> Object:
    """Create an object under a field manager's name.

    The dry run before it is a plain create: it says AlreadyExists where an apply would quietly take over.
    Source: https://github.com/pulumi/pulumi-kubernetes (`upsertExistingObjects`).

    Raises:
        ApiError: refused, also because the object exists already.
    """
    for pause in (*_PAUSES, None):
        try:
            if not (configuration.takes_objects or configuration.patches):
                await _dry_create(api, body, manager)
            return await api.apply(body, manager=manager, force=_forced(body, configuration))
        except ApiError as error:
            if error.code != NOT_FOUND or pause is None:
                raise
            await tell(f"trying again: {error.message}")
            await asyncio.sleep(pause)
    raise AssertionError("the last try returns or raises")


async def preview_create(
    api: KubeApi, body: Object, manager: str, *, configuration: Configuration
) -> Object | None:
    """What the server would make of a new object; None where it cannot say before other things exist.

    Where the name is taken (a replacement, or an object the program does not know of) the rest is still
    judged, under another name.

    Raises:
        ApiError: the server would refuse it.
    """
    try:
        if configuration.patches:
            return await api.apply(body, manager=manager, force=_forced(body, configuration), dry_run=True)
        try:
            return await _dry_create(api, body, manager)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            name = f"{body['metadata']['name']}-{secrets.token_hex(2)}"
            renamed = {**body, "metadata": {**body["metadata"], "name": name}}
            answer = await _dry_create(api, renamed, manager)
            answer["metadata"]["name"] = body["metadata"]["name"]
            return answer
    except ApiError as error:
        if _cannot_be_tried(error):
            return None
        raise


async def _dry_create(api: KubeApi, body: Object, manager: str) -> Object:
    """What the server would create.

    A field that it does not know is refused here, as a server-side apply refuses it ("field not declared in
    schema"); one whose gate is off is dropped by both.
    """
    params = {"fieldManager": manager, "fieldValidation": "Strict"}
    return await api.create(body, dry_run=True, params=params)


def _cannot_be_tried(error: ApiError) -> bool:
    return (
        isinstance(error, UnknownKindError)
        or error.code in (NOT_FOUND, _FORBIDDEN)
        or _NO_DRY_RUN in error.message
    )


async def update(
    api: KubeApi,
    body: Object,
    manager: str,
    *,
    configuration: Configuration,
    ignored: Sequence[str] = (),
    dry_run: bool = False,
) -> Object:
    """Apply changes to an existing object.

    Fields that only kubectl or an earlier provider holds are taken over, if not by a patch; any other holder
    is a conflict, except where the program ignores changes of the field: then it is left to its holder.

    Raises:
        ApiError: refused by the server.
        RefusedError: the object is gone, or another field manager holds a changed field.
    """
    reference = Reference.of(body)
    live = await read(api, reference)
    if live is None:
        raise RefusedError(
            f'{reference.kind} "{reference}" is no longer on the cluster; run `pulumi refresh` and try again'
        )
    body = left_to_others(body, live, manager, ignored)
    try:
        return await api.apply(body, manager=manager, force=_forced(body, configuration), dry_run=dry_run)
    except ApiError as error:
        holders = _CONFLICT_WITH.findall(str(error.details.get("causes") or error.message))
        if error.reason != "Conflict" or not holders:
            raise
        if configuration.patches or not all(holder.startswith(_TAKEN_OVER) for holder in holders):
            raise RefusedError(
                f"Server-Side Apply field conflict: {error.message}; to take these fields, set the "
                f'annotation {_FORCE}: "true", or enablePatchForce of the provider'
            ) from error
        return await api.apply(body, manager=manager, force=True, dry_run=dry_run)


def left_to_others(body: Object, live: Object, manager: str, ignored: Sequence[str]) -> Object:
    """The object without the ignored fields that another field manager holds.

    The published plugin's rule: pulumi-kubernetes, `handleSSAIgnoreFields` in `provider/pkg/await/await.go`.

    Args:
        body: what the program wants.
        live: the object as the server has it, with its managedFields.
        manager: our field manager's name.
        ignored: the program's ignoreChanges; only plain paths such as `spec.replicas` can be left.
    """
    held = [
        entry["fieldsV1"]
        for entry in live["metadata"].get("managedFields", [])
        if entry.get("manager") != manager and not entry.get("subresource")
    ]
    for path in ignored:
        keys = path.split(".")
        if any(_holds(fields, keys) for fields in held):
            body = _without(body, keys)
    return body


def _holds(fields: Object, keys: list[str]) -> bool:
    for key in keys:
        if f"f:{key}" not in fields:
            return False
        fields = fields[f"f:{key}"]
    return True


def _without(body: Object, keys: list[str]) -> Object:
    first, *rest = keys
    if first not in body:
        return body
    if not rest:
        return {key: value for key, value in body.items() if key != first}
    below = body[first]
    return {**body, first: _without(below, rest)} if isinstance(below, dict) else body  # pyright: ignore[reportUnknownArgumentType]


async def preview_update(
    api: KubeApi, body: Object, manager: str, *, configuration: Configuration, ignored: Sequence[str] = ()
) -> Object | None:
    """What the server would make of changes; None where it cannot say (kind or object not there yet).

    Raises:
        ApiError: the server would refuse them.
        RefusedError: as for `update`.
    """
    try:
        return await update(api, body, manager, configuration=configuration, ignored=ignored, dry_run=True)
    except ApiError as error:
        if _cannot_be_tried(error):
            return None
        raise
