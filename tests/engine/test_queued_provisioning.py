"""Queued pools of GKE: a ProvisioningRequest gets all of its nodes, waits for them, or fails."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.test_gke_situations import cluster, stack_file

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

SECONDS: Final = 90.0
POOL: Final = {
    "machine": "g2-standard-8",
    "nodes": {"min": 0, "max": 3},
    "queued": True,
    "gpuDriver": "gke",
    "advertise": "device-plugin",
}
TEMPLATE: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "PodTemplate",
    "metadata": {"name": "one-l4", "namespace": "default"},
    "template": {
        "spec": {
            "nodeSelector": {"cloud.google.com/gke-queued": "true"},
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
            "containers": [{"name": "train", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
        }
    },
}


def pod(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **TEMPLATE["template"]}


def request(name: str, count: int) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "provisioningClassName": "queued-provisioning.gke.io",
            "podSets": [{"count": count, "podTemplateRef": {"name": "one-l4"}}],
        },
    }


async def until(home: Home, name: str, condition: str, text: str) -> None:
    """Wait until a request has a condition whose message contains a text."""
    conditions: dict[str, str] = {}
    deadline = time.monotonic() + SECONDS
    async with connect(home, "queue") as api:
        while text not in conditions.get(condition, ""):
            assert time.monotonic() < deadline, conditions
            found = await api.get("autoscaling.x-k8s.io/v1", "ProvisioningRequest", name, "default")
            reported = found.get("status", {}).get("conditions", [])
            conditions = {one["type"]: one["message"] for one in reported}
            await asyncio.sleep(0.5)


def test_a_queued_pool_gets_all_nodes_of_a_request_or_none(own_rehearsed: Rehearsed) -> None:
    queue = cluster("g2-standard-8", drivers={}, pools={"l4": POOL})

    def nodes(quota: int) -> int:
        limits = {"quotas": {"nvidia-l4": quota}}
        file = stack_file(own_rehearsed.files, "queue", {"queue": queue}, has_work=False, gke=limits)
        up = own_rehearsed.run("rehearse", "up", str(file), "--json")
        return up.json["clusters"]["queue"]["pools"]["l4"]["nodes"]

    home = Home.at(own_rehearsed.home)
    nodes(quota=1)
    for item in (TEMPLATE, request("two", 2), request("many", 9), pod("first"), pod("second")):
        asyncio.run(_create(home, item))

    asyncio.run(until(home, "many", "Failed", "9 nodes are needed, and it has at most 3"))
    asyncio.run(until(home, "two", "Accepted", "waiting for resources"))
    assert nodes(quota=1) == 0
    nodes(quota=3)
    asyncio.run(until(home, "two", "Provisioned", "2 nodes of pool l4-"))
    assert nodes(quota=3) == 2


async def _create(home: Home, item: dict[str, Any]) -> None:
    async with connect(home, "queue") as api:
        await api.create(item)
