import json
from typing import Any

import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.nvidia.simulation.operator.daemons import NO_GPU, VGPU, start
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role, role_of
from dra_fleet.drivers.nvidia.simulation.operator.operands import HASH, OPERANDS, objects_of, runtime_class
from tests.rehearsal.agent.gpu_operator.operator_objects import (
    NAMESPACE,
    daemonset_of,
    host,
    pod_of,
    read_policy,
)

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
SKU = {"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}


def kinds(role: Role, **spec: Any) -> dict[str, str]:
    operand = next(item for item in OPERANDS if item.role is role)
    version = spec.pop("version", "v25.10.0")
    return {
        item["kind"]: item["metadata"]["name"]
        for item in objects_of(operand, read_policy(version, **spec), NAMESPACE)
    }


@pytest.mark.parametrize("role", [item.role for item in OPERANDS], ids=lambda role: role.value)
def test_every_operand_runs_where_its_label_is_and_is_known_again(role: Role) -> None:
    body = daemonset_of(role, read_policy(daemonsets={"tolerations": [GPU, SKU]}))
    spec = body["spec"]["template"]["spec"]
    ((key, value),) = spec["nodeSelector"].items()
    assert (key.startswith("nvidia.com/gpu.deploy."), value) == (True, "true")
    assert spec["tolerations"] == [GPU, SKU]
    assert role_of({"spec": spec}) is role
    assert body["metadata"]["ownerReferences"][0]["uid"] == "policy-uid"


def test_operands_without_tolerations_tolerate_the_usual_taint() -> None:
    spec = daemonset_of(Role.DRIVER, read_policy())["spec"]["template"]["spec"]
    assert spec["tolerations"] == [GPU]


def test_the_drivers_image_has_its_version_and_its_manager_the_environment() -> None:
    env = [{"name": "NODE_LABEL_FOR_GPU_POD_EVICTION", "value": "nvidia.com/dra-kubelet-plugin"}]
    driver = {
        "repository": "nvcr.io/nvidia",
        "image": "driver",
        "version": "580.95.05",
        "manager": {"env": env},
    }
    spec = daemonset_of(Role.DRIVER, read_policy(driver=driver))["spec"]["template"]["spec"]
    assert spec["containers"][0]["image"] == "nvcr.io/nvidia/driver:580.95.05-ubuntu24.04"
    assert spec["initContainers"][0]["env"] == env
    assert "runtimeClassName" not in spec


def test_operands_name_the_runtime_class_that_the_operator_makes() -> None:
    now = read_policy(operator={"runtimeClass": "nvidia-container-runtime"})
    made = runtime_class(now)
    assert (made["metadata"]["name"], made["handler"]) == ("nvidia-container-runtime",) * 2
    spec = daemonset_of(Role.MIG_MANAGER, now)["spec"]["template"]["spec"]
    assert spec["runtimeClassName"] == "nvidia-container-runtime"


def test_the_built_in_configurations_come_with_the_mig_manager() -> None:
    assert kinds(Role.MIG_MANAGER)["ConfigMap"] == "default-mig-parted-config"


def test_a_stacks_own_configurations_are_mounted_instead() -> None:
    own = {"config": {"name": "dra-fleet-mig-config"}}
    assert "ConfigMap" not in kinds(Role.MIG_MANAGER, migManager=own)
    spec = daemonset_of(Role.MIG_MANAGER, read_policy(migManager=own))["spec"]["template"]["spec"]
    assert spec["volumes"] == [{"name": "mig-parted-config", "configMap": {"name": "dra-fleet-mig-config"}}]


def test_later_mig_managers_write_the_configurations_of_their_node() -> None:
    assert kinds(Role.MIG_MANAGER, version="v26.7.0")["Role"] == "nvidia-mig-manager"
    assert "volumes" not in pod_of(Role.MIG_MANAGER, now=read_policy("v26.7.0"))["spec"]


def test_operands_that_use_no_api_get_no_rights() -> None:
    assert set(kinds(Role.FEATURE_DISCOVERY)) == {"ServiceAccount", "DaemonSet"}


def test_a_changed_policy_is_a_changed_daemonset() -> None:
    before, after = (
        daemonset_of(Role.DRIVER, read_policy(driver={"version": version})) for version in ("1", "2")
    )
    same = daemonset_of(Role.DRIVER, read_policy(driver={"version": "1"}))
    digests = [item["metadata"]["annotations"][HASH] for item in (before, after, same)]
    assert digests[0] == digests[2] != digests[1]
    assert json.dumps(before) == json.dumps(same)


def test_disabled_is_only_what_the_policy_says() -> None:
    now = read_policy(devicePlugin={"enabled": False}, gfd={})
    assert (now.device_plugin.enabled, now.feature_discovery.enabled) == (False, True)


BARE = host()
DRIVEN = host(nvidia={"driverVersion": "580.95.05"})
TOOLKIT = pod_of(Role.TOOLKIT, ready=True)
VALIDATOR = pod_of(Role.VALIDATOR, ready=True)
ON_HOST = read_policy(operator={"runtimeClass": "nvidia-container-runtime"})
USUAL = [Role.DEVICE_PLUGIN, Role.DCGM_EXPORTER, Role.FEATURE_DISCOVERY, Role.MIG_MANAGER]


def problem(pod: Object, *others: Object, driven: bool = True) -> str | None:
    """With a driver that the operator's own pod installed."""
    return start(pod, BARE, DRIVEN if driven else BARE, others).problem


def test_the_driver_starts_on_a_machine_without_one() -> None:
    assert problem(pod_of(Role.DRIVER), driven=False) is None


def test_the_driver_finds_no_gpu() -> None:
    empty = host(count=0)
    assert start(pod_of(Role.DRIVER), empty, empty, []).problem == f"nvidia-driver-ctr: {NO_GPU}"


def test_the_driver_refuses_a_vgpu() -> None:
    guest = host("A10-4Q", 1)
    assert start(pod_of(Role.DRIVER), guest, guest, []).problem == f"nvidia-driver-ctr: {VGPU}"


def test_the_toolkit_waits_for_a_driver() -> None:
    waiting = "waiting for the driver validations to be ready: no NVIDIA driver on this node"
    assert problem(pod_of(Role.TOOLKIT), driven=False) == waiting
    assert problem(pod_of(Role.TOOLKIT)) is None


@pytest.mark.parametrize("role", USUAL)
def test_the_others_need_the_runtime_that_the_toolkit_configures(role: Role) -> None:
    assert 'no runtime for "nvidia" is configured' in (problem(pod_of(role)) or "")
    assert problem(pod_of(role), TOOLKIT, VALIDATOR) is None


def test_the_validator_needs_the_runtime_that_the_toolkit_configures() -> None:
    assert 'no runtime for "nvidia" is configured' in (problem(pod_of(Role.VALIDATOR)) or "")
    assert problem(pod_of(Role.VALIDATOR), TOOLKIT) is None


@pytest.mark.parametrize("role", USUAL)
def test_on_a_host_with_a_driver_the_hosts_runtime_does(role: Role) -> None:
    assert start(pod_of(role, now=ON_HOST), DRIVEN, DRIVEN, [VALIDATOR]).problem is None


# v25.10.0 controllers/object_controls.go:881-908, assets/state-operator-validation/0500_daemonset.yaml:51
@pytest.mark.parametrize("folder", ["/run/nvidia/driver", "/opt/gpu", ""])
def test_the_validator_of_a_host_with_a_driver_starts(folder: str) -> None:
    now = read_policy(
        operator={"runtimeClass": "nvidia-container-runtime"}, hostPaths={"driverInstallDir": folder}
    )
    assert start(pod_of(Role.VALIDATOR, now=now), DRIVEN, DRIVEN, []).problem is None


def test_a_validator_with_the_driver_s_folder_on_its_root_never_starts_and_all_wait_for_it() -> None:
    now = read_policy(
        operator={"runtimeClass": "nvidia-container-runtime"}, hostPaths={"driverInstallDir": "/"}
    )
    validator = pod_of(Role.VALIDATOR, now=now)
    assert start(validator, DRIVEN, DRIVEN, []).problem == (
        "driver-validation: volume driver-install-dir is mounted on /, the container's own root: it cannot "
        "start"
    )
    for role in USUAL:
        found = start(pod_of(role, now=now), DRIVEN, DRIVEN, [validator])
        assert found.problem == "waiting for nvidia container toolkit to be setup"


def test_the_wrong_runtime_class_on_a_host_with_a_driver_is_no_runtime() -> None:
    found = start(pod_of(Role.MIG_MANAGER), DRIVEN, DRIVEN, [])
    assert 'no runtime for "nvidia" is configured' in (found.waiting or "")


def test_a_validator_waits_for_the_toolkit_even_where_its_runtime_is() -> None:
    plain = pod_of(Role.VALIDATOR)
    del plain["spec"]["runtimeClassName"]
    assert problem(plain) == "waiting for nvidia container toolkit to be setup"


def test_a_pod_that_passed_its_init_containers_does_not_go_back() -> None:
    running = pod_of(Role.TOOLKIT, ready=True)
    assert problem(running, driven=False) is None


def test_the_device_plugin_crashes_on_unequal_gpus() -> None:
    unequal = host(nvidia={"driverVersion": "580.95.05", "migMode": True})
    found = start(pod_of(Role.DEVICE_PLUGIN), BARE, unequal, [TOOLKIT, VALIDATOR])
    assert "all GPUs of a node must have the same MIG mode" in (found.problem or "")
