import asyncio
from typing import Any, cast

import httpx2
import pytest

from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.rehearsal.agent.view import ClusterView, ends_by_itself
from dra_fleet.rehearsal.agent.work_queue import WorkQueue
from tests.rehearsal.agent.fake_api import WatchedApi


def pod(uid: str, version: str, **meta: Any) -> Object:
    return {
        "metadata": {"name": "operator", "namespace": "gpu", "uid": uid, "resourceVersion": version} | meta,
        "spec": {"nodeName": "n1", "containers": [{"name": "main"}]},
    }


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dra_fleet.clusters.informer.FIRST_WAIT", 0.0)


def gone_after(*steps: Any) -> list[str]:
    """Return the pods that were deleted while these lists and watches were read."""
    api = WatchedApi(*steps, asyncio.CancelledError())
    view = ClusterView(cast("KubeApi", api), WorkQueue(), ())
    output: list[str] = []
    view.when_gone.append(lambda pod: output.append(pod["metadata"]["uid"]))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(view.pods.run())
    return output


def finishing(*, limits: dict[str, str] | None = None, policy: str = "Never", **meta: Any) -> Object:
    container = {"name": "c", "resources": {"limits": limits or {}}}
    return {"metadata": meta, "spec": {"restartPolicy": policy, "containers": [container]}}


OF_A_JOB: dict[str, Any] = {"ownerReferences": [{"kind": "Job", "name": "upgrade-crd"}]}


@pytest.mark.parametrize(
    "found",
    [
        finishing(**OF_A_JOB),
        finishing(**OF_A_JOB, policy="OnFailure", limits={"cpu": "1", "hugepages-2Mi": "4Mi"}),
        finishing(annotations={"helm.sh/hook": "pre-upgrade"}),
    ],
)
def test_errands_end_by_themselves(found: Object) -> None:
    assert ends_by_itself(found)


@pytest.mark.parametrize(
    "found",
    [
        finishing(),
        finishing(ownerReferences=[{"kind": "ReplicaSet", "name": "web"}], policy="Always"),
        finishing(**OF_A_JOB, limits={"nvidia.com/gpu": "1"}),
        finishing(**OF_A_JOB) | {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "x"}}},
    ],
)
def test_services_and_pods_with_devices_stay_until_reported(found: Object) -> None:
    assert not ends_by_itself(found)


def test_a_pod_that_went_with_its_machine_is_gone_though_no_one_saw_it_ending() -> None:
    assert gone_after([pod("a", "1")], [("DELETED", pod("a", "2"))]) == ["a"]


def test_a_pod_that_was_deleted_while_no_one_watched_is_gone() -> None:
    assert gone_after([pod("a", "1")], httpx2.ConnectError("refused"), [pod("b", "2")]) == ["a"]


def test_a_pod_that_is_ending_is_not_gone_yet() -> None:
    ending = pod("a", "2", deletionTimestamp="2026-11-21T12:00:00Z")
    assert gone_after([pod("a", "1")], [("MODIFIED", ending)]) == []


def test_a_pod_with_a_new_status_is_not_read_before_the_status_is_seen() -> None:
    queue = WorkQueue()
    asked: list[str] = []
    queue.add = lambda key: asked.append(key.name)
    api = WatchedApi([claiming("a"), claiming("b")], asyncio.CancelledError())
    view = ClusterView(cast("KubeApi", api), queue, ())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(view.pods.run())
    view.wake_pods_on("n1", but=claiming("a"))
    assert asked == ["gpu/b"]


def claiming(name: str) -> Object:
    """A pod with a claim."""
    found = pod(name, "1", name=name)
    found["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": "shared"}]
    return found
