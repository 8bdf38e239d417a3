"""Rules on managed clusters and their Kubernetes versions."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.accelerators import EVERYWHERE, needs_none
from dra_fleet.policy.reading.clouds import CLUSTERS, declared_by
from dra_fleet.policy.reading.versions import FIELDS, VERSIONED, KubernetesVersion
from dra_fleet.policy.rule import TODAY, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.rule import Settings


# AKS issues a certificate with all rights to users who may list the cluster's admin credentials, GKE a
# client certificate or legacy roles on request. None of them can be taken back from a person who leaves.
def _forbid_local_accounts(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    cloud = declared_by(resource.type)
    for fault in cloud.local_accounts(resource) if cloud is not None else ():
        yield Finding(resource, fault.at, fault.problem, fault.allowed, fault.fix)


FORBID_LOCAL_ACCOUNTS = ResourceRule(
    name="cluster-forbid-local-accounts",
    description=(
        "Clusters accept only identities of the cloud, because access by a local account cannot be "
        "revoked for one person."
    ),
    fix="Disable local accounts, and grant permissions to identities of the cloud.",
    link="https://learn.microsoft.com/azure/aks/manage-local-accounts-managed-azure-ad",
    severity="high",
    standard="advisory",
    production="mandatory",
    types=CLUSTERS,
    check=_forbid_local_accounts,
)


# A cluster's API server is not open to every address of the Internet. It may be reached from listed ranges,
# from inside its network only, or on GKE by the DNS endpoint, where Google checks an identity before the API
# server is reached.
def _forbid_public_api_server(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    cloud = declared_by(resource.type)
    for fault in cloud.public_addresses(resource) if cloud is not None else ():
        yield Finding(resource, fault.at, fault.problem, fault.allowed, fault.fix)


FORBID_PUBLIC_API_SERVER = ResourceRule(
    name="cluster-forbid-public-api-server",
    description=(
        "API servers are reachable only from listed addresses or private networks, because anyone can "
        "exploit a vulnerability of a public API server."
    ),
    fix="List the address ranges that can reach the API server, or remove its public address.",
    link="https://kubernetes.io/docs/concepts/security/security-checklist/",
    severity="high",
    standard="advisory",
    production="mandatory",
    types=CLUSTERS,
    check=_forbid_public_api_server,
)


# A cloud may support a minor for longer, where the cluster opts in or unless it opts out. A date that
# nothing public says is not guessed: upstream's then holds.

FACTS = kubernetes_facts()
DAYS = Parameter(
    name="daysLeft",
    schema={"type": "integer", "minimum": 0},
    default=0,
    description="Minimum number of days until support of a version ends.",
)


def _limit_end_of_life(stack: Stack, settings: Settings) -> Iterator[Finding]:
    for resource in stack.of(VERSIONED):
        yield from _check_end_of_life(resource, settings)


def _check_end_of_life(resource: Resource, settings: Settings) -> Iterator[Finding]:
    latest = settings.today + dt.timedelta(days=settings.number(DAYS.name))
    for field in FIELDS:
        if not field.required or not field.types.fullmatch(resource.type):
            continue
        version = resource.get(*field.path)
        read = KubernetesVersion.read(version.text)
        end = None if read is None else _end(resource, read.minor)
        if end is not None and end < latest:
            newer = [minor.minor for minor in FACTS.minors if minor.end_of_life >= latest]
            yield Finding(
                resource,
                version,
                f"is {version.shown}, whose support {'ended' if end < settings.today else 'ends'} on {end}",
                f"a minor that is supported on {latest}",
                f"upgrade, one minor at a time, to {newer[0] if newer else 'a newer one'} or newer",
            )


def _end(resource: Resource, minor: str) -> dt.date | None:
    """Return the last day of support for a minor on a cluster; None if unknown."""
    cloud = declared_by(resource.type)
    own = None if cloud is None or cloud.support is None else cloud.support.end(resource, minor)
    upstream = FACTS.minor(minor)
    return own or (None if upstream is None else upstream.end_of_life)


LIMIT_END_OF_LIFE = StackRule(
    name="cluster-limit-end-of-life",
    description=(
        "Control planes run a supported Kubernetes version, because other versions get no fixes and the "
        "cloud upgrades them at a time of its choice."
    ),
    fix="Upgrade one version at a time to a version that is supported long enough.",
    link="https://kubernetes.io/releases/patch-releases/",
    severity="medium",
    standard="advisory",
    production="mandatory",
    parameters=(TODAY, DAYS),
    check=_limit_end_of_life,
)


# A cluster runs a Kubernetes that serves resource.k8s.io/v1. It checks what a program requests, in each
# cloud's own words; it asks no cloud which versions it offers. A node pool without a version takes its
# cluster's, so only a control plane must name one. In a program that surely has no accelerators, nothing
# depends on it yet, and what it finds is advice.

FLOOR = FACTS.oldest
"""The oldest minor that is allowed."""
_FARTHEST = 199
"""The minor that three a year reach after fifty years; 1.360 is 1.36 written as a number, not a version."""
REASON = f"claims of devices need resource.k8s.io/v1, which is served from {FLOOR}"
ALLOWED = f"{FLOOR} or newer ({REASON})"


def _require_minimum_kubernetes(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    for resource in stack.of(VERSIONED):
        for field in FIELDS:
            for version in field.values(resource):
                yield from _check_minimum_kubernetes(resource, version, field.otherwise)


def _check_minimum_kubernetes(resource: Resource, version: Value, otherwise: str) -> Iterator[Finding]:
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


REQUIRE_MINIMUM_KUBERNETES = StackRule(
    name="cluster-require-minimum-kubernetes",
    description=f"Clusters and their pools run Kubernetes {FLOOR} or newer, because {REASON}.",
    fix=f"Set the cluster's version to {FLOOR} or newer, as a plain value that is known at preview.",
    link=FACTS.source,
    severity="critical",
    parameters=(EVERYWHERE,),
    production_parameters={EVERYWHERE.name: True},
    check=_require_minimum_kubernetes,
    advises=needs_none,
)


# The mark counts on the cloud's own resource. A component passes the mark to its children.
def _require_protection(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    if not resource.protect:
        yield Finding(
            resource,
            resource.properties,
            "is not protected",
            "protect=True",
            "pass opts=pulumi.ResourceOptions(protect=True) to the cluster or to the component that holds it",
        )


REQUIRE_PROTECTION = ResourceRule(
    name="cluster-require-protection",
    description=(
        "Production clusters are protected, because a renamed resource or a wrong stack name would "
        "otherwise delete every node and claim."
    ),
    fix="Set protect on the cluster, or on its parent component.",
    link="https://www.pulumi.com/docs/iac/concepts/options/protect/",
    severity="high",
    standard="disabled",
    production="mandatory",
    types=CLUSTERS,
    check=_require_protection,
)


# A version that names only the minor leaves the patch to the cloud, and is not checked here. In a program
# that surely has no accelerators, nothing allocates devices, and what it finds is advice.
def _require_safe_patch(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    for resource in stack.of(VERSIONED):
        yield from _check_safe_patch(resource)


def _check_safe_patch(resource: Resource) -> Iterator[Finding]:
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


REQUIRE_SAFE_PATCH = StackRule(
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
    check=_require_safe_patch,
    advises=needs_none,
)

RULES = (
    FORBID_LOCAL_ACCOUNTS,
    FORBID_PUBLIC_API_SERVER,
    LIMIT_END_OF_LIFE,
    REQUIRE_MINIMUM_KUBERNETES,
    REQUIRE_PROTECTION,
    REQUIRE_SAFE_PATCH,
)
