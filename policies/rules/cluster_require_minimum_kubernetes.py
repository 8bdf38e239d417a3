"""A cluster runs a Kubernetes that serves resource.k8s.io/v1.

It checks what a program requests, in each cloud's own words; it asks no cloud which versions it offers. A
node pool without a version takes its cluster's, so only a control plane must name one. In a program that
surely has no accelerators, nothing depends on it yet, and what it finds is advice.
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
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.rule import Settings

FACTS = kubernetes_facts()
FLOOR = FACTS.oldest
"""The oldest minor that is allowed."""
_FARTHEST = 199
"""The minor that three a year reach after fifty years; 1.360 is 1.36 written as a number, not a version."""
REASON = f"claims of devices need resource.k8s.io/v1, which is served from {FLOOR}"
ALLOWED = f"{FLOOR} or newer ({REASON})"


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find the versions of resources that are too old, unreadable or missing."""
    del settings
    for resource in stack.of(VERSIONED):
        for field in FIELDS:
            for version in field.values(resource):
                yield from _check(resource, version, field.otherwise)


def _check(resource: Resource, version: Value, otherwise: str) -> Iterator[Finding]:
    if version.unknown:
        return
    if version.absent:
        if otherwise:
            problem = f"is absent, so the cloud chooses {otherwise}"
            yield Finding(resource, version, problem, ALLOWED, f'set it, for example "{FLOOR}"')
        return
    read = KubernetesVersion.read(version.text)
    if read is None or read.minor_part > _FARTHEST:
        problem = f"is {version.shown}, no Kubernetes version"
        yield Finding(resource, version, problem, ALLOWED, f'write it as text, such as "{FLOOR}"')
    elif read.minor_number < KubernetesVersion.read_known(FLOOR).minor_number:
        fix = f"upgrade, one minor at a time, to {FLOOR} or newer"
        yield Finding(resource, version, f"is {version.shown}", ALLOWED, fix)


RULE = StackRule(
    name="cluster-require-minimum-kubernetes",
    description=f"Clusters and their pools run Kubernetes {FLOOR} or newer, because {REASON}.",
    fix=f"Set the cluster's version to {FLOOR} or newer, as a plain value that is known at preview.",
    link=FACTS.source,
    severity="critical",
    parameters=(EVERYWHERE,),
    production_parameters={EVERYWHERE.name: True},
    check=check,
    advises=needs_none,
)
