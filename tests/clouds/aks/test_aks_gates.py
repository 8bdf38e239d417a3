import pytest

from tests.clouds.aks.aks_fleets import cluster, values, vgpu
from tests.fleet.plan.plan_helpers import planned, refused

GATES = "clusters.studio.drivers.nvidia.values.featureGates"
APART = ("PassthroughSupport", "NVMLDeviceHealthCheck")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("DynamicMIG", "PassthroughSupport"),
        ("DynamicMIG", "NVMLDeviceHealthCheck"),
        ("DynamicMIG", "MPSSupport"),
        APART,
    ],
)
def test_gates_that_exclude_each_other_are_refused(first: str, second: str) -> None:
    fleet = vgpu()
    values(fleet, {"featureGates": {first: True, second: True}})
    assert refused(fleet) == {
        f"{GATES}.{first}": f"cannot be on together with {second}; every pod of the driver would crash-loop\n"
        f"  got: {first}=true, {second}=true\n"
        "  fix: set one of them to false"
    }


@pytest.mark.parametrize(
    ("gates", "needs", "needed"),
    [
        ({"IMEXDaemonsWithDNSNames": False}, "ComputeDomainCliques", "IMEXDaemonsWithDNSNames"),
        ({"DeviceMetadata": True}, "DeviceMetadata", "PassthroughSupport"),
    ],
)
def test_a_gate_without_the_one_that_it_needs_is_refused(
    gates: dict[str, bool], needs: str, needed: str
) -> None:
    fleet = vgpu()
    values(fleet, {"featureGates": gates})
    assert refused(fleet) == {
        f"{GATES}.{needs}": f"needs {needed}; every pod of the driver would crash-loop\n"
        f"  got: {needs}=true, {needed}=false\n"
        f"  fix: set {needed}: true, or {needs}: false as well"
    }


def test_a_conflict_that_an_older_driver_does_not_refuse_is_none_there() -> None:
    fleet = vgpu()
    cluster(fleet)["drivers"]["nvidia"]["version"] = "25.12.0"
    values(fleet, {"featureGates": dict.fromkeys(APART, True)})
    assert planned(fleet).warnings == ()


def test_both_gates_of_compute_domains_off_is_in_order() -> None:
    fleet = vgpu()
    values(fleet, {"featureGates": {"IMEXDaemonsWithDNSNames": False, "ComputeDomainCliques": False}})
    assert planned(fleet).warnings == ()


@pytest.mark.parametrize(
    ("gate", "needed"),
    [
        ("DynamicMIG", "DRAPartitionableDevices"),
        ("ConsumableShares", "DRAConsumableCapacity"),
        ("NVMLDeviceHealthCheck", "DRADeviceTaints"),
    ],
)
def test_a_gate_that_needs_the_cluster_s_own_is_refused_below_1_36(gate: str, needed: str) -> None:
    fleet = vgpu()
    fleet["kubernetes"] = "1.35"
    values(fleet, {"featureGates": {gate: True}})
    assert refused(fleet) == {
        f"{GATES}.{gate}": f"needs the cluster's feature gate {needed}, which is off in Kubernetes 1.35\n"
        "  got: true\n  fix: use Kubernetes 1.36 or later"
    }


@pytest.mark.parametrize(
    ("given", "path", "message"),
    [
        (
            {"consumableShares": "memory"},
            "consumableShares",
            (
                "needs the feature gate ConsumableShares\n  got: memory\n"
                "  fix: set featureGates.ConsumableShares: true"
            ),
        ),
        (
            {"consumableShares": "memory", "featureGates": {"ConsumableShares": True, "MPSSupport": True}},
            "consumableShares",
            (
                "cannot be on together with MPSSupport: no claim with MPS could be prepared\n"
                "  got: consumableShares=memory, MPSSupport=true\n"
                "  fix: set one of them off: consumableShares: disabled, or MPSSupport: false"
            ),
        ),
        (
            {"resources": {"computeDomains": {"enabled": True, "imex": {"mode": "hostManaged"}}}},
            "resources.computeDomains.imex.mode",
            (
                "needs the feature gate HostManagedIMEXDaemon\n  got: hostManaged\n"
                "  fix: set featureGates.HostManagedIMEXDaemon: true"
            ),
        ),
        (
            {"featureGates": {"DynamicMig": True}},
            "featureGates.DynamicMig",
            (
                "is not a feature gate of chart 0.5.0; the driver would not start\n  got: DynamicMig\n"
                "  allowed: DynamicMIG; 16 are known\n  fix: did you mean DynamicMIG?"
            ),
        ),
    ],
)
def test_a_value_that_a_gate_decides_about_is_checked_with_the_gate(
    given: dict[str, object], path: str, message: str
) -> None:
    fleet = vgpu()
    values(fleet, given)
    assert refused(fleet) == {f"clusters.studio.drivers.nvidia.values.{path}": message}
