from typing import Any

import pytest

from tests.proof.proof_helpers import fleet, pool, proved

API = "resource.nvidia.com/v1beta1"
GATES = {"featureGates": {"TimeSlicingSettings": True, "MPSSupport": True}}
SLICED = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}


def opaque(sharing: Any, kind: str = "GpuConfig") -> dict[str, Any]:
    return {"driver": "gpu.nvidia.com", "parameters": {"apiVersion": API, "kind": kind, "sharing": sharing}}


def stack(
    config: list[Any],
    *,
    class_config: list[Any] | None = None,
    class_name: str = "gpu.nvidia.com",
    drivers: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return fleet(
        {"gpus": pool("hgx-h100-8", "gpus")},
        drivers={"nvidia": {"version": "0.5.0", "values": GATES}} if drivers is None else drivers,
        classes={"shared": {"driver": "nvidia", "type": "gpu", "config": class_config or []}},
        claims={"one": {"requests": {"gpu": {"class": class_name}}, "config": config}},
    )


def failures(settings: dict[str, Any]) -> str:
    return "\n".join(proved(settings).failures)


def test_accepts_parameters_that_the_driver_decodes_in_claims_and_classes() -> None:
    proof = proved(stack([{"opaque": opaque(SLICED)}], class_config=[opaque(SLICED)]))
    assert (proof.failures, proof.warnings) == ((), ())


@pytest.mark.parametrize(
    ("sharing", "output"),
    [
        ({"strategy": "TimeSlice"}, "sharing.strategy: on cluster lab: is rejected by the driver"),
        ({**SLICED, "shares": 4}, "sharing.shares: on cluster lab: is not a field of GpuConfig"),
        ({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}, "must be at most 100"),
    ],
)
def test_parameters_that_it_cannot_decode_stop_the_program_with_their_place(
    sharing: Any, output: str
) -> None:
    in_claim = failures(stack([{"opaque": opaque(sharing)}]))
    assert "dra-fleet:fleet.claims.one.config[0].opaque.parameters.sharing." in in_claim
    assert output in in_claim
    in_class = failures(stack([], class_config=[opaque(SLICED), opaque(sharing)]))
    assert "dra-fleet:fleet.classes.shared.config[1].parameters.sharing." in in_class
    assert output in in_class


def test_a_gate_that_is_off_stops_the_program_with_the_fix() -> None:
    output = failures(stack([{"opaque": opaque(SLICED)}], drivers={"nvidia": {"version": "0.5.0"}}))
    assert "needs the driver's feature gate TimeSlicingSettings, which is off" in output
    assert "fix: featureGates: {TimeSlicingSettings: true} in the driver's chart values" in output


def test_a_gate_of_someone_else_s_driver_is_only_doubted() -> None:
    proof = proved(stack([{"opaque": opaque(SLICED)}], drivers={}))
    assert proof.failures == ()
    [warning] = [text for text in proof.warnings if "TimeSlicingSettings" in text]
    assert warning.startswith(
        "dra-fleet:fleet.claims.one.config[0].opaque.parameters.sharing.strategy: on cluster lab: "
    )


def test_parameters_for_a_request_must_be_for_its_devices() -> None:
    config = [{"requests": ["gpu"], "opaque": opaque({"strategy": "MPS"}, "MigDeviceConfig")}]
    assert (
        "claims.one.config[0].requests[0]: on cluster lab: MigDeviceConfig is for devices of type mig, and "
        "class gpu.nvidia.com has those of type gpu" in failures(stack(config))
    )
    for_all = [{"opaque": opaque({"strategy": "MPS"}, "MigDeviceConfig")}]
    assert failures(stack(for_all)) == ""


def alternatives(config: list[Any]) -> dict[str, Any]:
    made = stack(config)
    either = {"whole": {"class": "gpu.nvidia.com"}, "part": {"class": "mig.nvidia.com"}}
    choices = [{"name": name, **item} for name, item in either.items()]
    made["claims"] = {"one": {"requests": {"gpu": {"firstAvailable": choices}}, "config": config}}
    return made


def test_configuration_for_a_request_with_alternatives_is_skipped_and_said_so() -> None:
    proof = proved(alternatives([{"requests": ["gpu"], "opaque": opaque(SLICED, "GpuConfig")}]))
    assert proof.failures == ()
    assert (
        "dra-fleet:fleet.claims.one.config[0].requests[0]: on cluster lab: driver gpu.nvidia.com ignores the "
        "configuration of a request with alternatives: gpu; name the alternatives: gpu/whole, gpu/part"
    ) in proof.warnings


def test_configuration_for_an_alternative_must_be_for_its_devices() -> None:
    output = failures(alternatives([{"requests": ["gpu/part"], "opaque": opaque(SLICED, "GpuConfig")}]))
    assert "GpuConfig is for devices of type gpu, and class mig.nvidia.com has those of type mig" in output
    fitting = alternatives([{"requests": ["gpu/whole"], "opaque": opaque(SLICED, "GpuConfig")}])
    assert failures(fitting) == ""


def limits(by_device: dict[str, str]) -> dict[str, Any]:
    return opaque({"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": by_device}})


LIMIT = "sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit"


@pytest.mark.parametrize(
    ("key", "limit", "output"),
    [
        ("gpu-0", "1Gi", "gpu-0: on cluster lab: names no device"),
        ("-1", "1Gi", "-1: on cluster lab: names no device"),
        ("0", "1Ki", "0: on cluster lab: must be at least 1Mi"),
        ("0", "much", "0: on cluster lab: "),
        ("1", "1Gi", "1: on cluster lab: is for a device that the claim does not get"),
    ],
)
def test_limits_of_pinned_memory_are_for_devices_of_the_claim(key: str, limit: str, output: str) -> None:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/api/nvidia.com/resource/v1beta1/sharing.go
    assert f"{LIMIT}.{output}" in failures(stack([{"opaque": limits({key: limit})}]))


def test_limits_by_index_or_uuid_pass() -> None:
    by_device = {"GPU-8a10b6f7-b7f3-4f3a-9c1e-1f8b1b1a2c3d": "2Gi", "0": "1Gi"}
    assert failures(stack([{"opaque": limits(by_device)}])) == ""


def watching(class_name: str, config: list[Any], version: str = "0.5.0") -> str:
    drivers = {"nvidia": {"version": version, "values": GATES}}
    made = stack(config, class_config=[opaque(SLICED)], drivers=drivers)
    made["claims"]["one"]["requests"] = {"gpu": {"class": class_name, "adminAccess": True}}
    return failures(made)


@pytest.mark.parametrize(
    ("class_name", "config", "output"),
    [
        ("gpu.nvidia.com", [{"opaque": opaque(SLICED)}], "a configuration is for its devices"),
        ("gpu.nvidia.com", [{"requests": ["gpu"], "opaque": opaque(SLICED)}], "a configuration is for its"),
        ("shared", [], "class shared includes configuration for its devices"),
        ("mig.nvidia.com", [], "class mig.nvidia.com has devices of type mig"),
    ],
)
def test_admin_access_is_for_whole_gpus_without_configuration_from_0_5_0_on(
    class_name: str, config: list[Any], output: str
) -> None:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/device_state.go
    where = "claims.one.requests.gpu.adminAccess: on cluster lab: the driver would refuse to prepare it: "
    assert where + output in watching(class_name, config)
    assert where not in watching(class_name, config, version="0.4.1")


def test_admin_access_without_configuration_passes() -> None:
    assert watching("gpu.nvidia.com", []) == ""


def test_parameters_of_a_driver_that_is_not_known_are_not_checked() -> None:
    unknown = {"driver": "gpu.other.example", "parameters": {"kind": "Anything"}}
    described = {"publishes": "gpu.other.example", "chart": "oci://registry.example.com/charts/other"}
    drivers = {"nvidia": {"version": "0.5.0"}, "other": {"version": "1.0.0", "described": described}}
    settings = stack([{"opaque": unknown}], drivers=drivers)
    settings["clusters"]["lab"]["pools"]["gpus"]["devices"] = [
        {"driver": "gpu.other.example", "name": "other"}
    ]
    assert failures(settings) == ""
