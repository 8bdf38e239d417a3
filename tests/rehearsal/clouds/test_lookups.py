import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from dra_fleet import clouds
from dra_fleet.clusters import accounts
from dra_fleet.clusters.accounts import NoAnswerError, look_up
from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.clouds.clusters import until_all_ready
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.ack.ack_region import Region as AckRegion
from tests.rehearsal.clouds.aks.aks_subscription import Subscription
from tests.rehearsal.clouds.eks.eks_region import Region as EksRegion
from tests.rehearsal.clouds.gke.gke_project import Project

SIMULATED = {"ack": AckRegion, "aks": Subscription, "eks": EksRegion, "gke": Project}
NAMES = {
    "ack": ("name", "nodePoolName"),
    "aks": ("resourceName", "agentPoolName"),
    "eks": ("name", "nodeGroupName"),
    "gke": ("name", "name"),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_each_account_answers_whether_it_has_a_cluster_or_pool(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "simulator.db") as store:
        simulated = SIMULATED[name](store)

        async def run(command: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
            del seconds
            try:
                return 0, json.dumps(simulated.cloud.command(command[1:])).encode(), b""
            except CloudRefusal as refusal:
                return 1, b"", str(refusal).encode()

        def asked(kind: str, inputs: dict[str, Any]) -> str:
            lookup = clouds.named(name).lookup(kind, inputs, simulated.config)
            assert lookup is not None
            assert lookup.command[0] == clouds.named(name).command_line
            return asyncio.run(look_up(lookup))

        monkeypatch.setattr(accounts, "_run", run)
        monkeypatch.setattr(accounts.shutil, "which", str)
        made = (
            simulated.cluster(),
            simulated.group() if isinstance(simulated, EksRegion) else simulated.pool(),
        )
        for one, key in zip(made, NAMES[name], strict=True):
            (record,) = [item for item in store.cloud_resources(name).values() if item["id"] == one["id"]]
            assert asked(record["type"], record["inputs"]) == one["id"]
            assert asked(record["type"], {**record["inputs"], key: "missing"}) == ""


def test_a_refusal_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(command: Sequence[str], seconds: float) -> tuple[int, bytes, bytes]:
        del command, seconds
        return 1, b"", b"An error occurred (AccessDeniedException)"

    monkeypatch.setattr(accounts, "_run", run)
    monkeypatch.setattr(accounts.shutil, "which", str)
    lookup = clouds.named("eks").lookup("aws:eks/cluster:Cluster", {"name": "train"}, {})
    assert lookup is not None
    with pytest.raises(NoAnswerError, match=r"`aws eks describe-cluster .*` failed: .*AccessDenied"):
        asyncio.run(look_up(lookup))


def test_other_resources_are_not_looked_up() -> None:
    found = [cloud.lookup("aws:iam/role:Role", {"name": "a"}, {}) for cloud in clouds.known()]
    assert found == [None] * len(found)


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
