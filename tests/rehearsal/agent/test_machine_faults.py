import asyncio

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.faults import change, error_codes, with_fault
from dra_fleet.rehearsal.simulator.node import NodeFaults
from tests.rehearsal.agent.agent_cluster import RESOURCE_API, AgentCluster, claiming_pod, template

NODE = "faulty-0"
GPU: Object = {"name": "gpu-0", "attributes": {}}
WATCHED = "NVMLDeviceHealthCheck=true"


@pytest.mark.parametrize(
    ("version", "gates", "code", "taints"),
    [
        ("0.5.0", WATCHED, 79, [{"key": "gpu.nvidia.com/xid", "value": "79", "effect": "NoSchedule"}]),
        ("0.5.0", WATCHED, 31, [{"key": "gpu.nvidia.com/xid", "value": "31", "effect": "None"}]),
        ("0.5.0", "", 79, None),
        ("25.12.0", WATCHED, 31, None),
    ],
)
def test_nvidias_driver_taints_a_gpu_with_an_xid_if_it_watches_its_health(
    version: str, gates: str, code: int, taints: list[Object] | None
) -> None:
    plugin = _plugin(version, gates)
    assert plugin.after_error(GPU, code) == (GPU if taints is None else {**GPU, "taints": taints})


def test_nvidias_driver_before_0_4_leaves_a_gpu_with_an_xid_out() -> None:
    assert _plugin("25.12.0", WATCHED).after_error(GPU, 79) is None


def _plugin(version: str, gates: str) -> NvidiaGpuPlugin:
    environment = [{"name": "FEATURE_GATES", "value": gates}]
    return NvidiaGpuPlugin({"name": "gpus", "image": f"driver:v{version}", "env": environment})


def test_faults_have_the_names_of_errors_or_their_codes() -> None:
    assert error_codes() == {"ecc": 48, "link": 74, "off-bus": 79}
    named = with_fault(NodeFaults(), "off-bus", "gpu-3")
    assert named == with_fault(NodeFaults(), "79", "gpu-3") == NodeFaults(errors={"gpu-3": 79})
    several = with_fault(with_fault(named, "gone", "gpu-1"), "crash", "gpu.nvidia.com")
    assert several == NodeFaults(errors={"gpu-3": 79}, gone=("gpu-1",), crashing=("gpu.nvidia.com",))
    assert with_fault(NodeFaults(), "unreachable", "") == NodeFaults(unreachable=True)


@pytest.mark.parametrize(
    ("fault", "target", "allowed"),
    [
        ("melted", "gpu-0", "allowed: ecc, link, off-bus, gone, crash, unreachable"),
        ("gone", "", "allowed: a device"),
        ("crash", "", "allowed: the name of a driver"),
        ("79", "", "an error code and a device"),
    ],
)
def test_a_fault_that_does_not_exist_or_lacks_its_target_is_an_error(
    fault: str, target: str, allowed: str
) -> None:
    with pytest.raises(RehearsalError, match=allowed):
        with_fault(NodeFaults(), fault, target)


@pytest.mark.engine
class TestOnACluster:
    """One machine; each test repairs it."""

    def test_a_device_that_is_gone_keeps_its_claim_from_being_prepared(
        self, agent_cluster: AgentCluster
    ) -> None:
        namespace = agent_cluster.namespace()
        agent_cluster.create(template(namespace, count=2))
        _published(agent_cluster, 2)
        _inject(agent_cluster, "gone", "gpu-1")
        agent_cluster.create(claiming_pod(namespace, "pod", "faulty"))
        message = agent_cluster.eventually(
            "the event of the failed preparation",
            lambda: next(
                (
                    item["message"]
                    for item in agent_cluster.items("v1", "Event", namespace)
                    if item["reason"] == "FailedPrepareDynamicResources"
                ),
                None,
            ),
        )
        assert 'allocatable not found for device "gpu-1"' in message
        _inject(agent_cluster, clear=True)
        agent_cluster.eventually("the pod runs", lambda: agent_cluster.is_running(namespace, "pod"))

    def test_the_slices_of_a_plugin_that_crashes_in_a_loop_are_removed_until_it_runs(
        self, agent_cluster: AgentCluster
    ) -> None:
        _published(agent_cluster, 2)
        _inject(agent_cluster, "crash", "gpu.nvidia.com")
        agent_cluster.eventually("no slices", lambda: not _devices(agent_cluster))
        _inject(agent_cluster, clear=True)
        _published(agent_cluster, 2)

    def test_an_unreachable_node_is_tainted_until_it_is_repaired(self, agent_cluster: AgentCluster) -> None:
        _inject(agent_cluster, "unreachable")
        agent_cluster.eventually(
            "the taint", lambda: "node.kubernetes.io/unreachable" in _taints(agent_cluster)
        )
        _inject(agent_cluster, clear=True)
        agent_cluster.eventually("no taint", lambda: not _taints(agent_cluster))

    def test_a_node_that_does_not_exist_is_an_error_with_the_nodes_that_do(
        self, agent_cluster: AgentCluster
    ) -> None:
        with pytest.raises(RehearsalError, match=f"no rehearsed node absent; allowed: .*{NODE}"):
            asyncio.run(change(agent_cluster.cluster.home, "absent"))


def _inject(cluster: AgentCluster, fault: str = "", target: str = "", *, clear: bool = False) -> None:
    asyncio.run(change(cluster.cluster.home, NODE, fault, target, clear=clear))


def _devices(cluster: AgentCluster) -> list[str]:
    return [
        device["name"]
        for item in cluster.items(RESOURCE_API, "ResourceSlice")
        if item["spec"].get("nodeName") == NODE
        for device in item["spec"].get("devices", [])
    ]


def _published(cluster: AgentCluster, count: int) -> None:
    cluster.eventually(f"{count} devices", lambda: len(_devices(cluster)) == count)


def _taints(cluster: AgentCluster) -> list[str]:
    node = cluster.run(lambda api: api.get("v1", "Node", NODE))
    return [taint["key"] for taint in node["spec"].get("taints", [])]
