"""A DRA driver searches the GPU driver's path.

The component that installs the GPU driver sets the path: the node's image on the host, the GPU Operator and
GKE's installer below separate folders. With another `nvidiaDriverRoot` the plugin finds no library and
publishes no devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.placement import HOST, looks_elsewhere
from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.charts import release
from dra_fleet.policy.reading.nodes import Nodes
from dra_fleet.policy.reading.operators import installer_for, operators
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.reading.advertisers import Advertiser
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.reading.operators import InstalledOperator
    from dra_fleet.policy.rule import Settings


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find drivers whose root is not that of a pool they serve."""
    del settings
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
                yield from _check(installed, key, reported, root)


def _check(installed: ChartRelease, key: str, reported: str, root: str) -> Iterator[Finding]:
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


RULE = StackRule(
    name="driver-match-root",
    description=(
        "The NVIDIA DRA driver looks for the GPU driver in the folder where it is installed, because it "
        "otherwise publishes no devices."
    ),
    fix="Set nvidiaDriverRoot to where the pool's image or installer puts the GPU driver.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-intro-install.html",
    severity="high",
    check=check,
)
