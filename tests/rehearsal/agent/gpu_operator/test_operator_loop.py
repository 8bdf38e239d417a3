import asyncio
from typing import cast

from dra_fleet.clusters.client import KubeApi, Object
from dra_fleet.drivers.nvidia.simulation.operator import daemons
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role
from dra_fleet.drivers.nvidia.simulation.operator.operands import OPERANDS
from tests.rehearsal.agent.fake_api import FakeApi
from tests.rehearsal.agent.gpu_operator.operator_objects import (
    NAMESPACE,
    VERSION,
    host,
    pod_of,
    policy_object,
)

FOUND = {"feature.node.kubernetes.io/pci-10de.present": "true"}
ALL_ON = {name: {"enabled": True} for name in ("dcgm",)}


def node(labels: dict[str, str] | None = None) -> Object:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": labels or {}}}


def reconcile(api: FakeApi) -> list[str]:
    """Run the loop once; what it wrote."""
    api.writes.clear()
    asyncio.run(daemons.reconcile(cast("KubeApi", api), NAMESPACE, VERSION))
    return list(api.writes)


def names(api: FakeApi, kind: str) -> set[str]:
    return {name for own, name in api.objects if own == kind}


def cluster(labels: dict[str, str] | None = None) -> FakeApi:
    return FakeApi(policy_object(**ALL_ON), node(labels))


def test_without_a_policy_nothing_happens() -> None:
    assert reconcile(FakeApi(node(FOUND))) == []


def test_all_operands_are_made_and_then_left_alone() -> None:
    api = cluster(FOUND)
    reconcile(api)
    assert names(api, "DaemonSet") == {operand.name for operand in OPERANDS}
    assert names(api, "ServiceAccount") == {operand.account for operand in OPERANDS}
    assert names(api, "RuntimeClass") == {"nvidia"}
    assert api.objects["Node", "n1"]["metadata"]["labels"]["nvidia.com/gpu.present"] == "true"
    assert reconcile(api) == []


def test_without_gpu_nodes_no_operand_is_made() -> None:
    api = cluster()
    reconcile(api)
    assert names(api, "DaemonSet") == set()
    assert api.objects["ClusterPolicy", "cluster-policy"]["status"]["state"] == "ready"


def test_a_disabled_operand_is_deleted() -> None:
    api = cluster(FOUND)
    reconcile(api)
    api.objects["ClusterPolicy", "cluster-policy"]["spec"]["dcgm"] = {"enabled": False}
    assert reconcile(api) == ["delete nvidia-dcgm"]


def test_a_changed_operand_is_replaced_alone() -> None:
    api = cluster(FOUND)
    reconcile(api)
    env = [{"name": "WITH_REBOOT", "value": "true"}]
    api.objects["ClusterPolicy", "cluster-policy"]["spec"]["migManager"] = {"env": env}
    assert [write for write in reconcile(api) if "mig-manager" in write] == ["replace nvidia-mig-manager"]


def test_the_policy_is_ready_when_all_pods_are() -> None:
    api = cluster(FOUND)
    reconcile(api)
    assert api.objects["ClusterPolicy", "cluster-policy"]["status"]["state"] == "ready"
    status = {"numberReady": 0, "desiredNumberScheduled": 1}
    api.objects["DaemonSet", "nvidia-dcgm"]["status"] = status
    reconcile(api)
    assert api.objects["ClusterPolicy", "cluster-policy"]["status"]["state"] == "notReady"


def test_the_oldest_policy_counts() -> None:
    api = cluster(FOUND)
    late = policy_object(dcgm={"enabled": False})
    late["metadata"] |= {"name": "a-later-one", "creationTimestamp": "2026-11-22T00:00:00Z"}
    api.objects["ClusterPolicy", "a-later-one"] = late
    reconcile(api)
    assert "nvidia-dcgm" in names(api, "DaemonSet")


def test_workers_findings_become_labels_and_go_with_them() -> None:
    api = FakeApi(node())
    worker = pod_of(Role.FEATURE_DISCOVERY)
    found, plain = pod_of(Role.FEATURE_DISCOVERY, ready=True), host(nvidia={"driverVersion": "580.95.05"})

    async def publish(*others: Object) -> bool:
        news = await daemons.publish(cast("KubeApi", api), worker, plain, others)
        await daemons.label_nodes(cast("KubeApi", api))
        return news

    assert asyncio.run(publish(found)) is True
    labels = api.objects["Node", "n1"]["metadata"]["labels"]
    assert (labels["nvidia.com/gpu.count"], labels[next(iter(FOUND))]) == ("2", "true")
    assert asyncio.run(publish(found)) is False
    asyncio.run(publish())
    labels = api.objects["Node", "n1"]["metadata"]["labels"]
    assert "nvidia.com/gpu.count" not in labels
    assert next(iter(FOUND)) in labels
