"""Opaque configuration as the NVIDIA plugin checks it when it prepares a claim.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0,
cmd/gpu-kubelet-plugin/device_state.go and api/nvidia.com/resource/v1beta1/validate.go.
"""

from typing import Any

import pytest

from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

ON = {"TimeSlicingSettings": True, "MPSSupport": True}
OFF = {"TimeSlicingSettings": False, "MPSSupport": False}


def check(parameters: dict[str, Any], gates: dict[str, bool]) -> None:
    """Prepare a device of the configuration's own type."""
    kind = {"MigDeviceConfig": "mig", "VfioDeviceConfig": "vfio"}.get(str(parameters.get("kind")), "gpu")
    text = ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())
    plugin = NvidiaGpuPlugin(
        {"name": "gpus", "image": "driver:v0.5.0", "env": [{"name": "FEATURE_GATES", "value": text}]}
    )
    asked = claim([], "device")
    asked["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"] = parameters
    plugin.prepare(asked, {"device": {"attributes": {"type": {"string": kind}}}})


def config(kind: str = "GpuConfig", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind, **fields}


@pytest.mark.parametrize(
    "parameters",
    [
        config(),
        config(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}),
        config(sharing={"strategy": "TimeSlicing"}),
        config(sharing={"strategy": "MPS", "mpsConfig": {"defaultPerDevicePinnedMemoryLimit": {"0": "2Gi"}}}),
        config("MigDeviceConfig", sharing={"strategy": "MPS", "mpsConfig": {}}),
        config("VfioDeviceConfig", iommu={"backendPolicy": "PreferIommuFD"}),
    ],
)
def test_good_configuration_is_accepted(parameters: dict[str, Any]) -> None:
    check(parameters, ON)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (config("GPUConfig"), 'no kind "GPUConfig" is registered for version "resource.nvidia.com/v1beta1"'),
        (config(sharng={}), 'strict decoding error: unknown field "sharng"'),
        (config(sharing={"strategy": "MPS", "mpsConfig": {"x": 1}}), 'unknown field "sharing.mpsConfig.x"'),
        (
            config("MigDeviceConfig", sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {}}),
            'unknown field "sharing.timeSlicingConfig"',
        ),
        (config(sharing={"strategy": "Turns"}), "unknown GPU sharing strategy: Turns"),
        (
            config(sharing={"strategy": "TimeSlicing", "mpsConfig": {}}),
            "cannot use MpsConfig with the 'TimeSlicing'",
        ),
        (
            config(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Ages"}}),
            "unknown time-slice interval: Ages, supported time-slice intervals: Default, Short, Medium, Long",
        ),
        (
            config(sharing={"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}),
            "error validating GPU config: active thread percentage must not be greater than 100",
        ),
        (
            config(sharing={"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": -1}}),
            "error validating GPU config: active thread percentage must not be negative",
        ),
        (
            config(sharing={"strategy": "MPS", "timeSlicingConfig": {"interval": "Long"}}),
            "error getting MPS configuration: cannot use TimeSlicingConfig with the 'MPS' strategy",
        ),
        (
            config(sharing="MPS"),
            "json: cannot unmarshal string into Go struct field GpuConfig.sharing of type v1beta1.GpuSharing",
        ),
        (
            config(sharing={"strategy": 4}),
            (
                "cannot unmarshal number into Go struct field GpuSharing.sharing.strategy of type "
                "v1beta1.GpuSharingStrategy"
            ),
        ),
        (
            config(sharing={"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": "50"}}),
            (
                "cannot unmarshal string into Go struct field "
                "MpsConfig.sharing.mpsConfig.defaultActiveThreadPercentage of type int"
            ),
        ),
    ],
)
def test_bad_configuration_is_refused_in_the_drivers_words(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PrepareFailed) as refused:
        check(parameters, ON)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("strategy", "gate"), [("TimeSlicing", "TimeSlicingSettings"), ("MPS", "MPSSupport")]
)
def test_a_sharing_strategy_needs_its_gate(strategy: str, gate: str) -> None:
    with pytest.raises(PrepareFailed) as refused:
        check(config(sharing={"strategy": strategy}), OFF)
    assert str(refused.value) == (
        "error preparing devices for claim n/c:u: prepare devices failed: error validating GPU config: "
        f'"{strategy}" is selected as the GPU sharing strategy, but the "{gate}" feature gate is not enabled'
    )


def claim(requests: list[str], device: str = "gpu-0-mig-1g5gb-19-0") -> dict[str, Any]:
    opaque = {"driver": "gpu.nvidia.com", "parameters": config()}
    results = [{"request": "gpu/small", "driver": "gpu.nvidia.com", "pool": "n1", "device": device}]
    devices = {
        "results": results,
        "config": [{"source": "FromClaim", "requests": requests, "opaque": opaque}],
    }
    return {
        "metadata": {"name": "c", "namespace": "n", "uid": "u"},
        "status": {"allocation": {"devices": devices}},
    }


PUBLISHED: dict[str, Any] = {"gpu-0-mig-1g5gb-19-0": {"attributes": {"type": {"string": "mig"}}}}
PLUGIN = NvidiaGpuPlugin({"name": "gpus", "image": "driver:v0.5.0"})


def test_configuration_named_for_another_device_type_is_refused() -> None:
    with pytest.raises(PrepareFailed) as refused:
        PLUGIN.prepare(claim(["gpu/small"]), PUBLISHED)
    assert str(refused.value) == (
        "error preparing devices for claim n/c:u: prepare devices failed: "
        'cannot apply GpuConfig to device "gpu-0-mig-1g5gb-19-0" of type "mig" (request: gpu/small)'
    )


def test_configuration_that_names_a_main_request_is_skipped_silently() -> None:
    PLUGIN.prepare(claim(["gpu"]), PUBLISHED)


def test_the_last_of_two_configurations_for_a_request_counts() -> None:
    asked = claim(["gpu/small"])
    good = asked["status"]["allocation"]["devices"]["config"]
    wrong = {**good[0], "opaque": {**good[0]["opaque"], "parameters": config("MigDeviceConfig")}}
    good.append(wrong)
    PLUGIN.prepare(asked, PUBLISHED)
    good.reverse()
    with pytest.raises(PrepareFailed, match="cannot apply GpuConfig to device"):
        PLUGIN.prepare(asked, PUBLISHED)


def test_configuration_for_all_requests_skips_other_device_types() -> None:
    PLUGIN.prepare(claim([]), PUBLISHED)


def test_a_device_that_is_no_longer_published_cannot_be_prepared() -> None:
    with pytest.raises(PrepareFailed) as refused:
        PLUGIN.prepare(claim([], "gpu-7"), PUBLISHED)
    assert str(refused.value) == (
        "error preparing devices for claim n/c:u: prepare devices failed: "
        'allocatable not found for device "gpu-7"'
    )


@pytest.mark.parametrize(
    ("kind", "requests", "output"),
    [
        ("mig", ["other"], "on a non-full-GPU device"),
        ("gpu", [], "with a device configuration"),
        ("gpu", ["gpu/small"], "with a device configuration"),
    ],
)
def test_admin_access_is_for_whole_gpus_without_configuration(
    kind: str, requests: list[str], output: str
) -> None:
    asked = claim(requests, "device")
    asked["status"]["allocation"]["devices"]["results"][0]["adminAccess"] = True
    with pytest.raises(PrepareFailed) as refused:
        PLUGIN.prepare(asked, {"device": {"attributes": {"type": {"string": kind}}}})
    assert str(refused.value) == (
        f"error preparing devices for claim n/c:u: claim n/c:u requests admin access {output}, which is not "
        "supported"
    )


def of_the_other_plugin(requests: list[str], version: str) -> str:
    asked = claim(requests)
    asked["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"] = config(
        "ComputeDomainChannelConfig", domainID="d"
    )
    try:
        NvidiaGpuPlugin({"name": "gpus", "image": f"driver:v{version}"}).prepare(asked, PUBLISHED)
    except PrepareFailed as error:
        return str(error)
    return ""


NOT_RECOGNIZED = (
    "error preparing devices for claim n/c:u: prepare devices failed: runtime object is not a recognized "
    "configuration"
)


@pytest.mark.parametrize(
    ("requests", "version", "output"),
    [
        (["gpu/small"], "0.5.0", NOT_RECOGNIZED),
        (["gpu/small"], "0.4.1", NOT_RECOGNIZED),
        ([], "0.5.0", ""),
        ([], "0.4.1", NOT_RECOGNIZED),
    ],
)
def test_configuration_of_a_compute_domain_is_decoded_but_not_applied_to_a_gpu(
    requests: list[str], version: str, output: str
) -> None:
    assert of_the_other_plugin(requests, version) == output


@pytest.mark.parametrize(
    ("kind", "spec", "output"),
    [
        (
            "ComputeDomain",
            {"numNodes": 2, "channel": {"resourceClaimTemplate": {"name": "c"}}},
            NOT_RECOGNIZED,
        ),
        ("ComputeDomain", {"nodes": 2}, 'strict decoding error: unknown field "spec.nodes"'),
        (
            "ComputeDomain",
            {"numNodes": "two"},
            "json: cannot unmarshal string into Go struct field ComputeDomainSpec.spec.numNodes of type int",
        ),
        ("ComputeDomains", {}, 'no kind "ComputeDomains" is registered'),
    ],
)
def test_a_whole_compute_domain_is_decoded_and_no_configuration(
    kind: str, spec: dict[str, Any], output: str
) -> None:
    asked = claim(["gpu/small"])
    asked["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"] = config(
        kind, metadata={"name": "d"}, spec=spec
    )
    with pytest.raises(PrepareFailed) as refused:
        NvidiaGpuPlugin({"name": "gpus", "image": "driver:v0.5.0"}).prepare(asked, PUBLISHED)
    assert output in str(refused.value)


@pytest.mark.parametrize(
    ("version", "output"),
    [("0.4.1", NOT_RECOGNIZED), ("25.8.1", 'no kind "ComputeDomainClique" is registered')],
)
def test_a_whole_clique_is_decoded_by_drivers_that_have_them(version: str, output: str) -> None:
    asked = claim(["gpu/small"])
    asked["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"] = config(
        "ComputeDomainClique", metadata={"labels": {"a": "b"}}, daemons=[{"nodeName": "n", "index": 1}]
    )
    with pytest.raises(PrepareFailed) as refused:
        NvidiaGpuPlugin({"name": "gpus", "image": f"driver:v{version}"}).prepare(asked, PUBLISHED)
    assert output in str(refused.value)


def test_a_field_of_a_later_version_is_unknown_to_an_earlier_one() -> None:
    asked = claim([])
    asked["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"] = config(
        sharing={"strategy": "MPS", "mpsConfig": {"multiUser": True}}
    )
    with pytest.raises(PrepareFailed, match=r'unknown field "sharing\.mpsConfig\.multiUser"'):
        NvidiaGpuPlugin({"name": "gpus", "image": "driver:v0.4.1"}).prepare(asked, PUBLISHED)


@pytest.mark.parametrize(("version", "output"), [("25.8.1", "no kind"), ("25.12.0", "cannot apply")])
def test_configuration_of_passthrough_is_decoded_from_25_12_0_on(version: str, output: str) -> None:
    plugin = NvidiaGpuPlugin({"name": "gpus", "image": f"driver:v{version}"})
    asked = claim(["gpu/small"])
    asked["status"]["allocation"]["devices"]["config"][0]["opaque"]["parameters"] = config("VfioDeviceConfig")
    with pytest.raises(PrepareFailed, match=output):
        plugin.prepare(asked, PUBLISHED)


def test_an_unknown_backend_of_passthrough_is_refused() -> None:
    with pytest.raises(PrepareFailed) as refused:
        check(config("VfioDeviceConfig", iommu={"backendPolicy": "Newest"}), ON)
    assert str(refused.value).endswith(
        "error validating GPU config: unknown IOMMU backend policy: Newest, supported IOMMU backend "
        "policies: LegacyOnly, PreferIommuFD"
    )
