"""The programs of pool-forbid-managed-gpu-profile."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

DRIVER = Declared(
    type="kubernetes:helm.sh/v3:Release",
    name="driver",
    properties={"chart": "dra-driver-nvidia-gpu", "version": "0.5.0"},
)
PROFILE: dict[str, Any] = {"gpuProfile": {"nvidia": {"managementMode": "Unmanaged"}}}
POOL = Declared(
    type="azure-native_containerservice_v20260502preview:containerservice:AgentPool",
    name="gpus",
    properties=PROFILE,
)
CLUSTER = Declared(
    type="azure-native:containerservice:ManagedCluster",
    name="c",
    properties={"agentPoolProfiles": [{}, PROFILE]},
)
GENERIC = Declared(
    type="azure-native:resources:Resource",
    name="gpus",
    properties={"resourceType": "managedClusters/agentPools", "properties": PROFILE},
)
MANAGED = Declared(
    type=POOL.type, name="plain", properties={"gpuProfile": {"nvidia": {"managementMode": "Managed"}}}
)
DRA_MODE: dict[str, Any] = {"gpuProfile": {"nvidia": {"managementMode": "Managed", "driverMode": "DRA"}}}
WITHOUT_PLUGIN = Declared(
    type=GENERIC.type, name="dra", properties={**GENERIC.properties, "properties": DRA_MODE}
)


def case(declared: Declared, *path: str | int, place: str) -> RuleCase:
    steps = (*path, "gpuProfile", "nvidia", "managementMode")
    message = said(
        declared,
        f"{place} is 'Managed', so Azure's device plugin advertises the GPUs beside the DRA driver (driver)",
        "Unmanaged where a DRA driver advertises the GPUs",
        'set managementMode: "Unmanaged"',
    )
    broken = Break(resource=declared.name, path=steps, value="Managed", messages=(message,), unknown=place)
    return RuleCase(passing=(DRIVER, declared), breaks=(broken,))


INNER = "gpuProfile.nvidia.managementMode"

CASES = (
    case(POOL, place=INNER),
    case(CLUSTER, "agentPoolProfiles", 1, place=f"agentPoolProfiles[1].{INNER}"),
    case(GENERIC, "properties", place=f"properties.{INNER}"),
    RuleCase(passing=(MANAGED,), breaks=()),
    RuleCase(passing=(DRIVER, WITHOUT_PLUGIN), breaks=()),
)
