import asyncio
from typing import Any, cast

import httpx2
import pytest

from dra_fleet.clusters import informer as informer_module
from dra_fleet.clusters.client import ApiError, KubeApi, Object
from dra_fleet.clusters.informer import Informer, key_of
from tests.rehearsal.agent.fake_api import WatchedApi


def item(name: str, version: str = "1") -> Object:
    return {"metadata": {"name": name, "resourceVersion": version}}


def follow(*steps: Any) -> tuple[list[str], list[str], Informer]:
    """Run an informer over a script until it ends; what was called, what was reported, and the informer."""
    api = WatchedApi(*steps, asyncio.CancelledError())
    output: list[str] = []
    informer = Informer(
        cast("KubeApi", api), "v1", "Node", lambda node: output.append(node["metadata"]["name"])
    )
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(informer.run())
    return api.calls, output, informer


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(informer_module, "FIRST_WAIT", 0.0)


def test_objects_follow_the_watch() -> None:
    changes = [("ADDED", item("b", "11")), ("MODIFIED", item("a", "12")), ("DELETED", item("b", "13"))]
    calls, output, informer = follow([item("a")], changes)
    assert output == ["a", "b", "a", "b"]
    assert list(informer.objects) == ["a"]
    assert calls[-1] == "watch Node from 13"


def test_an_ended_watch_continues_from_its_last_event() -> None:
    calls, _, _ = follow([], [("ADDED", item("a", "11"))], [])
    assert calls == ["list Node", "watch Node from 10", "watch Node from 11", "watch Node from 11"]


@pytest.mark.parametrize(
    "interruption", [ApiError(410, "Expired", "too old", {}), httpx2.ConnectError("refused")]
)
def test_after_an_interruption_it_lists_again_and_reports_what_changed(interruption: Exception) -> None:
    calls, output, informer = follow([item("a"), item("b")], interruption, [item("b"), item("c")], [])
    assert calls[:3] == ["list Node", "watch Node from 10", "list Node"]
    assert output == ["a", "b", "a", "c"]
    assert sorted(informer.objects) == ["b", "c"]


def test_another_object_of_the_same_name_is_reported_after_the_one_that_is_gone() -> None:
    old, new = item("a", "1"), item("a", "2")
    old["metadata"]["uid"], new["metadata"]["uid"] = "x", "y"
    _, output, informer = follow([old], httpx2.ConnectError("refused"), [new], [])
    assert output == ["a", "a", "a"]
    assert informer.holds(new)
    assert not informer.holds(old)


def test_a_key_has_the_namespace_where_there_is_one() -> None:
    assert key_of({"metadata": {"name": "n", "namespace": "ns"}}) == "ns/n"
    assert key_of(item("n")) == "n"


def at_zones(*steps: Any) -> Informer:
    """An informer that indexes by zone, after a script."""
    api = WatchedApi(*steps, asyncio.CancelledError())
    informer = Informer(cast("KubeApi", api), "v1", "Node", lambda _: None, lambda node: node.get("zone"))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(informer.run())
    return informer


def names_at(informer: Informer, zone: str) -> list[str]:
    return [node["metadata"]["name"] for node in informer.at(zone)]


def test_objects_are_found_by_their_place_wherever_they_went() -> None:
    changes = [
        ("ADDED", {**item("b", "11"), "zone": "west"}),
        ("MODIFIED", {**item("a", "12"), "zone": "west"}),
        ("DELETED", {**item("b", "13"), "zone": "west"}),
    ]
    informer = at_zones([{**item("a"), "zone": "east"}, item("nowhere")], changes)
    assert names_at(informer, "east") == []
    assert names_at(informer, "west") == ["a"]


def test_objects_deleted_between_watches_are_removed() -> None:
    before = [{**item("a"), "zone": "east"}, {**item("b"), "zone": "east"}]
    informer = at_zones(before, httpx2.ConnectError("refused"), [{**item("b"), "zone": "east"}])
    assert names_at(informer, "east") == ["b"]
