"""An API server of a few lines: answers the agent's reads and writes from memory."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from copy import deepcopy
from typing import Any, cast

from dra_fleet.clusters.client import ApiError, Object


class FakeApi:
    """Holds objects by kind and name. `store` changes what is kept of a written object."""

    def __init__(self, *objects: Object, store: Callable[[Object], Object] = deepcopy) -> None:
        self.objects: dict[tuple[str, str], Object] = {
            (item["kind"], item["metadata"]["name"]): item for item in objects
        }
        self.writes: list[str] = []
        self._store = store

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None = None,
        *,
        params: Mapping[str, str] | None = None,
    ) -> Object:
        del api_version, namespace
        selector = (params or {}).get("labelSelector", "")
        found = [
            item
            for (own, _), item in sorted(self.objects.items())
            if own == kind and (not selector or selector in _labels_of(item))
        ]
        return {"items": deepcopy(found), "metadata": {"resourceVersion": "1"}}

    async def watch(
        self, api_version: str, kind: str, *, resource_version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        """Report no change, until the watch is cancelled."""
        del api_version, resource_version
        await asyncio.Event().wait()
        yield kind, {}

    async def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Object:
        del api_version, namespace
        try:
            return deepcopy(self.objects[kind, name])
        except KeyError:
            raise ApiError(404, "NotFound", f"{name} not found", {}) from None

    async def find(
        self, api_version: str, kind: str, name: str, namespace: str | None = None
    ) -> Object | None:
        del api_version, namespace
        return deepcopy(self.objects.get((kind, name)))

    async def create(self, body: Object) -> Object:
        meta = body["metadata"]
        if (body["kind"], meta.get("name")) in self.objects:
            raise ApiError(409, "AlreadyExists", f"{meta['name']} already exists", {})
        name = meta.get("name") or f"{meta['generateName']}{len(self.writes)}"
        kept = self._store({**body, "metadata": {**meta, "name": name, "resourceVersion": "1"}})
        self.objects[body["kind"], name] = kept
        self.writes.append(f"create {name}")
        return kept

    async def replace(self, body: Object, *, subresource: str | None = None) -> Object:
        kept, meta = self._store(body), body["metadata"]
        self.objects[body["kind"], meta["name"]] = kept
        self.writes.append(f"replace {meta['name']}{f'/{subresource}' if subresource else ''}")
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            del self.objects[body["kind"], meta["name"]]
        return kept

    async def merge(
        self,
        api_version: str,
        kind: str,
        name: str,
        patch: Object,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Object:
        del api_version, namespace, subresource
        asked, present = (
            patch.get("metadata", {}).get("resourceVersion"),
            self.objects[kind, name]["metadata"],
        )
        if asked and asked != present["resourceVersion"]:
            raise ApiError(409, "Conflict", "the object has been modified", {})
        self.objects[kind, name] = _merged(self.objects[kind, name], patch)
        self.writes.append(f"merge {name}")
        return self.objects[kind, name]

    async def apply(self, body: Object, *, manager: str, force: bool, subresource: str) -> Object:
        kind, name = body["kind"], body["metadata"]["name"]
        self.objects[kind, name] = _merged(self.objects[kind, name], body)
        self.writes.append(f"apply {name}/{subresource} as {manager}{' with force' if force else ''}")
        return self.objects[kind, name]

    async def delete(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> None:
        del api_version, namespace
        self.writes.append(f"delete {name}")
        if self.objects[kind, name]["metadata"].get("finalizers"):
            self.objects[kind, name]["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
        else:
            del self.objects[kind, name]


def _labels_of(item: Object) -> list[str]:
    return [f"{key}={value}" for key, value in item["metadata"].get("labels", {}).items()]


def _merged(present: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    kept = dict(cast("Object", present)) if isinstance(present, dict) else {}
    for key, value in cast("Object", patch).items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = _merged(kept.get(key), value)
    return kept


class WatchedApi:
    """Plays a script: each list and each watch takes the next step, an exception is raised."""

    def __init__(self, *steps: Any) -> None:
        self._steps = list(steps)
        self.calls: list[str] = []

    async def list(self, api_version: str, kind: str) -> Object:
        del api_version
        self.calls.append(f"list {kind}")
        items = self._next()
        return {"items": items, "metadata": {"resourceVersion": "10"}}

    async def watch(
        self, api_version: str, kind: str, *, resource_version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        del api_version
        self.calls.append(f"watch {kind} from {resource_version}")
        for event in self._next():
            yield event

    def _next(self) -> Any:
        step = self._steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step
