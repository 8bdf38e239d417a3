from typing import Any

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.clusters.pending import Cause
from dra_fleet.rehearsal.agent.driver_pod import REFUSED, is_ready
from tests.charts import EXAMPLE, chart_folder
from tests.rehearsal.agent.agent_cluster import (
    POOL,
    RESOURCE_API,
    TAINT,
    AgentCluster,
    claiming_pod,
    template,
)

pytestmark = pytest.mark.engine

TOLERATION = {"key": TAINT["key"], "operator": "Exists"}
TIME_SLICING = {
    "driver": "gpu.nvidia.com",
    "parameters": {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "GpuConfig",
        "sharing": {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}},
    },
}


def slices_on(cluster: AgentCluster, node: str, driver: str = "gpu.nvidia.com") -> list[Object]:
    return [
        item
        for item in cluster.items(RESOURCE_API, "ResourceSlice")
        if item["spec"].get("nodeName") == node and item["spec"]["driver"] == driver
    ]


def test_slices_show_the_hardware_and_are_owned_by_their_node(agent_cluster: AgentCluster) -> None:
    (found,) = agent_cluster.eventually("slices of whole-0", lambda: slices_on(agent_cluster, "whole-0"))
    node = agent_cluster.run(lambda api: api.get("v1", "Node", "whole-0"))
    assert sorted(device["name"] for device in found["spec"]["devices"]) == ["gpu-0", "gpu-1"]
    assert found["spec"]["pool"] == {"name": "whole-0", "generation": 1, "resourceSliceCount": 1}
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("Node", node["metadata"]["uid"])


def test_nodes_report_the_release_of_their_cluster(agent_cluster: AgentCluster) -> None:
    nodes = agent_cluster.items("v1", "Node")
    assert {node["status"]["nodeInfo"]["kubeletVersion"] for node in nodes} == {"v1.36.3"}


def test_one_copy_more_than_devices_leaves_exactly_one_pending(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    names = [f"copy-{number}" for number in range(8)]
    agent_cluster.create(
        template(namespace, deviceClassName="mig.nvidia.com"),
        *(claiming_pod(namespace, name, "parts") for name in names),
    )
    running = agent_cluster.eventually(
        "seven run",
        lambda: (
            found
            if len(found := [name for name in names if agent_cluster.is_running(namespace, name)]) == 7
            else []
        ),
    )
    (waiting,) = set(names) - set(running)
    reason = agent_cluster.reason(namespace, waiting)
    assert reason.cause == Cause.NO_FREE_DEVICE
    assert "7 of 7 matching devices are in use by" in reason.sentence


def test_a_pod_whose_claims_its_controller_names_in_turn_gets_all_names_and_runs(
    agent_cluster: AgentCluster,
) -> None:
    namespace = agent_cluster.namespace()
    both = [{"name": name, "resourceClaimTemplateName": "gpu"} for name in ("first", "second")]
    containers = [{"name": "main", "image": "registry.k8s.io/pause"}]
    gates = [{"name": "example.com/later"}]
    pod = claiming_pod(
        namespace, "pair", "whole", resourceClaims=both, containers=containers, schedulingGates=gates
    )

    def names() -> list[Object]:
        """In one order: the controller takes them from a Go map, and to the API they are a map by name."""
        found = agent_cluster.pod(namespace, "pair") or {}
        statuses: list[Object] = found.get("status", {}).get("resourceClaimStatuses", [])
        return sorted(statuses, key=lambda status: status["name"])

    def patch(body: Object, subresource: str | None) -> None:
        agent_cluster.run(
            lambda api: api.merge("v1", "Pod", "pair", body, namespace=namespace, subresource=subresource)
        )

    agent_cluster.create(template(namespace), pod)
    named = agent_cluster.eventually("both are named", lambda: found if len(found := names()) == 2 else [])
    patch({"status": {"resourceClaimStatuses": named[:1]}}, "status")
    agent_cluster.eventually("both are named again", lambda: names() == named)
    patch({"spec": {"schedulingGates": None}}, None)

    agent_cluster.eventually("it runs", lambda: agent_cluster.is_running(namespace, "pair"))
    assert names() == named
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "pair", namespace))
    agent_cluster.eventually("it is gone", lambda: agent_cluster.pod(namespace, "pair") is None)


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any], Cause, str]] = {
    "label": ("unlabelled", {}, {}, Cause.DRIVER_LABEL_MISSING, "nvidia.com/gpu.present=true"),
    "driver taint": (
        "tainted",
        {},
        {"tolerations": [TOLERATION]},
        Cause.DRIVER_TAINT_NOT_TOLERATED,
        "does not tolerate its taint team=a:NoSchedule",
    ),
    "pod taint": ("tainted", {}, {}, Cause.TAINT_NOT_TOLERATED, "taint team=a:NoSchedule of node tainted-0"),
    "driver root": ("operated", {}, {}, Cause.DRIVER_NOT_READY, "--set nvidiaDriverRoot=/run/nvidia/driver"),
    "stranded": ("stranded", {}, {}, Cause.NO_DEVICES, "publishes no device"),
    "no node": ("nowhere", {}, {}, Cause.NO_NODE, "label example.com/pool=nowhere is missing"),
    "selector": (
        "whole",
        {
            "selectors": [
                {
                    "cel": {
                        "expression": "device.attributes['gpu.nvidia.com'].architecture == 'Hopper' && true"
                    }
                }
            ]
        },
        {},
        Cause.SELECTOR_FALSE,
        "clause `device.attributes['gpu.nvidia.com'].architecture == 'Hopper'` is false on the nearest one",
    ),
    "selector error": (
        "whole",
        {"selectors": [{"cel": {"expression": "device.attributes['gpu.nvidia.com'].nothing == 'x'"}}]},
        {},
        Cause.SELECTOR_ERROR,
        "no such key: nothing",
    ),
    "class": (
        "whole",
        {"deviceClassName": "absent.example.com"},
        {},
        Cause.CLASS_MISSING,
        "DeviceClass absent.example.com of request gpu does not exist",
    ),
    "count": ("whole", {"count": 3}, {}, Cause.TOO_MANY, "wants 3 devices, but no node has more than 2"),
    "constraint": (
        "whole",
        {"count": 2, "devices": {"constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}]}},
        {},
        Cause.CONSTRAINT,
        "2 devices of equal resource.kubernetes.io/pcieRoot",
    ),
    "prepare": (
        "whole",
        {"devices": {"config": [{"requests": ["gpu"], "opaque": TIME_SLICING}]}},
        {},
        Cause.PREPARE_FAILED,
        '"TimeSlicing" is selected as the GPU sharing strategy, but the "TimeSlicingSettings" feature gate',
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_cause_of_a_waiting_pod_is_named(agent_cluster: AgentCluster, case: str) -> None:
    pool, request, spec, cause, text = CASES[case]
    namespace = agent_cluster.namespace()
    agent_cluster.create(template(namespace, **request), claiming_pod(namespace, "pod", pool, **spec))
    agent_cluster.eventually("driver on whole-0", lambda: slices_on(agent_cluster, "whole-0"))
    reason = agent_cluster.eventually(
        f"cause {cause}",
        lambda: found if (found := agent_cluster.reason(namespace, "pod")).cause == cause else None,
    )
    assert text in reason.sentence
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "pod", namespace))
    agent_cluster.eventually("it is gone", lambda: agent_cluster.pod(namespace, "pod") is None)


def test_a_missing_template_is_named(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    agent_cluster.create(claiming_pod(namespace, "pod", "whole", "absent"))
    reason = agent_cluster.reason(namespace, "pod")
    assert reason.cause == Cause.TEMPLATE_MISSING
    assert reason.sentence.startswith(f"ResourceClaimTemplate absent does not exist in namespace {namespace}")


def test_an_exceeded_quota_is_named(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    hard = {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices": "0"}
    quota: Object = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none", "namespace": namespace},
        "spec": {"hard": hard},
    }
    agent_cluster.create(quota, template(namespace))
    agent_cluster.eventually(
        "the quota counts",
        lambda: agent_cluster.run(lambda api: api.get("v1", "ResourceQuota", "none", namespace))["status"],
    )
    agent_cluster.create(claiming_pod(namespace, "pod", "whole"))
    reason = agent_cluster.eventually(
        "the quota's reason",
        lambda: (
            found if (found := agent_cluster.reason(namespace, "pod")).cause == Cause.QUOTA_EXCEEDED else None
        ),
    )
    assert "exceeded quota: none" in reason.sentence


def install_example(cluster: AgentCluster, *values: str) -> None:
    """Install the example driver, once no slice of one before it can be allocated from any more."""
    cluster.eventually("no slices are left over", lambda: not example_slices(cluster))
    cluster.helm(
        *("upgrade", "--install", "example", str(chart_folder(*EXAMPLE)), "--namespace", "example-driver"),
        *("--create-namespace", "--set", "kubeletPlugin.numDevices=2"),
        *("--set", "kubeletPlugin.nodeSelector.example\\.com/pool=plain"),
        *(part for value in values for part in ("--set", value)),
    )


def example_slices(cluster: AgentCluster) -> list[Object]:
    return slices_on(cluster, "plain-0", "gpu.example.com")


def test_without_its_driver_a_pod_cannot_end_and_the_slices_vanish(agent_cluster: AgentCluster) -> None:
    namespace = agent_cluster.namespace()
    install_example(agent_cluster)
    agent_cluster.create(
        template(namespace, deviceClassName="gpu.example.com"), claiming_pod(namespace, "pod", "plain")
    )
    agent_cluster.eventually("it runs", lambda: agent_cluster.is_running(namespace, "pod"))

    agent_cluster.helm("uninstall", "example", "--namespace", "example-driver", "--wait")
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "pod", namespace))
    agent_cluster.eventually("the slices vanish", lambda: not example_slices(agent_cluster))
    reason = agent_cluster.reason(namespace, "pod")
    assert reason.cause == Cause.UNPREPARE_FAILED
    assert "no ready pod of DRA driver gpu.example.com on node plain-0" in reason.sentence

    install_example(agent_cluster)
    agent_cluster.eventually("the pod ends", lambda: agent_cluster.pod(namespace, "pod") is None)
    agent_cluster.helm("uninstall", "example", "--namespace", "example-driver", "--wait")


def test_a_pod_is_bound_once_the_driver_s_controller_has_said_that_its_device_is_ready(
    agent_cluster: AgentCluster,
) -> None:
    namespace = agent_cluster.namespace()
    install_example(
        agent_cluster, "kubeletPlugin.bindingConditions=true", "controller.plugins={BindingConditions}"
    )
    # From 1.36 on the role of the chart lets it write of devices on its own node alone (clusterrole.yaml).
    beside = {"spec": {"template": {"spec": {"nodeSelector": {POOL: "plain"}}}}}
    where = ("apps/v1", "Deployment", "example-dra-example-driver-controller", beside)
    agent_cluster.run(lambda api: api.merge(*where, namespace="example-driver"))
    agent_cluster.create(
        template(namespace, deviceClassName="gpu.example.com"), claiming_pod(namespace, "pod", "plain")
    )
    agent_cluster.eventually("it runs", lambda: agent_cluster.is_running(namespace, "pod"))
    [claim] = agent_cluster.items(RESOURCE_API, "ResourceClaim", namespace)
    [device] = claim["status"]["devices"]
    assert [item["type"] for item in device["conditions"]] == ["BindingConditions"]
    agent_cluster.run(lambda api: api.delete("v1", "Pod", "pod", namespace))
    agent_cluster.eventually("the pod ends", lambda: agent_cluster.pod(namespace, "pod") is None)
    agent_cluster.helm("uninstall", "example", "--namespace", "example-driver", "--wait")


def test_a_driver_whose_slices_are_refused_runs_on_and_tries_again(agent_cluster: AgentCluster) -> None:
    install_example(agent_cluster)
    binding = "ClusterRoleBinding"
    rbac, name = "rbac.authorization.k8s.io/v1", "example-dra-example-driver-role-binding"
    agent_cluster.eventually("slices", lambda: example_slices(agent_cluster))
    kept = agent_cluster.run(lambda api: api.get(rbac, binding, name))
    agent_cluster.run(lambda api: api.delete(rbac, binding, name))
    slice_name = example_slices(agent_cluster)[0]["metadata"]["name"]
    agent_cluster.run(lambda api: api.delete(RESOURCE_API, "ResourceSlice", slice_name))
    agent_cluster.run(lambda api: api.request("DELETE", "/api/v1/namespaces/example-driver/pods"))
    # At first the API server may not have seen on which node the pod is, and refuses the pod's token.
    requested = 'resourceslices.resource.k8s.io is forbidden: User "system:serviceaccount:example-driver:'
    agent_cluster.eventually("the driver is rejected", lambda: requested in refused_driver(agent_cluster))
    owned = {key: kept["metadata"][key] for key in ("name", "labels", "annotations")}
    agent_cluster.create({**kept, "metadata": owned})
    agent_cluster.eventually("slices again", lambda: example_slices(agent_cluster))
    agent_cluster.eventually("nothing is rejected any more", lambda: not refused_driver(agent_cluster))
    agent_cluster.helm("uninstall", "example", "--namespace", "example-driver", "--wait")


def refused_driver(cluster: AgentCluster) -> str:
    """Return the log of a ready pod about its slices."""
    pods = cluster.items("v1", "Pod", "example-driver")
    return "".join(pod["metadata"].get("annotations", {}).get(REFUSED, "") for pod in pods if is_ready(pod))


def test_a_removed_node_joins_again_and_publishes_again(agent_cluster: AgentCluster) -> None:
    (before,) = agent_cluster.eventually("slices", lambda: slices_on(agent_cluster, "stranded-0"))
    agent_cluster.run(lambda api: api.delete("v1", "Node", "stranded-0"))
    agent_cluster.eventually(
        "a new slice",
        lambda: [
            item
            for item in slices_on(agent_cluster, "stranded-0")
            if item["metadata"]["uid"] != before["metadata"]["uid"]
        ],
    )
