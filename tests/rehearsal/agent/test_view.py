"""What the agent is told of pods that are gone."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest

from dra_fleet.rehearsal.agent.view import ClusterView
from dra_fleet.rehearsal.agent.work_queue import WorkQueue
from tests.rehearsal.agent.fake_api import WatchedApi

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object


def pod(uid: str, version: str, **meta: Any) -> Object:
    return {
        "metadata": {"name": "operator", "namespace": "gpu", "uid": uid, "resourceVersion": version, **meta},
        "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
    }


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dra_fleet.clusters.informer.FIRST_WAIT", 0.0)


def gone_after(*steps: Any) -> list[str]:
    """The pods that were told to be gone while these lists and watches were read."""
    api = WatchedApi(*steps, asyncio.CancelledError())
    view = ClusterView(cast("KubeApi", api), WorkQueue(), ())
    told: list[str] = []
    view.when_gone.append(lambda pod: told.append(pod["metadata"]["uid"]))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(view.pods.run())
    return told


def test_a_pod_that_went_with_its_machine_is_gone_though_nobody_saw_it_ending() -> None:
    assert gone_after([pod("a", "1")], [("DELETED", pod("a", "2"))]) == ["a"]


def test_a_pod_that_was_deleted_while_nobody_watched_is_gone() -> None:
    assert gone_after([pod("a", "1")], httpx2.ConnectError("refused"), [pod("b", "2")]) == ["a"]


def test_a_pod_that_is_ending_is_not_gone_yet() -> None:
    ending = pod("a", "2", deletionTimestamp="2026-11-21T12:00:00Z")
    assert gone_after([pod("a", "1")], [("MODIFIED", ending)]) == []
