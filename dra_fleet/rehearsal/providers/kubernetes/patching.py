"""Patch resources: fields of an object that is somebody else's, applied under a field manager of their own.

Source: https://github.com/pulumi/pulumi-kubernetes, `provider/pkg/provider/provider.go` and
`provider/pkg/await/await.go`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.following import read
from dra_fleet.rehearsal.providers.kubernetes.naming import name_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.providers.kubernetes.following import Reference

_SUFFIX: Final = "Patch"
REPLACING: Final = [("metadata", "name"), ("metadata", "namespace")]
"""Everything else is updated in place."""


def is_patch(type_token: str, body: Object) -> bool:
    """Whether a resource patches an object, and is none of a kind that is called so."""
    return type_token.rpartition(":")[2] == f"{body.get('kind')}{_SUFFIX}"


def refuse_without_name(body: Object) -> None:
    """A patch is of one object, which it names.

    Raises:
        RefusedError: it names none.
    """
    if not name_of(body):
        raise RefusedError("patch resources require the resource `.metadata.name` to be set")


async def release(api: KubeApi, reference: Reference, manager: str) -> None:
    """Give the fields back: those that nobody else holds go, the object stays.

    Raises:
        ApiError: refused by the server.
    """
    if await read(api, reference) is None:
        return
    metadata = {"name": reference.name}
    if reference.namespace:
        metadata["namespace"] = reference.namespace
    nothing: Object = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "metadata": metadata,
    }
    await api.apply(nothing, manager=manager)
