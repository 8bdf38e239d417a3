import asyncio
from collections.abc import Mapping
from typing import Any, cast

from dra_fleet.clusters.allocation import ClusterAllocation, HeldDevice, PoolDevices, allocation_of
from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.clusters.pending import read_state

LABELS = {"dra-fleet/workload": "train"}


def pod(name: str, *, claim: str | None, phase: str = "Running") -> dict[str, Any]:
    statuses = [{"name": "gpu", "resourceClaimName": claim}] if claim else []
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": name, "labels": LABELS},
        "spec": {
            "nodeName": "n1" if claim else None,
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "absent"}],
        },
        "status": {"phase": phase, "resourceClaimStatuses": statuses},
    }


def claim(name: str, device: str) -> dict[str, Any]:
    results = [{"driver": "d", "pool": "n1", "device": device}]
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": results}}},
    }


class ApiWith:
    """Answers lists from a dictionary of kinds."""

    def __init__(self, **kinds: list[Object]) -> None:
        self._kinds = kinds
        self.read: set[str] = set()

    async def version(self) -> Object:
        return {"major": "1", "minor": "36+"}

    async def list(self, api_version: str, kind: str, **_: object) -> Object:
        del api_version
        self.read.add(kind)
        return {"items": self._kinds.get(kind, [])}


def read_allocation(
    api: ApiWith,
    *,
    workloads: Mapping[str, tuple[str, int]],
    pools: Mapping[str, Mapping[str, str]] | None = None,
) -> ClusterAllocation:
    state = asyncio.run(read_state(cast("KubeApi", api), requested=workloads))
    return allocation_of(state, pools=pools or {}, workloads=workloads)


def test_copies_pools_and_the_reason_of_a_waiting_copy_are_reported() -> None:
    slices: list[Object] = [
        {
            "spec": {
                "driver": "d",
                "nodeName": "n1",
                "pool": {"name": "n1", "generation": 1},
                "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
            }
        }
    ]
    api = ApiWith(
        Node=[{"metadata": {"name": "n1", "labels": {"pool": "a", "more": "x"}}, "spec": {}}],
        Pod=[pod("one", claim="c1"), pod("two", claim=None, phase="Pending")],
        ResourceClaim=[claim("c1", "gpu-1")],
        ResourceSlice=slices,
    )
    found = read_allocation(
        api, pools={"a": {"pool": "a"}, "b": {"pool": "b"}}, workloads={"train": ("ns", 2)}
    )
    assert found.pools == {
        "a": PoolDevices(nodes=1, devices=2, held=1, claims=1, node_names=("n1",)),
        "b": PoolDevices(nodes=0, devices=0, held=0, claims=0),
    }
    train = found.workloads["train"]
    assert (train.requested, train.allocated, found.complete) == (2, 1, False)
    assert train.pods[0].devices == (HeldDevice("d", "n1", "gpu-1"),)
    assert train.reason is not None
    assert train.reason.sentence.startswith("ResourceClaimTemplate absent does not exist")


def test_all_is_complete_when_every_copy_runs_with_its_devices() -> None:
    api = ApiWith(Pod=[pod("one", claim="c1")], ResourceClaim=[claim("c1", "gpu-0")])
    found = read_allocation(api, workloads={"train": ("ns", 1)})
    assert found.complete
    assert found.workloads["train"].reason is None


def test_why_pods_wait_is_read_only_where_one_waits() -> None:
    all_run = ApiWith(Pod=[pod("one", claim="c1")], ResourceClaim=[claim("c1", "gpu-0")])
    one_waits = ApiWith(Pod=[pod("one", claim="c1"), pod("two", claim=None, phase="Pending")])
    one_lacks = ApiWith(Pod=[])
    for api in (all_run, one_waits, one_lacks):
        read_allocation(api, workloads={"train": ("ns", 1)})
    placed = {"Node", "Pod", "ResourceSlice", "ResourceClaim"}
    causes = {"DaemonSet", "DeviceClass", "ResourceClaimTemplate", "Event"}
    assert all_run.read == placed
    assert one_waits.read == one_lacks.read == placed | causes


def test_pods_of_others_that_hold_devices_are_reported_with_what_they_belong_to() -> None:
    limits = {"limits": {"nvidia.com/gpu": "2", "cpu": "1"}}
    by_plugin = {
        "metadata": {
            "name": "server-5d-x",
            "namespace": "theirs",
            "labels": {"pod-template-hash": "5d"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "server-5d"}],
        },
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": limits}]},
        "status": {"phase": "Running"},
    }
    without = {**by_plugin, "spec": {"nodeName": "n1", "containers": [{"name": "c"}]}}
    waiting = {**by_plugin, "status": {"phase": "Pending"}}
    by_claim = pod("own", claim="c1")
    by_claim["metadata"]["labels"] = {}
    api = ApiWith(Pod=[by_plugin, without, waiting, by_claim], ResourceClaim=[claim("c1", "gpu-0")])
    found = read_allocation(api, workloads={"train": ("ns", 1)})
    assert [item.to_json() for item in found.others] == [
        {"name": "own", "namespace": "ns", "owner": "", "node": "n1", "devices": ["gpu-0"]},
        {
            "name": "server-5d-x",
            "namespace": "theirs",
            "owner": "server",
            "node": "n1",
            "devices": ["2 x nvidia.com/gpu"],
        },
    ]
