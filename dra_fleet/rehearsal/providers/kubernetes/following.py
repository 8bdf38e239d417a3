"""Follow one object on a server: its state now, and again whenever it changes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import httpx2

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from dra_fleet.clusters.client import KubeApi, Object

_PAUSE = 0.5  # seconds before asking again after a watch broke


@dataclass(frozen=True)
class Reference:
    """Which object of which kind."""

    api_version: str
    kind: str
    name: str
    namespace: str | None

    @classmethod
    def of(cls, body: Object) -> Reference:
        """The reference of an object at hand."""
        metadata = body["metadata"]
        return cls(body["apiVersion"], body["kind"], metadata["name"], metadata.get("namespace"))

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


async def read(api: KubeApi, reference: Reference) -> Object | None:
    """The object as it is, None where it (or its kind) is gone."""
    found = await api.find(reference.api_version, reference.kind, reference.name, reference.namespace)
    return None if found is None else _typed(found, reference)


def _typed(body: Object, reference: Reference) -> Object:
    return {"apiVersion": reference.api_version, "kind": reference.kind, **body}


async def follow(api: KubeApi, reference: Reference) -> AsyncIterator[Object | None]:
    """Yield the object now and after every change; None once it is gone. Ends only when the caller stops.

    Raises:
        ApiError: the server refuses to say.
    """
    while True:
        current = await read(api, reference)
        yield current
        version = current["metadata"]["resourceVersion"] if current else "0"
        try:
            only = {"fieldSelector": f"metadata.name={reference.name}"}
            async for event, item in api.watch(
                reference.api_version,
                reference.kind,
                reference.namespace,
                resource_version=version,
                params=only,
            ):
                yield None if event == "DELETED" else _typed(item, reference)
        except httpx2.TransportError:
            pass
        except ApiError as error:
            if error.code not in (404, 410, 429, 500, 504):
                raise
        await asyncio.sleep(_PAUSE)
