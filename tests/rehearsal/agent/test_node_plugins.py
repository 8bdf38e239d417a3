import asyncio
from collections.abc import Callable
from copy import deepcopy
from typing import Any, cast

import pytest
from typing_extensions import override

from dra_fleet.clusters.client import ApiError, KubeApi, Object
from dra_fleet.rehearsal.agent.identity import Identities
from dra_fleet.rehearsal.agent.kubelet import Kubelets
from dra_fleet.rehearsal.agent.machines import FAULTS, Machines
from dra_fleet.rehearsal.agent.node_plugins import NodePlugins
from dra_fleet.rehearsal.agent.view import ClusterView
from dra_fleet.rehearsal.agent.work_queue import WorkQueue
from dra_fleet.rehearsal.simulator.node import NodeFaults
from tests.rehearsal.agent.fake_api import FakeApi
from tests.rehearsal.agent.test_driver_pods import driver, host

READY = {"conditions": [{"type": "Ready", "status": "True"}]}
POD: Object = {
    "kind": "Pod",
    "metadata": {"name": "train", "namespace": "team", "uid": "2", "resourceVersion": "1"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "main", "image": "registry.k8s.io/pause"}],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpu"}],
    },
    "status": {"phase": "Pending"},
}


def claim(device: str) -> Object:
    results = [{"request": "gpu", "driver": "gpu.nvidia.com", "pool": "n1", "device": device}]
    return {
        "kind": "ResourceClaim",
        "metadata": {"name": "gpu", "namespace": "team", "uid": "3"},
        "status": {"allocation": {"devices": {"results": results}}, "reservedFor": [{"uid": "2"}]},
    }


class OneApi(Identities):
    """Everybody acts with the same connection."""

    def __init__(self, api: FakeApi) -> None:
        self._api = cast("KubeApi", api)

    @override
    def kubelet(self, node: str) -> KubeApi:
        return self._api

    @override
    async def pod(self, pod: Object) -> KubeApi:
        return self._api


class NoPrograms:
    """No driver is served by its own program."""

    def registered(self, *_: Any) -> None:
        return None

    def forget(self, _: Object) -> None:
        """Keep nothing."""


def cluster(device: str, faults: NodeFaults | None = None) -> FakeApi:
    """A node with two GPUs, its driver, and a pod with a claim of a device; without ResourceSlices."""
    annotations = {FAULTS: faults.model_dump_json()} if faults else {}
    node: Object = {"kind": "Node", "metadata": {"name": "n1", "uid": "4", "annotations": annotations}}
    return FakeApi(node, {**driver(), "kind": "Pod", "status": READY}, deepcopy(POD), claim(device))


async def reconciled(fake: FakeApi, after_reading: Callable[[], None] = lambda: None) -> Object:
    """Reconcile the pod as a kubelet that read everything before `after_reading` ran; return the pod."""
    api, queue, own, identities = cast("KubeApi", fake), WorkQueue(), cast("Any", NoPrograms()), OneApi(fake)
    view = ClusterView(api, queue, {"n1"})
    machines = Machines(api, identities, view, queue, {"n1": host(driverVersion="580.126.09")})
    plugins = NodePlugins(api, identities, view, machines, own)
    kubelets = Kubelets(identities, view, queue, machines=machines, plugins=plugins, own=own, programs=())
    following = [asyncio.create_task(informer.run()) for informer in view.informers]
    try:
        await asyncio.gather(*(informer.synced.wait() for informer in view.informers))
        after_reading()
        await kubelets.reconcile("team/train")
    finally:
        for task in following:
            task.cancel()
    return fake.objects["Pod", "train"]


def test_a_claim_is_prepared_from_the_plugin_s_own_list_though_no_slice_is_there() -> None:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin/device_state.go`
    assert asyncio.run(reconciled(cluster("gpu-1")))["status"]["phase"] == "Running"


@pytest.mark.parametrize(
    ("device", "faults"), [("gpu-7", None), ("gpu-1", NodeFaults(gone=("gpu-1",)))], ids=["never", "gone"]
)
def test_a_device_that_is_not_there_is_not_prepared(device: str, faults: NodeFaults | None) -> None:
    fake = cluster(device, faults)
    assert asyncio.run(reconciled(fake))["status"]["phase"] == "Pending"
    assert [item["reason"] for (kind, _), item in fake.objects.items() if kind == "Event"] == [
        "FailedPrepareDynamicResources"
    ]


def test_a_pod_that_runs_since_it_was_read_is_never_reported_as_being_created() -> None:
    fake = cluster("gpu-7")
    pod = fake.objects["Pod", "train"]

    def run() -> None:
        pod["metadata"]["resourceVersion"], pod["status"] = "2", {"phase": "Running"}

    with pytest.raises(ApiError, match="modified"):
        asyncio.run(reconciled(fake, after_reading=run))
    assert pod["status"] == {"phase": "Running"}
