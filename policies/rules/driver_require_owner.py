"""The GPU driver of a node has one owner: the cloud, the node's image, an installer or the GPU Operator.

With two they load different versions of one kernel module; with none no GPU is ever found. AKS, GKE and the
GPU Operator install a driver by default.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.clouds import all_resources
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.operators import installer_for, operators
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.placement import placement, pool_labels
from dra_fleet.policy.reading.pods import may_install_drivers, pod_specs, quiet
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import GpuDriverOwner
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity
    from dra_fleet.policy.reading.operators import InstalledOperator
    from dra_fleet.policy.rule import Settings

NAME: Final = "driver-require-owner"
ALLOWED: Final = "one owner of the GPU driver on each pool"
EXTERNAL: Final = Parameter(
    name="external",
    schema=TEXTS,
    default=(),
    description="Names of pools whose GPU driver is installed outside the program.",
)
DAEMON_SETS: Final = re.compile(r"kubernetes:apps/v1:DaemonSet")


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools with two owners of the GPU driver, or with none."""
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
                yield from _check(pool, choice, installer_for(pool, installed, homes), near)


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


def _check(
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
            f"{choice.other}, or list the pool in {EXTERNAL.name} of {NAME}",
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


RULE = StackRule(
    name=NAME,
    description=(
        "Each pool with GPUs has exactly one installer of its GPU driver, because two installers load "
        "different kernel modules, and without one no GPU is found."
    ),
    fix="Let either the cloud or the GPU Operator install the GPU driver of a pool.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/microsoft-aks.html",
    severity="high",
    parameters=(EXTERNAL,),
    check=check,
)
