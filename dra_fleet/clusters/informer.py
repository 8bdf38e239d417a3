"""Keeps the objects of one kind at hand: list, watch, list again when the watch can no longer follow.

It does not filter, and indexes by one place of an object at most, such as its node.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Protocol

import httpx2

from dra_fleet.clusters.client import ApiError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from dra_fleet.clusters.client import Object

logger = logging.getLogger(__name__)

GONE = 410
FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0


def key_of(item: Object) -> str:
    """`namespace/name`, or the name alone for a cluster-scoped object."""
    meta = item["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else str(meta["name"])


class Reading(Protocol):
    """Connection of an informer."""

    async def list(self, api_version: str, kind: str, /) -> Object:
        """Read a collection."""
        ...

    def watch(
        self, api_version: str, kind: str, /, *, resource_version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        """Follow a collection."""
        ...


class Informer:
    """A current copy of one kind's objects.

    Args:
        api: whom to read as.
        api_version: such as "resource.k8s.io/v1".
        kind: such as "ResourceSlice".
        on_change: receives the object after each change, and the last known one after a deletion; `holds`
            distinguishes the two.
        place_of: where an object is, for `at`.
    """

    def __init__(
        self,
        api: Reading,
        api_version: str,
        kind: str,
        on_change: Callable[[Object], None],
        place_of: Callable[[Object], str | None] = lambda _: None,
    ) -> None:
        self.objects: dict[str, Object] = {}
        self._at: defaultdict[str, dict[str, Object]] = defaultdict(dict)
        self._place_of = place_of
        self.synced = asyncio.Event()
        self._api = api
        self._api_version = api_version
        self._kind = kind
        self._on_change = on_change

    def holds(self, item: Object) -> bool:
        """Return whether this very object exists, not another one of its name."""
        return not _is_gone(item, self.objects.get(key_of(item)))

    def at(self, place: str) -> list[Object]:
        return list(self._at.get(place, {}).values())

    async def run(self) -> None:
        """Follow the kind until cancelled, over restarts of the API server too."""
        wait = FIRST_WAIT
        while True:
            try:
                version = await self._list()
                wait = FIRST_WAIT
                await self._watch(version)
            except (ApiError, httpx2.TransportError) as error:
                if not (isinstance(error, ApiError) and error.code == GONE):
                    logger.info("%s: watch interrupted (%s); again in %.1f s", self._kind, error, wait)
                    await asyncio.sleep(wait)
                    wait = min(2 * wait, LONGEST_WAIT)

    async def _list(self) -> str:
        answer = await self._api.list(self._api_version, self._kind)
        fresh = {key_of(item): item for item in answer["items"]}
        gone = [item for key, item in self.objects.items() if _is_gone(item, fresh.get(key))]
        changed = [item for key, item in fresh.items() if _differs(self.objects.get(key), item)]
        for item in [item for key, item in self.objects.items() if key not in fresh]:
            self._drop(item)
        for item in fresh.values():
            self._keep(item)
        self.synced.set()
        for item in [*gone, *changed]:
            self._on_change(item)
        return str(answer["metadata"]["resourceVersion"])

    async def _watch(self, version: str) -> None:
        while True:
            async for event, item in self._api.watch(self._api_version, self._kind, resource_version=version):
                version = item["metadata"]["resourceVersion"]
                if event == "DELETED":
                    self._drop(item)
                else:
                    self._keep(item)
                self._on_change(item)

    def _keep(self, item: Object) -> None:
        key, place = key_of(item), self._place_of(item)
        known = self.objects.get(key)
        if known is not None and self._place_of(known) != place:
            self._drop(known)
        self.objects[key] = item
        if place is not None:
            self._at[place][key] = item

    def _drop(self, item: Object) -> None:
        known = self.objects.pop(key_of(item), None)
        place = self._place_of(known) if known is not None else None
        if place is not None:
            del self._at[place][key_of(item)]


def _is_gone(old: Object, now: Object | None) -> bool:
    return now is None or now["metadata"].get("uid") != old["metadata"].get("uid")


def _differs(old: Object | None, new: Object) -> bool:
    return old is None or old["metadata"]["resourceVersion"] != new["metadata"]["resourceVersion"]
