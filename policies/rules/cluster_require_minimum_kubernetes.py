"""A cluster runs a Kubernetes that serves resource.k8s.io/v1.

It judges what a program asks for, in each cloud's own words; it asks no cloud which versions it offers. A
node pool without a version takes its cluster's, so only a control plane must name one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet import catalogue
from policies.resource_view import Missing
from policies.rule import ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policies.resource_view import ResourceView

FACTS = catalogue.load().kubernetes
FLOOR = FACTS.oldest
"""The oldest minor that is allowed."""

VERSION = re.compile(r"v?(?P<major>\d+)\.(?P<minor>\d+)(\.\d+)?([-+.][0-9A-Za-z.+-]+)?")
"""A Kubernetes version as any of the clouds writes it: 1.34, v1.34.9, 1.35.8-gke.1036000, 1.34.1-aliyun.1."""


@dataclass(frozen=True, kw_only=True)
class VersionField:
    """Where a resource says which Kubernetes it runs; `required` where the cloud would else choose for it."""

    types: re.Pattern[str]
    path: tuple[str, ...]
    required: bool


def _field(types: str, path: str, *, required: bool) -> VersionField:
    return VersionField(types=re.compile(types), path=tuple(path.split(".")), required=required)


_AZURE = r"azure-native(_containerservice_v\w+)?:containerservice(/v\w+)?"
_ALICLOUD = r"alicloud:cs/(\w+):(?:Managed|Serverless|Edge)?Kubernetes"

FIELDS = (
    _field(r"dra-fleet:platforms:\w+", "kubernetes", required=True),
    _field(rf"{_AZURE}:ManagedCluster", "kubernetesVersion", required=True),
    _field(rf"{_AZURE}:ManagedCluster", "agentPoolProfiles.*.orchestratorVersion", required=False),
    _field(rf"{_AZURE}:AgentPool", "orchestratorVersion", required=False),
    _field(r"gcp:container/cluster:Cluster", "minMasterVersion", required=True),
    _field(r"gcp:container/cluster:Cluster", "nodeVersion", required=False),
    _field(r"gcp:container/nodePool:NodePool", "version", required=False),
    _field(r"aws:eks/cluster:Cluster", "version", required=True),
    _field(r"aws:eks/nodeGroup:NodeGroup", "version", required=False),
    _field(r"aws-native:eks:Cluster", "version", required=True),
    _field(r"aws-native:eks:Nodegroup", "version", required=False),
    _field(_ALICLOUD, "version", required=True),
)
"""Every place where a version is given."""


def judge(resource: ResourceView) -> Iterator[str]:
    """Find the versions of a resource that are too old, unreadable, unknown or missing."""
    for field in FIELDS:
        if field.types.fullmatch(resource.resource_type):
            for place, version in resource.find(field.path):
                problem = _problem(version, required=field.required)
                if problem is not None:
                    yield f"{resource.name} ({resource.resource_type}): {place} {problem}"


def _problem(version: object, *, required: bool) -> str | None:
    if version is Missing.ABSENT:
        return _refusal("absent", f'set it, for example "{FLOOR}"') if required else None
    if version is Missing.UNKNOWN:
        return _refusal("unknown at preview", f'give it as a plain value, such as "{FLOOR}"')
    if not isinstance(version, str) or (match := VERSION.fullmatch(version)) is None:
        return _refusal(f"{version!r}, no Kubernetes version", f'write it as text, such as "{FLOOR}"')
    if (int(match["major"]), int(match["minor"])) < _minor(FLOOR):
        return _refusal(f"{version!r}", f"upgrade, one minor at a time, to {FLOOR} or newer")
    return None


def _refusal(got: str, fix: str) -> str:
    return f"is {got}; allowed: {FLOOR} or newer ({FACTS.oldest_reason}); fix: {fix}"


def _minor(text: str) -> tuple[int, int]:
    major, minor = text.split(".")
    return int(major), int(minor)


RULE = ResourceRule(
    name="cluster-require-minimum-kubernetes",
    description=f"Clusters run Kubernetes {FLOOR} or newer: {FACTS.oldest_reason}.",
    fix=f"Set the cluster's version to {FLOOR} or newer, as a plain value that is known at preview.",
    judge=judge,
)
