"""The GPU driver of a node has one owner: the cloud, the node's image, an installer or the GPU Operator.

With two they load different versions of one kernel module; with none no GPU is ever found. AKS installs a
driver unless told not to, and so does GKE; the GPU Operator does by default.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.clouds import all_resources
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.operators import installer_for, operators
from dra_fleet.policy.reading.pods import pod_spec
from dra_fleet.policy.reading.pools import POOL_TYPES, pools
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import Pool
    from dra_fleet.clouds.resources import GpuDriverOwner
    from dra_fleet.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.operators import InstalledOperator
    from dra_fleet.policy.rule import Settings

NAME: Final = "driver-require-owner"
ALLOWED: Final = "one owner of the GPU driver on each pool"
EXTERNAL: Final = Parameter(
    name="external",
    schema=TEXTS,
    default=(),
    description="Names of pools whose GPU driver something outside the program installs.",
)
DAEMON_SETS: Final = re.compile(r"kubernetes:apps/v1:DaemonSet")


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find pools with two owners of the GPU driver, or with none."""
    external = settings.texts(EXTERNAL.name)
    installed = operators(stack)
    served_by = [found.resource for found in advertisers(stack) if found.kind == "dra"]
    involved = [*served_by, *(operator.resource for operator in installed)]
    if not involved:
        return
    homes = Homes(stack)
    for resource in stack.of(POOL_TYPES):
        if not any(homes.together(resource, each) for each in involved):
            continue
        for pool in pools(resource):
            judged = pool.has_gpus and pool.name not in external
            choice = pool.cloud.gpu_driver_owner(pool) if judged else None
            if choice is not None:
                yield from _judge(stack, pool, choice, installer_for(pool, installed, homes), homes)


def _judge(
    stack: Stack, pool: Pool, choice: GpuDriverOwner, operator: InstalledOperator | None, homes: Homes
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
    if not choice.owner and operator is None and not any(_installers(stack, pool.resource, homes)):
        yield Finding(
            pool.resource,
            choice.at,
            f"is {choice.at.shown}, and nothing in the program installs a GPU driver on the pool {pool.name}",
            ALLOWED,
            f"{choice.other}, or list the pool in {EXTERNAL.name} of {NAME}",
        )


def _installers(stack: Stack, resource: Resource, homes: Homes) -> Iterator[Resource]:
    known = {image for resources in all_resources() for image in resources.gpu_driver_images()}
    by_name = [driver.resources.installer_images for driver in drivers.known()]
    for daemon in stack.of(DAEMON_SETS):
        images = [container.value.get("image").text or "" for container in pod_spec(daemon).containers]
        if homes.together(resource, daemon) and any(
            image in known or any(each.search(image) for each in by_name) for image in images
        ):
            yield daemon


RULE = StackRule(
    name=NAME,
    description=(
        "Each pool with GPUs has one owner of its GPU driver, "
        "because two load different kernel modules and without one no GPU is found."
    ),
    fix="Let either the cloud or the GPU Operator install the GPU driver of a pool.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/microsoft-aks.html",
    severity="high",
    parameters=(EXTERNAL,),
    judge=judge,
)
