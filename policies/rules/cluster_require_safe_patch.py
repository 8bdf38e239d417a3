"""A cluster that names a patch of its minor names one without a known defect in allocating devices.

A version that names only the minor leaves the patch to the cloud, and is not checked here. In a program that
surely has no accelerators, nothing allocates devices, and what it finds is advice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.accelerators import EVERYWHERE, needs_none
from dra_fleet.policy.reading.versions import FIELDS, VERSIONED, KubernetesVersion
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.rule import Settings

FACTS = kubernetes_facts()


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find versions whose patch is older than the first safe one of their minor."""
    del settings
    for resource in stack.of(VERSIONED):
        yield from _check(resource)


def _check(resource: Resource) -> Iterator[Finding]:
    for field in FIELDS:
        if field.written is not None:
            continue  # a node image's release: its patch is the kubelet's, the defects are the scheduler's
        for version in field.values(resource):
            read = KubernetesVersion.read(version.text)
            minor = None if read is None else FACTS.minor(read.minor)
            if read is None or read.patch is None or minor is None or minor.patch_floor is None:
                continue
            floor = KubernetesVersion.read_known(minor.patch_floor)
            if read.patch < (floor.patch or 0):
                yield Finding(
                    resource,
                    version,
                    f"is {version.shown}",
                    f"{minor.patch_floor} or newer in {minor.minor} ({minor.patch_reason})",
                    f"upgrade to {minor.patch_floor} or newer",
                )


RULE = StackRule(
    name="cluster-require-safe-patch",
    description=(
        "Clusters and pools with a patch version use a patch that allocates devices correctly, because "
        "earlier patches allocate one device to two pods or stop scheduling."
    ),
    fix="Upgrade to the first safe patch of the version, or name the version without a patch.",
    link=FACTS.source,
    severity="high",
    parameters=(EVERYWHERE,),
    production_parameters={EVERYWHERE.name: True},
    check=check,
    advises=needs_none,
)
