import pytest

from dra_fleet.clusters.client import Object
from dra_fleet.drivers.nvidia.simulation.operator.daemons import NO_GPU, VGPU, start
from dra_fleet.drivers.nvidia.simulation.operator.labels import Role
from tests.rehearsal.agent.gpu_operator.operator_objects import host, pod_of, read_policy

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
