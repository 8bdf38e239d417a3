from collections.abc import Callable
from typing import Any

import pytest

from tests.clouds.aks.aks_fleets import cluster, mig, pool, values, vgpu, warnings
from tests.fleet.plan.plan_helpers import planned, refused

POOL = "clusters.studio.pools.gpu"
NVIDIA = "clusters.studio.drivers.nvidia"


@pytest.mark.parametrize("fleet", [vgpu, mig])
def test_the_fleets_that_are_broken_below_are_in_order(fleet: Callable[[], dict[str, Any]]) -> None:
    assert planned(fleet()).warnings == ()


def test_an_operator_pool_without_an_operator_has_no_driver() -> None:
    fleet = mig()
    del cluster(fleet)["gpuOperator"]
    assert refused(fleet) == {
        f"{POOL}.gpuDriver": "leaves the nodes without a GPU driver: no GPU Operator is declared to "
        "install it\n"
        "  got: operator\n"
        "  fix: add gpuOperator: {version: v25.10.0} to the cluster, or set gpuDriver: aks"
    }


@pytest.mark.parametrize(
    ("fleet", "enabled", "fix"),
    [
        (vgpu, True, "set the pools' gpuDriver: operator"),
        (mig, False, "set the pools' gpuDriver: aks, or remove it"),
    ],
)
def test_the_operator_must_not_contradict_the_pools_owner_of_the_driver(
    fleet: Callable[[], dict[str, Any]], enabled: bool, fix: str
) -> None:
    broken = fleet()
    cluster(broken)["gpuOperator"] = {"version": "v25.10.0", "values": {"driver": {"enabled": enabled}}}
    assert refused(broken) == {
        "clusters.studio.gpuOperator.values.driver.enabled": "contradicts the pools: two owners of one "
        "GPU driver, "
        f"or none\n  got: {str(enabled).lower()}\n  allowed: {str(not enabled).lower()}\n  fix: {fix}"
    }


@pytest.mark.parametrize(
    ("fleet", "root", "allowed"), [(vgpu, "/run/nvidia/driver", "/"), (mig, "/", "/run/nvidia/driver")]
)
def test_the_driver_root_must_be_where_the_driver_is(
    fleet: Callable[[], dict[str, Any]], root: str, allowed: str
) -> None:
    broken = fleet()
    values(broken, {"nvidiaDriverRoot": root})
    assert refused(broken) == {
        f"{NVIDIA}.values.nvidiaDriverRoot": "is not where the pools' GPU driver is installed\n"
        f"  got: {root}\n  allowed: {allowed}\n"
        "  fix: remove it from values; it follows from the pools' gpuDriver"
    }


def test_pools_of_both_owners_cannot_share_a_cluster() -> None:
    fleet = mig()
    cluster(fleet)["pools"]["other"] = {"machine": "Standard_NC4as_T4_v3", "nodes": {"min": 1, "max": 1}}
    assert refused(fleet) == {
        NVIDIA: "serves pools whose GPU drivers lie under different roots "
        "(gpu: /run/nvidia/driver, other: /); one release has one nvidiaDriverRoot\n"
        "  fix: give all pools of the cluster the same gpuDriver, or put them into different clusters"
    }


def test_a_pool_with_claims_cannot_be_empty() -> None:
    fleet = vgpu()
    pool(fleet)["nodes"]["min"] = 0
    assert refused(fleet) == {
        f"{POOL}.nodes.min": "must be at least 1: the AKS autoscaler does not know which devices a new node "
        "would "
        "have\n  got: 0\n  allowed: 1 or more\n  fix: set nodes: {min: 1, …}"
    }


def test_the_label_that_the_plugin_looks_for_cannot_be_taken_away() -> None:
    fleet = vgpu()
    pool(fleet)["labels"] = {"nvidia.com/gpu.present": "false"}
    assert refused(fleet) == {
        f"{POOL}.labels.nvidia.com/gpu.present": "must be true, or the DRA driver's plugin does not run "
        "on the "
        "pool's nodes\n  got: false\n  allowed: true\n  fix: remove nvidia.com/gpu.present from labels"
    }


def test_a_label_of_azure_s_own_prefix_is_refused() -> None:
    fleet = vgpu()
    pool(fleet)["labels"] = {"kubernetes.azure.com/mode": "system"}
    assert refused(fleet) == {
        f"{POOL}.labels.kubernetes.azure.com/mode": "has a prefix that belongs to AKS or Kubernetes; Azure "
        "refuses it\n  got: kubernetes.azure.com/mode\n  fix: choose a prefix of your own"
    }


def test_pools_of_single_machines_have_no_gpus() -> None:
    fleet = vgpu()
    pool(fleet)["type"] = "VirtualMachines"
    assert refused(fleet) == {
        f"{POOL}.type": "has no GPU support in AKS\n  got: VirtualMachines\n"
        "  allowed: VirtualMachineScaleSets\n  fix: remove type"
    }


@pytest.mark.parametrize("image", ["Flatcar", "AzureLinuxOSGuard", "Windows2022"])
def test_the_driver_s_pods_need_a_node_image_they_run_on(image: str) -> None:
    fleet = mig()
    pool(fleet)["osSku"] = image
    assert refused(fleet) == {
        f"{POOL}.osSku": "is not a node image that supports NVIDIA's driver pods\n"
        f"  got: {image}\n  allowed: Ubuntu2404, Ubuntu2204, Ubuntu, AzureLinux3, AzureLinux\n"
        "  fix: remove osSku"
    }


def test_a_managed_gpu_pool_would_advertise_its_gpus_twice() -> None:
    fleet = vgpu()
    pool(fleet)["gpuManagement"] = "Managed"
    assert refused(fleet) == {
        f"{POOL}.gpuManagement": "installs a device plugin of AKS, which advertises the GPUs that the DRA "
        "driver "
        "publishes\n  got: Managed\n  allowed: Unmanaged\n  fix: remove gpuManagement"
    }


def test_a_managed_gpu_pool_is_not_set_up_without_dra_either() -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"] = {}
    pool(fleet)["gpuManagement"] = "Managed"
    assert refused(fleet) == {
        f"{POOL}.gpuManagement": "is not set up by this program: it installs a device plugin of AKS beside "
        "any DRA driver\n  got: Managed\n  allowed: Unmanaged\n  fix: remove gpuManagement"
    }


def test_the_operator_s_device_plugin_would_advertise_the_gpus_twice() -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["values"] = {"devicePlugin": {"enabled": True}}
    assert refused(fleet) == {
        "clusters.studio.gpuOperator.values.devicePlugin.enabled": "would advertise the GPUs that the DRA "
        "driver publishes, so that each is allocated twice\n  got: true\n  allowed: false\n"
        "  fix: remove it from values, or set advertise: device-plugin on the pools that it is for"
    }


@pytest.mark.parametrize("version", ["25.8.1", "0.5.0"])
def test_the_compute_domain_plugin_is_not_started_on_vgpus(version: str) -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"]["nvidia"]["version"] = version
    values(fleet, {"resources": {"computeDomains": {"enabled": True}}})
    assert refused(fleet) == {
        f"{NVIDIA}.values.resources.computeDomains.enabled": "starts a plugin that needs driver 570.158.01 "
        "on pools of vGPUs, whose GRID driver may be older (gpu)\n  got: true\n  allowed: false\n"
        "  fix: set resources.computeDomains.enabled: false; vGPUs have no NVLink domain"
    }


def test_the_published_gate_of_vgpus_keeps_working_on_its_own_chart() -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"]["nvidia"]["version"] = "25.8.1"
    values(
        fleet,
        {
            "resources": {"computeDomains": {"enabled": True}},
            "featureGates": {"IMEXDaemonsWithDNSNames": False},
        },
    )
    assert planned(fleet).warnings == ()


def test_azure_s_own_partitions_need_a_machine_that_has_them() -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"] = {}
    pool(fleet)["gpuInstanceProfile"] = "MIG1g"
    assert refused(fleet) == {
        f"{POOL}.gpuInstanceProfile": "is not offered on Standard_NV6ads_A10_v5\n  got: MIG1g\n"
        "  allowed: Standard_NC24ads_A100_v4, Standard_NC40ads_H100_v5, Standard_NC48ads_A100_v4, "
        "Standard_NC80adis_H100_v5, Standard_NC96ads_A100_v4, Standard_ND96amsr_A100_v4, "
        "Standard_ND96asr_v4, Standard_ND96isr_H100_v5, Standard_ND96isr_H200_v5\n"
        "  fix: remove it, or choose one of these machines"
    }


def test_azure_s_own_partitions_never_meet_dra_on_one_pool() -> None:
    fleet = vgpu()
    pool(fleet).update({"machine": "Standard_ND96asr_v4", "gpuInstanceProfile": "MIG1g"})
    assert refused(fleet) == {
        f"{POOL}.gpuInstanceProfile": "makes partitions that AKS's device plugin advertises, never "
        "together with "
        "DRA on one pool\n  got: MIG1g\n"
        "  fix: remove it and write sharing: {strategy: mig, layout: {…}} for the operator's partitions"
    }


def test_without_dra_azure_s_partitions_are_planned_with_a_warning_that_they_stay() -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"] = {}
    pool(fleet).update({"machine": "Standard_ND96asr_v4", "gpuInstanceProfile": "MIG1g"})
    assert warnings(fleet) == (
        "cluster studio: gpuInstanceProfile of pool gpu cannot change; another one replaces it",
    )


def test_a_minor_whose_support_ends_is_warned_of_unless_it_is_long() -> None:
    fleet = vgpu()
    fleet["kubernetes"] = "1.34"
    ends = (
        "cluster studio: AKS supports Kubernetes 1.34 without long-term support until 2026-11-30; "
        "set longTermSupport: true, or plan the upgrade"
    )
    assert ends in warnings(fleet)
    cluster(fleet)["longTermSupport"] = True
    assert ends not in warnings(fleet)


def test_a_key_that_helm_would_ignore_is_refused() -> None:
    fleet = mig()
    values(fleet, {"resources-computeDomains": {"enabled": False}})
    assert refused(fleet) == {
        f"{NVIDIA}.values.resources-computeDomains": "is not a value of chart 25.8.1; Helm would ignore it "
        "silently\n  got: resources-computeDomains\n"
        "  allowed: resources.computeDomains, resources.computeDomains.enabled, resources.gpus; 87 are "
        "known\n  fix: did you mean resources.computeDomains?"
    }


def test_a_default_layout_of_the_operator_is_refused_for_a_pool_that_declares_none() -> None:
    fleet = mig()
    whole = dict(next(iter(cluster(fleet)["pools"].values())))
    whole.pop("sharing")
    cluster(fleet)["pools"] = {"whole": whole}
    fleet["classes"], fleet["claims"], fleet["workloads"] = {}, {}, {}
    cluster(fleet)["gpuOperator"]["values"] = {"migManager": {"config": {"default": "all-1g.10gb"}}}
    text = refused(fleet)["clusters.studio.gpuOperator.values.migManager.config.default"]
    assert text.startswith("would divide the GPUs of pool whole, which declares no layout")
    assert "fix: pool whole: sharing: {strategy: mig, layout: {1g.10gb: 7}}" in text


def test_a_key_that_the_operator_s_chart_lacks_is_refused() -> None:
    fleet = mig()
    cluster(fleet)["gpuOperator"]["values"] = {"migmanager": {"enabled": True}}
    assert refused(fleet) == {
        "clusters.studio.gpuOperator.values.migmanager": "is not a value of chart v25.10.0; Helm would "
        "ignore it silently\n  got: migmanager\n"
        "  allowed: migManager, migManager.env, migManager.args; 281 are known\n"
        "  fix: did you mean migManager?"
    }


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'gpu.nvidia.com'",
        "device.driver.startsWith('gpu.')",
        "device.attributes['gpu.nvidia.com'].type != 'vgpu'",
    ],
)
def test_a_class_of_partitions_must_not_match_whole_gpus(expression: str) -> None:
    fleet = mig()
    fleet["classes"] = {"nvidia-mig": {"cel": [expression]}}
    assert refused(fleet) == {
        "classes.nvidia-mig.cel": "also matches whole GPUs, on cluster studio with its MIG partitions\n"
        f"  got: {expression}\n"
        "  fix: add && device.attributes['gpu.nvidia.com'].type == 'mig', or 'gpu' if whole GPUs are meant"
    }


@pytest.mark.parametrize(
    ("key", "value", "allowed"), [("sku", "Automatic", "Base"), ("nodeProvisioning", "Auto", "Manual")]
)
def test_nodes_that_azure_provisions_by_itself_ignore_claims(key: str, value: str, allowed: str) -> None:
    fleet = vgpu()
    cluster(fleet)[key] = value
    assert refused(fleet) == {
        f"clusters.studio.{key}": "provisions nodes by itself and ignores claims; pods with claims would "
        "stay "
        f"Pending\n  got: {value}\n  allowed: {allowed}\n"
        f"  fix: set {key}: {allowed}; the stack's pools are scaled by the cluster autoscaler"
    }


def test_partitions_need_someone_who_makes_them() -> None:
    fleet = mig()
    del cluster(fleet)["gpuOperator"]
    pool(fleet)["gpuDriver"] = "aks"
    assert refused(fleet) == {
        f"{POOL}.sharing": "requests MIG partitions that nothing makes: the operator's MIG manager does\n"
        "  got: mig\n  fix: add gpuOperator: {version: v25.10.0} to the cluster"
    }


def test_partitions_of_a_gpu_without_mig_are_refused_once() -> None:
    fleet = vgpu()
    pool(fleet)["sharing"] = {"strategy": "mig", "layout": {"1g.5gb": 7}}
    assert refused(fleet) == {
        f"{POOL}.sharing.layout": "requests MIG partitions, which A10-4Q cannot have\n  got: {1g.5gb: 7}\n"
        "  allowed: sharing: {strategy: exclusive}\n"
        "  fix: remove sharing, or choose a machine whose GPUs have MIG (A30, A100, H100 and later)"
    }


def test_a_vgpu_needs_azure_s_own_driver() -> None:
    fleet = mig()
    pool(fleet).update({"machine": "Standard_NV12ads_A10_v5", "sharing": {"strategy": "exclusive"}})
    assert refused(fleet) == {
        f"{POOL}.gpuDriver": "cannot be operator on Standard_NV12ads_A10_v5: its vGPU needs Azure's GRID "
        "driver\n  got: operator\n  allowed: aks\n  fix: set gpuDriver: aks"
    }


def test_a_capacity_reservation_needs_an_identity_with_rights_on_it() -> None:
    fleet = vgpu()
    pool(fleet)["capacityReservationGroup"] = "/subscriptions/s/group"
    assert refused(fleet) == {
        f"{POOL}.capacityReservationGroup": "needs a cluster identity of your own with rights on the group\n"
        "  got: /subscriptions/s/group\n  fix: add identity: /subscriptions/… to create"
    }
