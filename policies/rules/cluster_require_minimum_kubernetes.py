"""A cluster runs a Kubernetes that serves resource.k8s.io/v1.

It judges what a program asks for, in each cloud's own words; it asks no cloud which versions it offers. A
node pool without a version takes its cluster's, so only a control plane must name one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.versions import FIELDS, VERSIONED, KubernetesVersion
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value
    from dra_fleet.policy.rule import Settings

FACTS = kubernetes_facts()
FLOOR = FACTS.oldest
"""The oldest minor that is allowed."""
ALLOWED = f"{FLOOR} or newer ({FACTS.oldest_reason})"


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find the versions of a resource that are too old, unreadable or missing."""
    del settings
    for field in FIELDS:
        for version in field.values(resource):
            yield from _judge(resource, version, required=field.required)


def _judge(resource: Resource, version: Value, *, required: bool) -> Iterator[Finding]:
    if version.unknown:
        return
    if version.absent:
        if required:
            yield Finding(resource, version, "is absent", ALLOWED, f'set it, for example "{FLOOR}"')
        return
    read = KubernetesVersion.read(version.text)
    if read is None:
        problem = f"is {version.shown}, no Kubernetes version"
        yield Finding(resource, version, problem, ALLOWED, f'write it as text, such as "{FLOOR}"')
    elif read.minor_number < KubernetesVersion.read_known(FLOOR).minor_number:
        fix = f"upgrade, one minor at a time, to {FLOOR} or newer"
        yield Finding(resource, version, f"is {version.shown}", ALLOWED, fix)


RULE = ResourceRule(
    name="cluster-require-minimum-kubernetes",
    description=f"Clusters and their pools run Kubernetes {FLOOR} or newer: {FACTS.oldest_reason}.",
    fix=f"Set the cluster's version to {FLOOR} or newer, as a plain value that is known at preview.",
    link=FACTS.source,
    severity="critical",
    types=VERSIONED,
    judge=judge,
)
