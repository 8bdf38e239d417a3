"""Rules on managed clusters and their Kubernetes versions."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.advertisers import SOCKETS, advertisers
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, releases
from dra_fleet.policy.reading.clouds import (
    CLUSTERS,
    FIELDS,
    VERSIONED,
    KubernetesVersion,
    all_resources,
    any_of,
    declared_by,
)
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.pods import POD_TYPES
from dra_fleet.policy.reading.unread import may_have_devices, unread
from dra_fleet.policy.rule import TODAY, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudResources, OtherPools
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings


EVERYWHERE: Final = Parameter(
    name="everywhere",
    schema={"type": "boolean"},
    default=False,
    description="If true, also fail programs without accelerators, DRA objects and drivers.",
)
_DRA: Final = re.compile(r"kubernetes:resource\.k8s\.io/.*|dra-fleet:.*")
_HOLDERS: Final = ("spec", "template", "containers", "resources", "limits", "requests", "resourceClaims")
"""Below one of these that is unknown, devices may be asked for."""
_TEMPLATES: Final = any_of(lambda resources: [each.types for each in resources.machine_templates])


def needs_none(stack: Stack, settings: Settings) -> bool:
    """Return whether nothing in a program allocates devices; never if the policy config sets `everywhere`."""
    return not settings.flag(EVERYWHERE.name) and not may_have_accelerators(stack)


def may_have_accelerators(stack: Stack) -> bool:
    """Return whether a program has or may have an accelerator pool, a DRA object or a driver's chart.

    Unknown values are noted.
    """
    return (
        bool(stack.of(_DRA))
        or any(_may_serve(found) for each in stack.of(INSTALLED_TYPES) for found in releases(each))
        or any(_may_accelerate(stack, pool) for each in stack.of(POOL_TYPES) for pool in pools(each))
        or any(_may_be(cloud, name) for cloud, name in _of_templates(stack))
        or _is_open(stack)
        or any(_asks(each) or may_have_devices(stack, each, what) for each, what in unread(stack))
        or any(_asks(each) for each in stack.of(POD_TYPES))
        or bool(advertisers(stack))
    )


def _may_serve(installed: ChartRelease) -> bool:
    plugins = [driver.resources.device_plugin for driver in drivers.known()]
    plugin_charts = (each.charts for one in drivers.known() for each in one.resources.other_plugins)
    return (
        installed.chart.unknown
        or installed.installs is not None
        or installed.operator is not None
        or any(installed.chart_name in charts for charts in plugin_charts)
        or any(plugin is not None and plugin.chart == installed.chart_name for plugin in plugins)
    )


def _asks(resource: Resource) -> bool:
    """Return whether an object requests devices by claim or extended resource, or advertises some.

    Extended resources: https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/
    """
    return any(_asks_at(value) for value in resource.properties.walk())


def _asks_at(value: Value) -> bool:
    above, own = (*value.path[-2:-1], ""), (*value.path[-1:], "")
    if value.possible and value.peek is None:
        return own[0] in _HOLDERS
    return (
        (above[0] in ("limits", "requests") and "/" in str(own[0]))
        or (own[0] == "resourceClaims" and bool(value.items))
        or (own[0] == "path" and str(value.peek).startswith(SOCKETS))
    )


def _may_accelerate(stack: Stack, pool: NodePool) -> bool:
    names = pool.machines_in(stack)
    if pool.has_gpus or any(_may_be(pool.cloud, name) for name in names):
        return True
    places = [pool.machines_at, *(pool.get(each.named_at) for each in pool.cloud.machine_templates)]
    return not names and any(place.possible for place in places)


def _may_be(cloud: CloudResources, name: Value) -> bool:
    if name.text is None:
        return not name.absent
    machine = cloud.machines().get(name.text)
    if machine is None:
        return cloud.plain_families.match(name.text) is None
    served = (driver for driver in drivers.known() if driver.resources.known_by == "machines")
    return bool(machine.gpu or machine.unserved) or any(driver.serves(machine) for driver in served)


def _of_templates(stack: Stack) -> Iterator[tuple[CloudResources, Value]]:
    for resource in stack.of(_TEMPLATES):
        for cloud in all_resources():
            for template in cloud.machine_templates:
                if template.types.fullmatch(resource.type):
                    yield cloud, resource.get(*template.machine.split("."))


def _is_open(stack: Stack) -> bool:
    """Return whether pools may be declared elsewhere: a cluster without pools, or pools without cluster."""
    homes, clusters = Homes(stack), stack.of(CLUSTERS)
    described = [each for each in stack.of(POOL_TYPES) if pools(each)] + stack.of(_TEMPLATES)
    return not clusters or any(
        others == "any" or (others == "none" and not any(homes.together(each, cluster) for each in described))
        for cluster in clusters
        for others in [_other_pools(cluster)]
    )


def _other_pools(cluster: Resource) -> OtherPools:
    cloud = declared_by(cluster.type)
    return "none" if cloud is None else cloud.other_pools(cluster)


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
