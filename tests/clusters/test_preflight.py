import asyncio
import copy
from typing import Any

import httpx2
import pytest

from dra_fleet import drivers
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.preflight import Requested, preflight
from dra_fleet.core.findings.reported import PreflightFinding

REQUESTED = Requested(
    kubernetes="1.36",
    installs={"gpu.nvidia.com": "lab-nvidia"},
    uses=(),
    pools={"h100": ({"example.com/pool": "h100"}, 1)},
)


def cluster() -> dict[str, Any]:
    """A cluster that is ready: one node, nothing advertised yet."""
    node: dict[str, Any] = {
        "metadata": {"name": "n1", "labels": {"example.com/pool": "h100"}},
        "status": {"allocatable": {}},
    }
    v1 = {"groupVersion": "resource.k8s.io/v1", "version": "v1"}
    return {
        "/version": {"gitVersion": "v1.36.3"},
        "/apis": {"groups": [{"name": "resource.k8s.io", "versions": [v1]}]},
        "/api/v1": {"resources": [{"name": "nodes", "kind": "Node", "namespaced": False}]},
        "/apis/apps/v1": {"resources": [{"name": "daemonsets", "kind": "DaemonSet", "namespaced": True}]},
        "/apis/resource.k8s.io/v1": {
            "resources": [{"name": "resourceslices", "kind": "ResourceSlice", "namespaced": False}]
        },
        "/api/v1/nodes": {"items": [node]},
        "/apis/apps/v1/daemonsets": {"items": []},
        "/apis/resource.k8s.io/v1/resourceslices": {"items": []},
    }


def nvidia_slice(node: str = "n1") -> dict[str, Any]:
    return {
        "metadata": {"name": f"{node}-slice"},
        "spec": {
            "driver": "gpu.nvidia.com",
            "nodeName": node,
            "devices": [{"name": "gpu-0"}, {"name": "gpu-1"}],
        },
    }


def look(answers: dict[str, Any], requested: Requested = REQUESTED) -> list[PreflightFinding]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=copy.deepcopy(answers[request.url.path]))

    async def run() -> list[PreflightFinding]:
        http = httpx2.AsyncClient(base_url="https://cluster", transport=httpx2.MockTransport(answer))
        async with KubeApi(http) as api:
            return await preflight(api, requested)

    return asyncio.run(run())


def problems(answers: dict[str, Any], requested: Requested = REQUESTED) -> list[str]:
    return [f"{item.message} -> {item.fix}" for item in look(answers, requested) if item.level == "problem"]


def test_a_ready_cluster_has_no_problem() -> None:
    findings = look(cluster())
    assert {item.level for item in findings} == {"ok"}
    assert [item.subject for item in findings] == ["version", "resource.k8s.io", "pool h100"]


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("v1.33.9", "the server runs v1.33.9; resource.k8s.io/v1 needs at least 1.34 -> upgrade the cluster"),
        (
            "v1.35.8-gke.1036000",
            (
                "the server runs v1.35.8-gke.1036000, the stack says kubernetes: '1.36' -> "
                'write kubernetes: "1.35": fields are checked for that minor'
            ),
        ),
        ("unknown", "the server's version 'unknown' cannot be read -> "),
    ],
)
def test_a_version_the_stack_cannot_stand_on_is_a_problem(version: str, problem: str) -> None:
    answers = cluster()
    answers["/version"]["gitVersion"] = version
    assert problems(answers) == [problem]


def test_an_api_that_is_switched_off_is_a_problem() -> None:
    answers = cluster()
    answers["/apis"]["groups"] = []
    assert problems(answers) == [
        (
            "resource.k8s.io/v1 is not served (served: nothing of the group) -> "
            "upgrade to 1.34 or later, or take resource.k8s.io/v1=false out of --runtime-config"
        )
    ]


def test_slices_of_someone_elses_driver_mean_install_nothing() -> None:
    answers = cluster()
    answers["/apis/resource.k8s.io/v1/resourceslices"]["items"] = [nvidia_slice()]
    assert problems(answers) == [
        (
            "another installation already publishes 2 devices of gpu.nvidia.com -> "
            "remove the driver from this cluster's `drivers:` (`drivers: {}` if it is managed there); "
            "if you uninstalled it less than a minute ago, run the command again"
        )
    ]


def test_slices_of_the_stacks_own_release_are_fine() -> None:
    answers = cluster()
    answers["/apis/resource.k8s.io/v1/resourceslices"]["items"] = [nvidia_slice()]
    release = {"metadata": {"name": "d", "annotations": {"meta.helm.sh/release-name": "lab-nvidia"}}}
    answers["/apis/apps/v1/daemonsets"]["items"] = [release]
    assert problems(answers) == []


def test_a_driver_that_is_used_but_nowhere_is_a_problem() -> None:
    requested = Requested(kubernetes="1.36", installs={}, uses=("gpu.nvidia.com",), pools={})
    assert problems(cluster(), requested) == [
        (
            "the stack uses gpu.nvidia.com without installing it, and nothing publishes devices of it -> "
            "install the driver on the cluster, or add it to this cluster's `drivers:`"
        )
    ]


def test_a_device_plugin_on_a_dra_pool_is_a_problem() -> None:
    answers = cluster()
    answers["/api/v1/nodes"]["items"][0]["status"]["allocatable"] = {"nvidia.com/gpu": "8"}
    assert problems(answers) == [
        (
            "a device plugin advertises nvidia.com/gpu on n1: the same GPUs would be advertised twice -> "
            "turn the device plugin off on the pools that DRA allocates"
        )
    ]


def test_a_pool_whose_labels_no_node_carries_is_a_problem() -> None:
    answers = cluster()
    answers["/api/v1/nodes"]["items"][0]["metadata"]["labels"] = {}
    assert problems(answers) == [
        (
            "0 nodes carry example.com/pool=h100; the stack says at least 1 -> "
            "correct the pool's nodeSelector or its nodes.min"
        )
    ]


def plugin_pool(given: str) -> tuple[dict[str, Any], Requested]:
    """A node of a pool that a device plugin should advertise, with so much of its resource."""
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    found = cluster()
    found["/api/v1/nodes"]["items"] = [
        {
            "metadata": {"name": "old-0", "labels": {"example.com/pool": "old"}},
            "status": {"allocatable": {"nvidia.com/gpu": given}},
        }
    ]
    requested = Requested(
        kubernetes="1.36",
        installs={},
        uses=(),
        pools={"old": ({"example.com/pool": "old"}, 1)},
        plugins={"old": nvidia},
    )
    return found, requested


def test_a_device_plugin_may_advertise_the_pool_that_says_so() -> None:
    assert problems(*plugin_pool("8")) == []


def test_a_pool_of_a_device_plugin_without_one_is_reported() -> None:
    output = (
        "no device plugin advertises nvidia.com/gpu on old-0 of pool old -> run one there, or set advertise: "
        "dra on pool old"
    )
    assert problems(*plugin_pool("0")) == [output]


def test_a_managed_driver_is_reported_with_its_provider() -> None:
    requested = Requested(
        kubernetes="1.36", installs={}, uses=(), pools={}, managed={"gpu.nvidia.com": "AKS"}
    )
    answers = cluster()
    assert problems(answers, requested) == [
        (
            "AKS manages gpu.nvidia.com, and nothing publishes devices of it -> "
            "enable the driver on the nodes, or ask AKS"
        )
    ]
    answers["/apis/resource.k8s.io/v1/resourceslices"]["items"] = [nvidia_slice()]
    assert problems(answers, requested) == []
