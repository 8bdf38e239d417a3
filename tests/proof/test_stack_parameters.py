"""Opaque parameters in the stack's own classes and claims, judged before a pod hangs on them."""

from __future__ import annotations

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


def test_what_the_driver_decodes_passes_in_claims_and_classes() -> None:
    proof = proved(stack([{"opaque": opaque(SLICED)}], class_config=[opaque(SLICED)]))
    assert (proof.failures, proof.warnings) == ((), ())


@pytest.mark.parametrize(
    ("sharing", "told"),
    [
        ({"strategy": "TimeSlice"}, "sharing.strategy: on cluster lab: is refused by the driver"),
        ({**SLICED, "shares": 4}, "sharing.shares: on cluster lab: is no field of GpuConfig"),
        ({"strategy": "MPS", "mpsConfig": {"defaultActiveThreadPercentage": 101}}, "must be at most 100"),
    ],
)
def test_what_it_does_not_decode_stops_the_program_with_its_place(sharing: Any, told: str) -> None:
    in_claim = failures(stack([{"opaque": opaque(sharing)}]))
    assert "dra-fleet:fleet.claims.one.config[0].opaque.parameters.sharing." in in_claim
    assert told in in_claim
    in_class = failures(stack([], class_config=[opaque(SLICED), opaque(sharing)]))
    assert "dra-fleet:fleet.classes.shared.config[1].parameters.sharing." in in_class
    assert told in in_class


def test_a_gate_that_is_off_stops_the_program_with_the_fix() -> None:
    told = failures(stack([{"opaque": opaque(SLICED)}], drivers={"nvidia": {"version": "0.5.0"}}))
    assert "needs the driver's feature gate TimeSlicingSettings, which is off" in told
    assert "fix: featureGates: {TimeSlicingSettings: true} in the driver's chart values" in told


def test_a_gate_of_somebody_else_s_driver_is_only_doubted() -> None:
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


def test_parameters_of_a_driver_that_is_not_known_are_not_judged() -> None:
    unknown = {"driver": "gpu.other.example", "parameters": {"kind": "Anything"}}
    assert failures(stack([{"opaque": unknown}])) == ""
