"""Write objects through client-side apply: the provider's `enableServerSideApply: false`.

Objects are created by a plain POST. An update is the difference between the last inputs, the new ones and the
live object, taken from the state: the published provider (v4) neither writes nor reads the annotation
`kubectl.kubernetes.io/last-applied-configuration`, but for taking it away where an older one left it.
Source: https://github.com/pulumi/pulumi-kubernetes, `csaUpdate` in `provider/pkg/await/await.go`,
`provider/pkg/openapi/openapi.go`, and `Check` and `Create` in `provider/pkg/provider/provider.go`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clusters.api_errors import NOT_FOUND, ApiError
from dra_fleet.clusters.api_resource import root_of
from dra_fleet.clusters.client import MERGE
from dra_fleet.rehearsal.providers.kubernetes.diffing import pruned
from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.naming import annotation, generates_name
from dra_fleet.rehearsal.providers.kubernetes.three_way import Merging, UnkeyedItemError, three_way

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration

MANAGER: Final = "pulumi-kubernetes"
"""The field manager of everything that is applied on the client's side."""
_LABEL: Final = "app.kubernetes.io/managed-by"
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


def refuse_what_it_cannot(configuration: Configuration, body: Object) -> None:
    """A patch needs the server's help, a name that the server makes needs to do without.

    Raises:
        RefusedError: the provider is told to work the other way.
    """
    if configuration.patches and configuration.client_side:
        raise RefusedError(
            "patch resources require Server-Side Apply mode, which is enabled using the "
            "`enableServerSideApply` Provider config"
        )
    if generates_name(body) and (configuration.renders_to or not configuration.client_side):
        when = "when rendering YAML" if configuration.client_side else "with server-side apply"
        raise RefusedError(
            f"metadata.generateName is not supported {when}; leave it out (a name is made from the "
            "resource's name) or set metadata.name"
        )


def labels(configuration: Configuration, old: Object) -> bool:
    """Whether an object is labelled as made by the engine's provider: a new one, or one that is already."""
    if not old:
        return configuration.client_side
    metadata: Object = old["metadata"]
    return metadata.get("labels", {}).get(_LABEL) == _maker()


def set_label(body: Object) -> None:
    """Label an object so, in place; not where its labels are not yet known."""
    metadata: Any = body.setdefault("metadata", {})
    if isinstance(metadata, dict):
        known: Any = cast("Object", metadata).setdefault("labels", {})
        if isinstance(known, dict):
            known[_LABEL] = _maker()


def _maker() -> str:
    return os.environ.get("PULUMI_KUBERNETES_MANAGED_BY_LABEL", "pulumi")


def last_of(inputs: Object, live: Object) -> Object:
    """What was applied last, as the live object of the state had it."""
    last: Object = pruned(live, inputs)
    left = annotation(live, _LAST_APPLIED)
    if left is not None and annotation(inputs, _LAST_APPLIED) is None:
        metadata = last.get("metadata", {})
        annotations = {**metadata.get("annotations", {}), _LAST_APPLIED: left}
        return {**last, "metadata": {**metadata, "annotations": annotations}}
    return last


async def update(
    api: KubeApi, body: Object, last: Object, live: Object, *, ignored: Sequence[str], dry_run: bool
) -> Object:
    """Bring an object to new inputs.

    Args:
        api: the connection.
        body: what the program wants.
        last: what it wanted before.
        live: the object as the server has it.
        ignored: the program's ignoreChanges; only plain paths such as `spec.replicas` keep their live value.
        dry_run: only say what the server would make of it.

    Raises:
        ApiError: refused by the server.
    """
    for path in ignored:
        body = _with_live(body, live, path.split("."))
    resource = await api.resource(body["apiVersion"], body["kind"])
    path = resource.path(live["metadata"].get("namespace"), live["metadata"]["name"])
    params = {"fieldManager": MANAGER, **({"dryRun": "All"} if dry_run else {})}
    how = await _merging(api, body["apiVersion"], body["kind"])
    try:
        patch = three_way(last, body, live, how or _JSON)
    except UnkeyedItemError:
        patch, how = three_way(last, body, live, _JSON), None
    content_type = _STRATEGIC if how else MERGE
    return await api.request("PATCH", path, body=patch, params=params, content_type=content_type)


_JSON: Final = Merging({}, {})


async def _merging(api: KubeApi, api_version: str, kind: str) -> Merging | None:
    """How the server merges objects of a kind; None for custom resources, of which it merges JSON only."""
    try:
        document = await api.request("GET", f"/openapi/v3{root_of(api_version)}")
    except ApiError as error:
        if error.code == NOT_FOUND:
            return None
        raise
    taken = (
        operation["requestBody"]["content"]
        for place in document["paths"].values()
        if (operation := place.get("patch"))
        and operation.get("x-kubernetes-group-version-kind", {}).get("kind") == kind
    )
    schemas: Object = document["components"]["schemas"]
    found = (
        schema
        for schema in schemas.values()
        for known in schema.get("x-kubernetes-group-version-kind", [])
        if known["kind"] == kind and api_version == "/".join(filter(None, (known["group"], known["version"])))
    )
    schema = next(found, None)
    none: Object = {}
    return Merging(schemas, schema) if schema and _STRATEGIC in next(taken, none) else None


def _with_live(body: Object, live: Object, keys: list[str]) -> Object:
    first, *rest = keys
    if first not in live:
        return body
    if not rest:
        return {**body, first: live[first]}
    below = live[first]
    inside: Any = body.get(first, {})
    if not isinstance(below, dict) or not isinstance(inside, dict):
        return body
    return {**body, first: _with_live(cast("Object", inside), cast("Object", below), rest)}
