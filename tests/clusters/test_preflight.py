import asyncio
import copy
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dra_fleet import drivers
from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.preflight import Requested, expectations, preflight
from dra_fleet.clusters.releases import InterruptedRelease, interrupted_releases, wait_for_slices
from dra_fleet.core.findings.errors import PreflightFinding
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import ReleasePlan

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


PROJECT = Path(__file__).resolve().parents[2]


def test_a_driver_managed_on_the_cluster_is_expected_to_publish() -> None:
    plan = make_plan(read_stack_file(PROJECT / "examples" / "existing-cluster.yaml").settings)
    requested = expectations(plan.clusters[0])
    assert (requested.installs, requested.uses) == ({}, ["gpu.nvidia.com"])


def test_a_driver_the_stack_installs_is_not_expected_before_it() -> None:
    plan = make_plan(read_stack_file(PROJECT / "tests" / "data" / "stacks" / "lab.yaml").settings)
    requested = expectations(plan.clusters[0])
    assert (requested.installs, requested.uses) == ({"gpu.nvidia.com": "dra-driver-nvidia-gpu"}, [])
    assert requested.pools["h100"] == ({"example.com/pool": "h100"}, 1)


RELEASE = ReleasePlan(
    name="lab-nvidia",
    driver="gpu.nvidia.com",
    chart="c",
    version="1",
    repository="",
    namespace="gpu",
    values={},
)
KINDS = {"resources": [{"name": "secrets", "kind": "Secret", "namespaced": True}]}


def found(*states: str) -> list[InterruptedRelease]:
    """Return the findings if Helm recorded revisions 1, 2, ... in these states."""
    records = [
        {
            "metadata": {
                "labels": {"owner": "helm", "name": "lab-nvidia", "version": str(number), "status": state}
            }
        }
        for number, state in enumerate(states, 1)
    ]

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/api/v1":
            return httpx2.Response(200, json=KINDS)
        assert request.url.path == "/api/v1/namespaces/gpu/secrets"
        assert request.url.params["labelSelector"] == "owner=helm,name=lab-nvidia"
        return httpx2.Response(200, json={"items": records[::-1]})

    async def run() -> list[InterruptedRelease]:
        http = httpx2.AsyncClient(base_url="https://cluster", transport=httpx2.MockTransport(answer))
        async with KubeApi(http) as api:
            return await interrupted_releases(api, [RELEASE])

    return asyncio.run(run())


@pytest.mark.parametrize(
    "states",
    [(), ("deployed",), ("superseded", "deployed"), ("deployed", "failed"), ("pending-install", "deployed")],
)
def test_a_release_whose_latest_revision_ended_is_not_interrupted(states: tuple[str, ...]) -> None:
    assert found(*states) == []


@pytest.mark.parametrize(
    ("states", "way_out"),
    [
        (("superseded", "deployed", "pending-upgrade"), "rollback lab-nvidia 2 --namespace gpu"),
        (("deployed", "failed", "pending-rollback"), "rollback lab-nvidia 1 --namespace gpu"),
        (("superseded", "superseded", "failed", "pending-upgrade"), "rollback lab-nvidia 2 --namespace gpu"),
        (("pending-install",), "uninstall lab-nvidia --namespace gpu"),
        (("failed", "pending-upgrade"), "uninstall lab-nvidia --namespace gpu"),
        (("uninstalling",), "rollback lab-nvidia 1 --namespace gpu"),
        (("superseded", "uninstalling"), "rollback lab-nvidia 2 --namespace gpu"),
    ],
)
def test_a_pending_release_returns_to_what_was_complete(states: tuple[str, ...], way_out: str) -> None:
    (release,) = found(*states)
    assert " ".join(release.way_out) == way_out
    assert str(release) == f"gpu/lab-nvidia (revision {len(states)}, {states[-1]})"


def test_an_uninstalled_driver_is_waited_for_until_its_slices_are_gone() -> None:
    answers = [[{"metadata": {"name": "one"}}], []]

    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/apis/resource.k8s.io/v1":
            slices = {"name": "resourceslices", "kind": "ResourceSlice", "namespaced": False}
            return httpx2.Response(200, json={"resources": [slices]})
        assert request.url.params["fieldSelector"] == "spec.driver=gpu.nvidia.com"
        return httpx2.Response(200, json={"items": answers.pop(0)})

    async def run(seconds: float) -> None:
        http = httpx2.AsyncClient(base_url="https://cluster", transport=httpx2.MockTransport(answer))
        async with KubeApi(http) as api:
            await wait_for_slices(api, "gpu.nvidia.com", seconds)

    asyncio.run(run(60))
    assert answers == []
    answers[:] = [[{"metadata": {"name": "one"}}]]
    asyncio.run(run(-1))
    assert answers == []
