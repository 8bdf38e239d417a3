"""The programs of sharing-require-driver-gates."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

GATE = ("values", "featureGates", "TimeSlicingSettings")
PLACE = "values.featureGates.TimeSlicingSettings"
ALLOWED = "TimeSlicingSettings: true where a class or claim chooses the strategy"
FIX = "set featureGates.TimeSlicingSettings: true in the chart's values, or take the strategy out of shared"
STRATEGY = "spec.config[0].opaque.parameters.sharing.strategy"


def driver(version: str, **gates: bool) -> Declared:
    properties = {
        "chart": "nvidia-dra-driver-gpu",
        "version": version,
        "values": {"featureGates": gates} if gates else {},
    }
    return Declared(type="kubernetes:helm.sh/v3:Release", name="driver", properties=properties)


def device_class(strategy: str) -> Declared:
    opaque: dict[str, Any] = {
        "driver": "gpu.nvidia.com",
        "parameters": {"kind": "GpuConfig", "sharing": {"strategy": strategy}},
    }
    return Declared(
        type="kubernetes:resource.k8s.io/v1:DeviceClass",
        name="shared",
        properties={"spec": {"config": [{"opaque": opaque}]}},
    )


ON = driver("25.12.0", TimeSlicingSettings=True)
OLD = driver("25.3.2")
SHARED = device_class("TimeSlicing")


def off(shown: str, place: str = PLACE) -> str:
    return said(ON, f"{place} is {shown}, and shared needs it at {STRATEGY}", ALLOWED, FIX)


CASES = (
    RuleCase(
        passing=(ON, SHARED),
        breaks=(
            Break(resource="driver", path=GATE, value=False, messages=(off("False"),), unknown=PLACE),
            Break(resource="driver", path=GATE, value=REMOVED, messages=(off("absent"),)),
            Break(
                resource="shared",
                path=("spec", "config", 0, "opaque", "parameters", "sharing", "strategy"),
                value="MPS",
                messages=(
                    said(
                        ON,
                        f"values.featureGates.MPSSupport is absent, and shared needs it at {STRATEGY}",
                        "MPSSupport: true where a class or claim chooses the strategy",
                        "set featureGates.MPSSupport: true in the chart's values, "
                        "or take the strategy out of shared",
                    ),
                ),
                unknown=STRATEGY,
            ),
        ),
    ),
    RuleCase(
        passing=(OLD, SHARED),
        breaks=(Break(resource="driver", path=("version",), value="99.0.0", messages=(off("absent"),)),),
    ),
)
