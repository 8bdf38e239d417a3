"""Pending releases of a killed run, from the labels of Helm's records.

https://helm.sh/docs/topics/advanced/#storage-backends
"""

import asyncio

import httpx2
import pytest

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.releases import InterruptedRelease, interrupted_releases, wait_for_slices
from dra_fleet.model.plan import ReleasePlan

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
