"""A pool of AKS with Azure's managed GPU profile is not in a cluster whose GPUs a DRA driver advertises.

The profile installs Azure's own device plugin and metrics exporter: both advertise the same GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.clouds import all_resources
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.resources import ManagedPlugins
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.advertisers import Advertiser
    from dra_fleet.policy.rule import Settings


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find managed GPU profiles beside a DRA driver."""
    del settings
    drivers = [found for found in advertisers(stack) if found.replaces_plugin]
    homes = Homes(stack)
    managed = [each.managed_plugins for each in all_resources() if each.managed_plugins is not None]
    for plugins in managed if drivers else []:
        for resource in stack.of(plugins.types):
            beside = [each for each in drivers if homes.together(resource, each.resource)]
            yield from _check(resource, plugins, beside)


def _check(resource: Resource, plugins: ManagedPlugins, beside: Sequence[Advertiser]) -> Iterator[Finding]:
    for mode in plugins.places(resource):
        if mode.text == plugins.on and beside:
            yield Finding(
                resource,
                mode,
                f"is {mode.shown}, so {plugins.owner}'s device plugin advertises the GPUs beside "
                f"{beside[0].title} ({beside[0].resource.name})",
                f"{plugins.off} where a DRA driver advertises the GPUs",
                f'set {mode.path[-1]}: "{plugins.off}"',
            )


RULE = StackRule(
    name="pool-forbid-managed-gpu-profile",
    description=(
        "AKS pools in clusters with a DRA driver have no managed GPU profile, because the device plugin "
        "of the profile allocates the same GPUs."
    ),
    fix="Set managementMode of the pool's GPU profile to Unmanaged.",
    link="https://learn.microsoft.com/azure/aks/aks-managed-gpu-nodes",
    severity="high",
    check=check,
)
