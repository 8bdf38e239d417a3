"""Rules on DRA drivers and GPU drivers of nodes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.drivers.common.placement import HOST, looks_elsewhere
from dra_fleet.policy.reading.advertisers import Nodes, advertisers
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.clouds import all_resources
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.placement import placement, pool_labels
from dra_fleet.policy.reading.plugins import installer_for, operators
from dra_fleet.policy.reading.pods import may_install_drivers, pod_specs, quiet
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import GpuDriverOwner
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity
    from dra_fleet.policy.reading.advertisers import Advertiser
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.reading.plugins import InstalledOperator
    from dra_fleet.policy.rule import Settings


# The charts refuse it: their plugin is privileged, and everybody who may create pods in `default` could use
# its service account.

DEFAULT: Final = "default"


def _forbid_default_namespace(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    installed = release(resource)
    if installed is None or installed.driver is None:
        return
    namespace = installed.namespace
    by_provider = resource.provider_properties.get("namespace")
    if namespace.absent and not by_provider.absent:
        namespace = by_provider
    if namespace.unknown or (namespace.text or DEFAULT) != DEFAULT:
        return
    yield Finding(
        resource,
        namespace,
        f"is {namespace.shown}",
        "a namespace of the driver's own",
        f"install it into the namespace {installed.driver.namespace}",
    )


FORBID_DEFAULT_NAMESPACE = ResourceRule(
    name="driver-forbid-default-namespace",
    description=(
        "DRA drivers have their own namespace, because their plugins are privileged and their charts "
        "reject the default namespace."
    ),
    fix="Install the chart into a separate namespace.",
    link="https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    severity="medium",
    types=RELEASE_TYPES,
    check=_forbid_default_namespace,
)


# The component that installs the GPU driver sets the path: the node's image on the host, the GPU Operator
# and GKE's installer below separate folders. With another `nvidiaDriverRoot` the plugin finds no library and
# publishes no devices.
def _match_root(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    for operator in operators(stack):
        yield from _check_mount(operator)
    drivers = [found for found in advertisers(stack) if found.replaces_plugin]
    if not drivers:
        return
    nodes = Nodes(stack)
    pools = nodes.with_gpus(drivers)
    for driver in drivers:
        installed = release(driver.resource)
        key = "" if installed is None or installed.installs is None else installed.installs.resources.root
        if installed is not None and key:
            served = [pool for pool in pools if nodes.chosen(driver, pool)]
            for reported, root in _roots(stack, driver, served, nodes):
                yield from _check_root(installed, key, reported, root)


def _check_root(installed: ChartRelease, key: str, reported: str, root: str) -> Iterator[Finding]:
    value = installed.value(key)
    if value.unknown:
        return
    own = HOST if value.absent else value.text or ""
    if looks_elsewhere(own, [root]):
        yield Finding(
            installed.resource,
            value,
            f"is {value.shown}, and {reported} has the GPU driver in {root}, "
            "so no devices are published there",
            root,
            f'set {key}: "{root}"',
        )


def _check_mount(operator: InstalledOperator) -> Iterator[Finding]:
    value = operator.release.value(operator.kind.root)
    if not value.unknown and value.text and not looks_elsewhere(value.text, [HOST]):
        yield Finding(
            operator.resource,
            value,
            f"is {value.shown}, which {operator.kind.title} mounts at that path into its own pods: no "
            "container starts with a mount on its root, so its pods and all that wait for them never do",
            operator.kind.default_root,
            f"remove {operator.kind.root}, also if the host has the GPU driver",
        )


def _roots(
    stack: Stack, driver: Advertiser, served: Sequence[NodePool], nodes: Nodes
) -> Iterator[tuple[str, str]]:
    """Yield the owners and the paths of the GPU driver."""
    near = [each for each in operators(stack) if nodes.homes.together(driver.resource, each.resource)]
    seen: set[str] = set()
    for pool in served:
        root = _root_of(pool, near, nodes)
        if root is not None and root not in seen:
            seen.add(root)
            yield f"the pool {pool.name}", root
    for operator in near if not served else []:
        if operator.installs_driver:
            yield f"{operator.kind.title} ({operator.resource.name})", operator.root


def _root_of(pool: NodePool, near: list[InstalledOperator], nodes: Nodes) -> str | None:
    """Return the path of the GPU driver on a pool's nodes; None if unknown."""
    root = pool.cloud.gpu_driver_root(pool)
    if root != "":
        return root
    operator = installer_for(pool, near, nodes.homes)
    return None if operator is None else operator.root


MATCH_ROOT = StackRule(
    name="driver-match-root",
    description=(
        "The NVIDIA DRA driver looks for the GPU driver in the folder where it is installed, because it "
        "otherwise publishes no devices."
    ),
    fix="Set nvidiaDriverRoot to where the pool's image or installer puts the GPU driver.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-intro-install.html",
    severity="high",
    check=_match_root,
)


# The GPU driver of a node has one owner: the cloud, the node's image, an installer or the GPU Operator. With
# two they load different versions of one kernel module; with none no GPU is ever found. AKS, GKE and the GPU
# Operator install a driver by default.

ALLOWED: Final = "one owner of the GPU driver on each pool"
EXTERNAL: Final = Parameter(
    name="external",
    schema=TEXTS,
    default=(),
    description="Names of pools whose GPU driver is installed outside the program.",
)
DAEMON_SETS: Final = re.compile(r"kubernetes:apps/v1:DaemonSet")


def _require_owner(stack: Stack, settings: Settings) -> Iterator[Finding]:
    external = settings.texts(EXTERNAL.name)
    installed = operators(stack)
    served_by = [found.resource for found in advertisers(stack) if found.replaces_plugin]
    daemons = list(_installers(stack))
    involved = [*served_by, *(each.resource for each in (*installed, *daemons))]
    if not involved:
        return
    homes = Homes(stack)
    for resource in stack.of(POOL_TYPES):
        if not any(homes.together(resource, each) for each in involved):
            continue
        for pool in pools(resource):
            checked = pool.has_gpus and pool.name not in external
            choice = pool.cloud.gpu_driver_owner(pool) if checked else None
            if choice is not None:
                near = [each for each in daemons if homes.together(resource, each.resource)]
                yield from _check_owner(pool, choice, installer_for(pool, installed, homes), near)


@dataclass(frozen=True, kw_only=True)
class Installer:
    """A DaemonSet that installs a GPU driver, and the image that does."""

    resource: Resource
    image: Value
    where: RequiredNodeAffinity

    def reaches(self, pool: NodePool, choice: GpuDriverOwner) -> bool:
        """Return True if it may run on a pool's nodes, which carry the label of another installer there."""
        labels = pool_labels(pool, discovered=True)
        return self.where.may_match(lambda key: "default" if key == choice.label else labels(key))


def _check_owner(
    pool: NodePool, choice: GpuDriverOwner, operator: InstalledOperator | None, near: Sequence[Installer]
) -> Iterator[Finding]:
    if choice.owner and operator is not None:
        switch = operator.switch
        other = f", or {choice.other} on the pool" if choice.other else ""
        yield Finding(
            operator.resource,
            switch,
            f"is {switch.shown}, so {operator.kind.title} installs a GPU driver on the pool {pool.name} "
            f"beside that of {choice.owner}",
            ALLOWED,
            f"set {operator.kind.kernel_driver.key}: false{other}",
        )
    for daemon in near if choice.owner else ():
        if daemon.reaches(pool, choice):
            yield Finding(
                daemon.resource,
                daemon.image,
                f"is {daemon.image.shown}, which installs a GPU driver on the pool {pool.name} "
                f"beside that of {choice.owner}",
                ALLOWED,
                "keep it off the pool by a nodeSelector or an affinity, or remove it",
            )
    if not choice.owner and operator is None and not near:
        yield Finding(
            pool.resource,
            choice.at,
            f"is {choice.at.shown}, and nothing in the program installs a GPU driver on the pool {pool.name}",
            ALLOWED,
            f"{choice.other}, or list the pool in {EXTERNAL.name} of driver-require-owner",
        )


def _installers(stack: Stack) -> Iterator[Installer]:
    known = {image for resources in all_resources() for image in resources.gpu_driver_images()}
    by_name = [driver.resources.installer_images for driver in drivers.known()]
    for daemon in stack.of(DAEMON_SETS):
        images = [
            (pods, container.value.get("image"))
            for pods in pod_specs(daemon)
            for container in (pods if may_install_drivers(pods) else quiet(pods)).containers
        ]
        for pods, image in images:
            name = image.text or ""
            if name in known or any(each.search(name) for each in by_name):
                yield Installer(resource=daemon, image=image, where=placement(pods.value))
                break


REQUIRE_OWNER = StackRule(
    name="driver-require-owner",
    description=(
        "Each pool with GPUs has exactly one installer of its GPU driver, because two installers load "
        "different kernel modules, and without one no GPU is found."
    ),
    fix="Let either the cloud or the GPU Operator install the GPU driver of a pool.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/microsoft-aks.html",
    severity="high",
    parameters=(EXTERNAL,),
    check=_require_owner,
)

RULES = (FORBID_DEFAULT_NAMESPACE, MATCH_ROOT, REQUIRE_OWNER)
