"""The programs of sharing-require-isolation."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

ALLOWED = "whole devices, or MIG partitions"


def claim(parameters: dict[str, Any]) -> Declared:
    opaque = {"driver": "gpu.nvidia.com", "parameters": {"kind": "GpuConfig", **parameters}}
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaim",
        name="lab",
        properties={"spec": {"devices": {"config": [{"opaque": opaque}]}}},
    )


WHOLE = claim({})
SHARED = claim({"sharing": {"strategy": "MPS"}})
OPAQUE = ("spec", "devices", "config", 0, "opaque")
PLACE = "spec.devices.config[0].opaque.parameters.sharing.strategy"


def strategy(name: str) -> Break:
    return Break(
        resource="lab",
        path=(*OPAQUE, "parameters", "sharing", "strategy"),
        value=name,
        messages=(
            said(
                WHOLE,
                f"{PLACE} is {name!r}, which isolates neither memory nor faults",
                ALLOWED,
                "select a MIG device, or list lab in accepted of sharing-require-isolation",
            ),
        ),
        unknown=PLACE,
    )


CASES = (
    RuleCase(passing=(WHOLE,), breaks=(strategy("TimeSlicing"), strategy("MPS"))),
    RuleCase(settings={"accepted": ["lab"]}, passing=(SHARED,), breaks=()),
)
