import asyncio
from collections.abc import AsyncIterator
from typing import cast

import pytest

from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.rehearsal.clouds.clusters import until_all_ready


def node(name: str, *, ready: bool) -> Object:
    conditions = [{"type": "Ready", "status": str(ready)}]
    return {"metadata": {"name": name, "resourceVersion": "1"}, "status": {"conditions": conditions}}


class Nodes:
    """Lists some nodes, reports some changes, and then nothing more."""

    def __init__(self, listed: list[Object], events: tuple[tuple[str, Object], ...]) -> None:
        self._listed = listed
        self._events = events

    async def list(self, *_: str) -> Object:
        return {"items": self._listed, "metadata": {"resourceVersion": "1"}}

    async def watch(self, *_: str, resource_version: str) -> AsyncIterator[tuple[str, Object]]:
        del resource_version
        for event in self._events:
            await asyncio.sleep(0)
            yield event
        await asyncio.Event().wait()


def reached(requested: set[str], listed: list[Object], *events: tuple[str, Object]) -> bool:
    """Return True if the wait for these nodes ends after these events."""

    async def tried() -> bool:
        waiting = asyncio.create_task(until_all_ready(cast("KubeApi", Nodes(listed, events)), requested))
        for _ in range(50):
            await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return not waiting.cancelled()

    return asyncio.run(tried())


def test_without_nodes_there_is_nothing_to_wait_for() -> None:
    assert reached(set(), [])


@pytest.mark.parametrize("last", ["a", "b"])
def test_the_last_node_that_becomes_ready_ends_the_wait(last: str) -> None:
    listed = [node(name, ready=name != last) for name in ("a", "b")]
    assert not reached({"a", "b"}, listed)
    assert reached({"a", "b"}, listed, ("MODIFIED", node(last, ready=True)))


def test_a_node_that_is_to_leave_is_waited_for() -> None:
    listed = [node("a", ready=True), node("old", ready=False)]
    assert not reached({"a"}, listed)
    assert reached({"a"}, listed, ("DELETED", node("old", ready=False)))


def test_a_node_that_is_not_there_yet_is_waited_for() -> None:
    assert reached({"a"}, [], ("ADDED", node("a", ready=False)), ("MODIFIED", node("a", ready=True)))
    assert not reached({"a"}, [])
