"""Opaque configuration as the NVIDIA plugin judges it when it prepares a claim."""

from __future__ import annotations

from typing import Any

import pytest

from dra_fleet.rehearsal.drivers.nvidia.opaque import judge
from dra_fleet.rehearsal.drivers.nvidia.plugin import NvidiaGpuPlugin
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

ON = {"TimeSlicingSettings": True, "MPSSupport": True}
OFF = {"TimeSlicingSettings": False, "MPSSupport": False}


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
    assert judge(parameters, ON) == parameters["kind"]


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
        (config(sharing={"strategy": "TimeSlicing", "mpsConfig": {}}), "cannot use mpsConfig with strategy"),
        (
            config(sharing={"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Ages"}}),
            "unknown time-slice interval: Ages",
        ),
        (
            config(sharing={"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}),
            "must be between 0 and 100, got 101",
        ),
    ],
)
def test_bad_configuration_is_refused_in_the_drivers_words(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PrepareFailed) as refused:
        judge(parameters, ON)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("strategy", "gate"), [("TimeSlicing", "TimeSlicingSettings"), ("MPS", "MPSSupport")]
)
def test_a_sharing_strategy_needs_its_gate(strategy: str, gate: str) -> None:
    with pytest.raises(PrepareFailed) as refused:
        judge(config(sharing={"strategy": strategy}), OFF)
    assert str(refused.value) == (
        f"error validating config: {strategy} selected as the GPU sharing strategy, but the {gate} "
        "feature gate is not enabled"
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
        PLUGIN.prepare(claim(["gpu"]), PUBLISHED)
    assert str(refused.value) == (
        "error preparing devices for claim n/c:u: prepare devices failed: "
        "cannot apply GpuConfig to request: gpu/small"
    )


def test_configuration_for_all_requests_skips_other_device_types() -> None:
    PLUGIN.prepare(claim([]), PUBLISHED)


def test_a_device_that_is_no_longer_published_cannot_be_prepared() -> None:
    with pytest.raises(PrepareFailed) as refused:
        PLUGIN.prepare(claim([], "gpu-7"), PUBLISHED)
    assert "requested device is not allocatable: gpu-7" in str(refused.value)
