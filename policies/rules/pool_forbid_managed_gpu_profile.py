"""A pool of AKS with Azure's managed GPU profile is not in a cluster whose GPUs a DRA driver gives out.

The profile brings Azure's own device plugin and metrics exporter: both advertise the same GPUs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.versions import AZURE
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource, Stack
    from dra_fleet.declared.values import Value
    from dra_fleet.policy.rule import Settings

TYPES: Final = re.compile(rf"{AZURE}:(AgentPool|ManagedCluster)|azure-native:resources:Resource")
_MODE: Final = ("gpuProfile", "nvidia", "managementMode")
_MANAGED: Final = "Managed"


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find managed GPU profiles beside a DRA driver."""
    del settings
    drivers = [found for found in advertisers(stack) if found.kind == "dra"]
    homes = Homes(stack)
    for resource in stack.of(TYPES) if drivers else []:
        for mode in _modes(resource):
            beside = [each for each in drivers if homes.together(resource, each.resource)]
            if mode.text == _MANAGED and beside:
                yield Finding(
                    resource,
                    mode,
                    f"is {mode.shown}, so Azure's device plugin gives out the GPUs beside {beside[0].title} "
                    f"({beside[0].resource.name})",
                    "Unmanaged where a DRA driver gives out the GPUs",
                    'set managementMode: "Unmanaged"',
                )


def _modes(resource: Resource) -> list[Value]:
    if resource.type.endswith(":AgentPool"):
        return [resource.get(*_MODE)]
    if resource.type.endswith(":ManagedCluster"):
        return resource.properties.every("agentPoolProfiles", "*", *_MODE)
    # A pool as a generic resource, for fields that the provider's own type lacks.
    kind = (resource.get("resourceType").text or "").lower()
    return [resource.get("properties", *_MODE)] if kind.endswith("agentpools") else []


RULE = StackRule(
    name="pool-forbid-managed-gpu-profile",
    description=(
        "Pools of AKS in clusters with a DRA driver have no managed GPU profile, "
        "because the profile's own device plugin gives the same GPUs out."
    ),
    fix="Set managementMode of the pool's GPU profile to Unmanaged.",
    link="https://learn.microsoft.com/azure/aks/aks-managed-gpu-nodes",
    severity="high",
    judge=judge,
)
