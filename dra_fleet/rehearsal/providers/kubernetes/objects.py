"""The life of one Kubernetes object as a resource: check, diff, create, read, update, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.rehearsal.providers.kubernetes import applying, awaiting, client_side, patching
from dra_fleet.rehearsal.providers.kubernetes.applying import Manner
from dra_fleet.rehearsal.providers.kubernetes.diffing import (
    ChangeKind,
    FieldChange,
    changes,
    inputs_of,
    is_another_object,
    is_ignored,
    pruned,
    real_changes,
    wanted,
)
from dra_fleet.rehearsal.providers.kubernetes.errors import InitFailedError, NotReadyError, RefusedError
from dra_fleet.rehearsal.providers.kubernetes.following import Reference, read
from dra_fleet.rehearsal.providers.kubernetes.naming import (
    adopt_name,
    annotation,
    assign_name,
    generates_name,
    is_autonamed,
    kind_of,
    named_as,
    parse_id,
    resource_id,
)
from dra_fleet.rehearsal.providers.kubernetes.operation import Difference
from dra_fleet.rehearsal.providers.kubernetes.readiness import READY, readiness
from dra_fleet.rehearsal.providers.kubernetes.replacing import replaces, replacing_fields
from dra_fleet.rehearsal.providers.kubernetes.state import Remembered, for_program, for_server, state_of
from dra_fleet.rehearsal.providers.kubernetes.wait_for import expectations
from dra_fleet.rehearsal.providers.properties import (
    UNKNOWN,
    has_unknown,
    with_secrets_of,
    without_nulls,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.providers.kubernetes.naming import Autonaming
    from dra_fleet.rehearsal.providers.kubernetes.operation import Operation
    from dra_fleet.rehearsal.providers.properties import Properties

_REPLACE_UNREADY: Final = "pulumi.com/replaceUnready"
_SERVER_MADE: Final = ("uid", "resourceVersion", "creationTimestamp")


async def check(
    operation: Operation, old: Properties, new: Properties, seed: bytes, autonaming: Autonaming | None
) -> Properties:
    """Complete a program's inputs: apiVersion and kind, a name where there is none, the default namespace.

    Raises:
        RefusedError: the inputs ask for what this stand-in or server-side apply cannot do.
    """
    inputs = cast("Properties", without_nulls(new))
    body = for_server(inputs)
    api_version, kind = kind_of(operation.urn.type)
    body = {**body, "apiVersion": body.get("apiVersion", api_version), "kind": body.get("kind", kind)}
    client_side.refuse_what_it_cannot(operation.configuration(body), body)
    expectations(body)
    if client_side.labels(operation.configuration(body), for_server(old)):
        client_side.set_label(body)
    if patching.is_patch(operation.urn.type, body):
        patching.refuse_without_name(body)
    elif not (old and adopt_name(body, for_server(old))):
        assign_name(body, operation.urn, seed, autonaming)
    metadata = body.get("metadata")
    if (
        isinstance(metadata, dict)
        and "namespace" not in metadata
        and await operation.cluster.is_namespaced(body["apiVersion"], body["kind"])
    ):
        body["metadata"] = {**cast("Object", metadata), "namespace": operation.cluster.default_namespace}
    return cast("Properties", with_secrets_of(for_program(body), inputs))


async def diff(operation: Operation, old: Properties, new: Properties, ignored: list[str]) -> Difference:
    """What an update to these inputs would do."""
    remembered = Remembered.parse(old)
    body, shape = wanted(for_server(cast("Properties", without_nulls(new)))), wanted(remembered.inputs)
    generated = generates_name(body)
    body = named_as(body, remembered.live) if generates_name(shape) else body
    live = pruned(remembered.live, named_as(shape, remembered.live))
    live.setdefault("apiVersion", body.get("apiVersion"))
    live.setdefault("kind", body.get("kind"))
    found = [change for change in changes(live, body) if not is_ignored(str(change), ignored)]
    configuration = operation.configuration(body)
    fields = replacing_fields(body, mutable_data=configuration.mutable_data(body["kind"]))
    if configuration.patches:
        fields = patching.REPLACING
    if found and not has_unknown(body) and not is_another_object(remembered.live, body):
        found = await _confirmed(operation, found, remembered, body, ignored)
    replacing = [change for change in found if replaces(change.path, change.new, fields)]
    if annotation(body, _REPLACE_UNREADY) == "true" and await _is_to_be_replaced(operation, remembered.live):
        unready = FieldChange(("metadata", "annotations", _REPLACE_UNREADY), ChangeKind.UPDATE, "true")
        found, replacing = [*found, unready], [*replacing, unready]
    same_place = not (generated or is_autonamed(body) or is_another_object(remembered.live, body))
    return Difference(found, replacing, delete_before_replace=bool(replacing) and same_place)


async def _is_to_be_replaced(operation: Operation, live: Object) -> bool:
    """Whether an object is a Job that is not complete: only those are replaced for not being ready."""
    if (live.get("apiVersion"), live.get("kind")) != ("batch/v1", "Job"):
        await operation.warn("replaceUnready annotation is not supported for this resource")
        return False
    api = await operation.cluster.api_or_none()
    now = None if api is None else await read(api, Reference.of(live))
    return now is not None and not readiness(now).ready


async def _confirmed(
    operation: Operation,
    found: list[FieldChange],
    remembered: Remembered,
    body: Object,
    ignored: list[str],
) -> list[FieldChange]:
    manner = _manner(operation, body, remembered, ignored)
    api = None if manner.configuration.renders_to else await operation.cluster.api_or_none()
    if api is None:
        return found
    try:
        tried = await applying.preview_update(api, body, manner)
    except (ApiError, RefusedError):
        return found  # the preview of the update itself says why
    return real_changes(found, remembered.live, tried) if tried is not None else found


def _manner(
    operation: Operation, body: Object, remembered: Remembered | None = None, ignored: Sequence[str] = ()
) -> Manner:
    configuration = operation.configuration(body)
    if remembered is None:
        return Manner(manager=operation.manager(body, None), configuration=configuration)
    return Manner(
        manager=operation.manager(body, remembered.manager),
        configuration=configuration,
        ignored=ignored,
        last=client_side.last_of(wanted(remembered.inputs), remembered.live),
    )


async def create(operation: Operation, inputs: Properties) -> tuple[str, Properties]:
    """Create an object and wait until it is ready. Returns its id and its state.

    Raises:
        ApiError, RefusedError: it was not created.
        InitFailedError: it was, but is not ready.
    """
    body = wanted(for_server(inputs))
    manner = _manner(operation, body)
    if operation.preview:
        return "", await _preview(operation, inputs, applying.preview_create, body, manner)
    api = await operation.cluster.api()
    try:
        live = await applying.create(api, body, manner, operation.waiting.tell)
    except ApiError as error:
        raise RefusedError(
            f'resource "{operation.urn.name}" was not successfully created by the Kubernetes API server: '
            + error.message
        ) from error
    return await _ready(operation, api, live, inputs, manner.manager)


async def update(operation: Operation, old: Properties, inputs: Properties, ignored: list[str]) -> Properties:
    """Bring an object to new inputs and wait until it is ready. Returns its state.

    Raises:
        ApiError, RefusedError: nothing was changed.
        InitFailedError: it was changed, but is not ready.
    """
    remembered = Remembered.parse(old)
    body = named_as(wanted(for_server(inputs)), remembered.live)
    manner = _manner(operation, body, remembered, ignored)
    try:
        if operation.preview:
            return await _preview(operation, inputs, applying.preview_update, body, manner)
        api = await operation.cluster.api()
        live = await applying.update(api, body, manner)
    except ApiError as error:
        raise RefusedError(
            f'the Kubernetes API server refused the update of "{resource_id(body)}": {error.message}'
        ) from error
    return (await _ready(operation, api, live, inputs, manner.manager))[1]


async def _preview(
    operation: Operation,
    inputs: Properties,
    attempt: Callable[[KubeApi, Object, Manner], Awaitable[Object | None]],
    body: Object,
    manner: Manner,
) -> Properties:
    api = None if has_unknown(body) else await operation.cluster.api_or_none()
    tried = await attempt(api, body, manner) if api is not None else None
    if tried is None:
        return inputs
    tried.pop("status", None)
    tried["metadata"] |= dict.fromkeys(_SERVER_MADE, UNKNOWN)
    return state_of(tried, inputs, manner.manager)


async def _ready(
    operation: Operation, api: KubeApi, live: Object, inputs: Properties, manager: str
) -> tuple[str, Properties]:
    reference = Reference.of(live)
    name = resource_id(live)
    try:
        await awaiting.until_ready(api, live, for_server(inputs), operation.waiting)
    except NotReadyError as error:
        latest = await read(api, reference) or live
        first = (
            f'{reference.kind} "{name}" exists on the cluster but did not become ready: {error.reasons[0]}'
        )
        raise InitFailedError(name, state_of(latest, inputs, manager), [first, *error.reasons[1:]]) from error
    return name, state_of(await read(api, reference) or live, inputs, manager)


async def refresh(
    operation: Operation, identifier: str, old: Properties, old_inputs: Properties
) -> tuple[str, Properties, Properties] | None:
    """Read an object: its id, state and inputs as the server has them; None where it is gone.

    Without old inputs (an import, or `get`) the inputs are all a program would have to declare.

    Raises:
        InitFailedError: it is there but not ready.
    """
    api = await operation.cluster.api()
    remembered = Remembered.parse(old)
    api_version, kind = kind_of(operation.urn.type)
    api_version, kind = remembered.live.get("apiVersion", api_version), remembered.live.get("kind", kind)
    namespace, name = parse_id(identifier)
    if namespace is None and await operation.cluster.is_namespaced(api_version, kind):
        namespace = operation.cluster.default_namespace
    live = await read(api, Reference(api_version, kind, name, namespace))
    if live is None:
        return None
    body = for_server(old_inputs)
    manager = operation.manager(body, remembered.manager)
    shape = wanted(body)
    read_inputs = for_program(pruned(live, shape) if old_inputs else inputs_of(live))
    inputs = cast("Properties", with_secrets_of(read_inputs, _moved(old_inputs)))
    state = state_of(live, inputs, manager)
    now = await awaiting.judged(api, live, body) if old_inputs and not awaiting.skips_waiting(body) else READY
    if not now.ready:
        raise InitFailedError(
            identifier, state, [f'{kind} "{identifier}" is not ready: {now.reason}'], inputs
        )
    return identifier, state, inputs


def _moved(inputs: Properties) -> Properties:
    """Secret marks of `stringData` where `wanted` moves the values to."""
    texts = inputs.get("stringData")
    return {**inputs, "data": texts} if texts is not None and "data" not in inputs else inputs


async def delete(operation: Operation, identifier: str, old: Properties) -> None:
    """Delete an object and wait until it is gone; of a patch, give its fields back.

    Raises:
        ApiError, RefusedError: it is still there.
    """
    remembered = Remembered.parse(old)
    api = await operation.cluster.api()
    namespace, name = parse_id(identifier)
    api_version, kind = kind_of(operation.urn.type)
    reference = Reference(
        remembered.live.get("apiVersion", api_version), remembered.live.get("kind", kind), name, namespace
    )
    if remembered.manager and patching.is_patch(operation.urn.type, remembered.live):
        await patching.release(api, reference, remembered.manager)
        return
    await awaiting.delete(api, reference, remembered.inputs, operation.waiting)
