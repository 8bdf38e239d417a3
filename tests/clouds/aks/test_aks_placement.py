from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet.drivers.common.plugin_pods import PluginPods
from dra_fleet.drivers.nvidia.driver import DRIVER, after_partitioning
from dra_fleet.drivers.nvidia.resources import DIVIDABLE
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.kubernetes.scheduling.taints import Toleration, untolerated_taints
from tests.clouds.aks.aks_fleets import cluster, mig, pool, values, vgpu
from tests.fleet.plan.plan_helpers import planned, refused

PLUGIN = "clusters.studio.drivers.nvidia.values.kubeletPlugin"
OPERATOR = "clusters.studio.gpuOperator.values"
STATE = "nvidia.com/mig.config.state"
CUT = {"nvidia.com/gpu.present": "true", "dra-fleet/pool": "gpu"}
USUAL = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = [{"matchExpressions": list(expressions)}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def one(key: str, operator: str, *requested: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(requested)}


PRESENT = one("nvidia.com/gpu.present", "In", "true")


def may_start_early(selector: object, written: object) -> bool:
    values = {"kubeletPlugin": {"nodeSelector": selector, "affinity": written}}
    pods = PluginPods.of(DRIVER, DRIVER.facts.versions[-1], values)
    return pods.may_start_early(some_labels(CUT), DIVIDABLE.progress)


def test_values_that_let_the_plugin_start_before_the_partitions_are_refused() -> None:
    fleet = mig()
    values(fleet, {"kubeletPlugin": {"affinity": None}})
    assert refused(fleet) == {
        f"{PLUGIN}.affinity": "lets the plugin start on pool gpu before its MIG partitions exist, and "
        "publish whole GPUs\n"
        "  got: null\n"
        "  allowed: nvidia.com/mig.config.state In [success] on the pool's nodes\n"
        "  fix: remove it from values; the plan writes it"
    }


def test_an_affinity_of_the_stack_s_own_that_waits_for_the_partitions_is_taken() -> None:
    fleet = mig()
    values(fleet, {"kubeletPlugin": {"affinity": affinity(PRESENT, one(STATE, "In", "success"))}})
    assert planned(fleet).warnings == ()


@pytest.mark.parametrize(
    "written",
    [
        affinity(PRESENT),
        affinity(PRESENT, one(STATE, "Exists")),
        affinity(PRESENT, one(STATE, "NotIn", "failed")),
        affinity(PRESENT, one(STATE, "In", "success", "pending")),
        affinity(one("feature.node.kubernetes.io/pci-10de.present", "In", "true")),
        affinity(one("example.com/a", "DoesNotExist")),
        {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
        {},
        None,
        "nonsense",
    ],
)
def test_an_affinity_that_a_node_can_meet_before_its_partitions_starts_early(written: object) -> None:
    assert may_start_early({}, written)


@pytest.mark.parametrize(
    ("selector", "written"),
    [
        ({}, after_partitioning(["gpu"])),
        ({}, affinity(one(STATE, "In", "success"))),
        ({STATE: "success"}, affinity(PRESENT)),
        ({"dra-fleet/pool": "other"}, None),
        ({}, affinity(one("dra-fleet/pool", "NotIn", "gpu"))),
        ({}, affinity(one("dra-fleet/pool", "DoesNotExist"))),
    ],
)
def test_an_affinity_that_waits_or_leaves_the_pool_out_does_not(
    selector: dict[str, str], written: object
) -> None:
    assert not may_start_early(selector, written)


def test_values_that_keep_the_plugin_off_a_tainted_pool_are_refused() -> None:
    fleet = mig()
    values(fleet, {"kubeletPlugin": {"tolerations": [{"key": "sku", "value": "cpu"}]}})
    assert refused(fleet) == {
        f"{PLUGIN}.tolerations": "does not tolerate sku=gpu:NoSchedule of pool gpu, so that the plugin "
        "never runs there and no device is published\n"
        '  got: [{"key": "sku", "value": "cpu"}]\n'
        "  fix: remove it from values, for the plan tolerates the pools' taints; or add "
        "{key: sku, operator: Equal, value: gpu, effect: NoSchedule}"
    }


@pytest.mark.parametrize("version", ["25.8.1", "0.5.0"])
def test_the_usual_taint_of_gpus_is_tolerated_on_every_chart(version: str) -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"]["nvidia"]["version"] = version
    pool(fleet)["taints"] = [USUAL]
    [nvidia] = planned(fleet).clusters[0].releases
    plugin = nvidia.values.get("kubeletPlugin", {})
    default = [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert plugin.get("tolerations", default if version == "0.5.0" else []) == default


@pytest.mark.parametrize(
    "tolerations",
    [
        [{"operator": "Exists"}],
        [{"key": "sku", "operator": "Exists"}],
        [{"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}],
        [{"key": "sku", "value": "gpu"}],
    ],
)
def test_a_taint_is_tolerated_in_each_way_of_kubernetes(tolerations: list[dict[str, str]]) -> None:
    [pool, *_] = planned(mig()).clusters[0].pools
    assert untolerated_taints(pool.taints, map(Toleration.of, tolerations)) == []


def test_values_that_keep_the_operator_off_a_tainted_pool_are_refused() -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["values"] = {"daemonsets": {"tolerations": []}}
    assert refused(fleet) == {
        f"{OPERATOR}.daemonsets.tolerations": "does not tolerate sku=gpu:NoSchedule of pool gpu, so that "
        "none of the operator's pods runs there\n"
        "  got: []\n"
        "  fix: remove it from values, for the plan tolerates the pools' taints; or add "
        "{key: sku, operator: Equal, value: gpu, effect: NoSchedule}"
    }


@pytest.mark.parametrize(
    ("key", "what"),
    [
        ("migManager", "turns off who makes the MIG partitions of gpu"),
        (
            "gfd",
            "turns off who finds that GPUs can have MIG partitions, so that none are made of gpu",
        ),
    ],
)
def test_the_component_that_makes_the_partitions_cannot_be_disabled(key: str, what: str) -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["values"] = {key: {"enabled": False}}
    assert refused(fleet) == {
        f"{OPERATOR}.{key}.enabled": f"{what}\n  got: false\n  allowed: true\n  fix: remove it from values"
    }


def test_the_mig_manager_may_reboot_where_a_gpu_needs_it() -> None:
    fleet = mig()
    given = [{"name": "WITH_SHUTDOWN_HOST_GPU_CLIENTS", "value": "true"}]
    cluster(fleet)["gpuOperator"]["values"] = {"migManager": {"env": given}}
    assert refused(fleet) == {
        f"{OPERATOR}.migManager.env": "does not allow the MIG manager to reboot nodes, so that the GPUs of "
        "gpu never change their MIG mode in a virtual machine\n"
        '  got: [{"name": "WITH_SHUTDOWN_HOST_GPU_CLIENTS", "value": "true"}]\n'
        '  fix: add {name: WITH_REBOOT, value: "true"}'
    }
    cluster(fleet)["gpuOperator"]["values"]["migManager"]["env"] += [{"name": "WITH_REBOOT", "value": "true"}]
    assert planned(fleet).warnings == ()


def test_a_gpu_that_changes_its_mode_by_itself_needs_no_reboot() -> None:
    fleet = mig()
    pool(fleet)["machine"] = "Standard_ND96isr_H100_v5"
    cluster(fleet)["gpuOperator"]["values"] = {"migManager": {"env": []}}
    assert planned(fleet).warnings == ()


@pytest.mark.parametrize(
    ("fleet", "key", "wrong", "got", "allowed"),
    [
        (mig, "toolkit.enabled", False, "false", "true"),
        (vgpu, "toolkit.enabled", True, "true", "false"),
        (mig, "operator.runtimeClass", "nvidia-container-runtime", '"nvidia-container-runtime"', '"nvidia"'),
        (vgpu, "operator.runtimeClass", "nvidia", '"nvidia"', '"nvidia-container-runtime"'),
    ],
)
def test_values_that_follow_from_the_driver_s_owner_cannot_be_mixed(
    fleet: Callable[[], dict[str, Any]], key: str, wrong: object, got: str, allowed: str
) -> None:
    broken = fleet()
    section, _, name = key.partition(".")
    cluster(broken)["gpuOperator"] = {"version": "v25.10.0", "values": {section: {name: wrong}}}
    assert refused(broken) == {
        f"{OPERATOR}.{key}": f"does not match the component that installs the GPU driver\n  got: {got}\n"
        f"  allowed: {allowed}\n  fix: remove it from values; it follows from the pools' gpuDriver"
    }


ROOT_MOUNT = (
    "is mounted at its own path into the pods that wait for the GPU driver, and no container starts with a "
    "mount on its root: partitions, labels and devices would never come"
)


@pytest.mark.parametrize(
    ("fleet", "folder", "what"),
    [
        (vgpu, "/", ROOT_MOUNT),
        (mig, "/", ROOT_MOUNT),
        (
            mig,
            "/opt/gpu",
            "is not where the DRA driver looks for the GPU driver that the operator installs",
        ),
    ],
)
def test_the_operator_mounts_no_folder_on_a_container_s_root(
    fleet: Callable[[], dict[str, Any]], folder: str, what: str
) -> None:
    broken = fleet()
    values = {"hostPaths": {"driverInstallDir": folder}}
    cluster(broken)["gpuOperator"] = {"version": "v25.10.0", "values": values}
    assert refused(broken) == {
        f"{OPERATOR}.hostPaths.driverInstallDir": f"{what}\n  got: {folder}\n  allowed: /run/nvidia/driver\n"
        "  fix: remove it: that is the chart's default, also if the host has the GPU driver"
    }


@pytest.mark.parametrize("folder", ["/run/nvidia/driver", "/opt/gpu", ""])
def test_any_other_folder_works_if_the_host_includes_the_driver(folder: str) -> None:
    fleet = vgpu()
    values = {"hostPaths": {"driverInstallDir": folder}}
    cluster(fleet)["gpuOperator"] = {"version": "v25.10.0", "values": values}
    assert planned(fleet).warnings == ()
