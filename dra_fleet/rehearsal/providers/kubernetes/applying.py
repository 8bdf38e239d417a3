"""Write objects to a server: create, update, and dry runs of both."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clusters.api_errors import NOT_FOUND, ApiError, UnknownKindError
from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.kubernetes import client_side
from dra_fleet.rehearsal.providers.kubernetes.client_side import MANAGER
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
_TAKEN_OVER: Final = {
    "Apply": ("kubectl",),
    "Update": ("kubectl", "before-first-apply", MANAGER, "pulumi-resource-kubernetes"),
}
"""Field managers of client-side applies, as their names begin.

Source: https://github.com/pulumi/pulumi-kubernetes, `fixCSAFieldManagers` in `provider/pkg/await/await.go`.
"""
_NO_DRY_RUN: Final = "does not support dry run"


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How one object is written.

    `manager`: our field manager's name. `ignored`: the program's ignoreChanges. `last`: what was applied
    before, for a client-side apply.
    """

    manager: str
    configuration: Configuration
    ignored: Sequence[str] = ()
    last: Object = field(default_factory=dict[str, Any])

    def forces(self, body: Object) -> bool:
        """Whether the program takes fields away from other field managers."""
        return self.configuration.takes_fields or annotation(body, _FORCE) == "true"


async def create(
    api: KubeApi, body: Object, manner: Manner, tell: Callable[[str], Awaitable[None]]
) -> Object:
    """Create an object: client-side by a plain create, otherwise by an apply.

    The dry run before that is a plain create: it says AlreadyExists where an apply would quietly take over.
    Source: https://github.com/pulumi/pulumi-kubernetes (`upsertExistingObjects`).

    Raises:
        ApiError: refused, also because the object exists already.
    """
    configuration, manager = manner.configuration, manner.manager
    for pause in (*_PAUSES, None):
        try:
            if configuration.client_side:
                return await api.create(body, params={"fieldManager": manager})
            if not (configuration.takes_objects or configuration.patches):
                await _dry_create(api, body, manager)
            return await api.apply(body, manager=manager, force=manner.forces(body))
        except ApiError as error:
            if error.code != NOT_FOUND or pause is None:
                raise
            await tell(f"trying again: {error.message}")
            await asyncio.sleep(pause)
    raise AssertionError("the last try returns or raises")


async def preview_create(api: KubeApi, body: Object, manner: Manner) -> Object | None:
    """What the server would make of a new object; None where it cannot say before other things exist.

    Of a client-side apply it is not asked. Where the name is taken (a replacement, or an object the program
    does not know of) the rest is still judged, under another name.

    Raises:
        ApiError: the server would refuse it.
    """
    if manner.configuration.client_side:
        return None
    try:
        if manner.configuration.patches:
            return await api.apply(body, manager=manner.manager, force=manner.forces(body), dry_run=True)
        try:
            return await _dry_create(api, body, manner.manager)
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            name = f"{body['metadata']['name']}-{secrets.token_hex(2)}"
            renamed = {**body, "metadata": {**body["metadata"], "name": name}}
            answer = await _dry_create(api, renamed, manner.manager)
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


async def update(api: KubeApi, body: Object, manner: Manner, *, dry_run: bool = False) -> Object:
    """Apply changes to an existing object.

    Fields of a client-side apply are taken over, if not by a patch; any other holder is a conflict, except
    where the program ignores changes of the field: then it is left to its holder. A definition of custom
    resources is replaced as a whole.
    Source: https://github.com/pulumi/pulumi-kubernetes, `updateResource` in `provider/pkg/await/await.go`.

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
    if reference.kind == "CustomResourceDefinition" and not manner.configuration.patches:
        version = live["metadata"]["resourceVersion"]
        replaced = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        return await api.replace(replaced, dry_run=dry_run, params={"fieldManager": manner.manager})
    if manner.configuration.client_side:
        return await client_side.update(api, body, manner.last, live, ignored=manner.ignored, dry_run=dry_run)
    entries = None if manner.configuration.patches else taken_over(live, manner.manager)
    if entries and not dry_run:
        version = live["metadata"]["resourceVersion"]
        patch: Object = {"metadata": {"managedFields": entries, "resourceVersion": version}}
        kind, name, namespace = reference.kind, reference.name, reference.namespace
        live = await api.merge(reference.api_version, kind, name, patch, namespace=namespace)
    body = left_to_others(body, live, manner.manager, manner.ignored)
    force = manner.forces(body) or (dry_run and entries is not None)
    try:
        return await api.apply(body, manager=manner.manager, force=force, dry_run=dry_run)
    except ApiError as error:
        if error.reason != "Conflict":
            raise
        raise RefusedError(
            f"Server-Side Apply field conflict: {error.message}; to take these fields, set the "
            f'annotation {_FORCE}: "true", or enablePatchForce of the provider'
        ) from error


def taken_over(live: Object, manager: str) -> list[Object] | None:
    """The object's managedFields with those of client-side applies as ours; None where there are none.

    Args:
        live: the object as the server has it.
        manager: our field manager's name.
    """
    entries: list[Object] = live["metadata"].get("managedFields", [])
    theirs = [entry for entry in entries if _is_client_side(entry)]
    if not theirs:
        return None
    own = [entry for entry in entries if (entry["manager"], entry["operation"]) == (manager, "Apply")]
    fields: Object = {}
    for entry in (*own, *theirs):
        fields = _united(fields, entry["fieldsV1"])
    ours: Object = {**theirs[0], "manager": manager, "operation": "Apply", "fieldsV1": fields}
    return [*(entry for entry in entries if entry not in (*theirs, *own)), ours]


def _is_client_side(entry: Object) -> bool:
    beginnings = _TAKEN_OVER.get(entry["operation"], ())
    return str(entry["manager"]).startswith(beginnings) and not entry.get("subresource")


def _united(fields: Object, others: Object) -> Object:
    return fields | {key: _united(fields.get(key, {}), below) for key, below in others.items()}


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


async def preview_update(api: KubeApi, body: Object, manner: Manner) -> Object | None:
    """What the server would make of changes; None where it cannot say (kind or object not there yet).

    Raises:
        ApiError: the server would refuse them.
        RefusedError: as for `update`.
    """
    try:
        return await update(api, body, manner, dry_run=True)
    except ApiError as error:
        if _cannot_be_tried(error):
            return None
        raise
