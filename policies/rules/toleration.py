"""Rules on the taints that plugins of drivers tolerate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.kubernetes.scheduling.taints import Toleration, toleration_text
from dra_fleet.policy.reading.advertisers import Nodes
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.placement import added_taints, declared_taints, tolerations
from dra_fleet.policy.reading.plugins import driver_plugin, driver_plugins
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.reading.plugins import DriverPlugin
    from dra_fleet.policy.rule import Settings


# GKE puts `nvidia.com/gpu=present:NoSchedule` on GPU nodes by itself, other platforms by custom. Charts of
# 25.x tolerate nothing by default. Of pools in the program, driver-tolerate-pool-taints checks the taints.
def _require_gpu_toleration(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    """Find releases of drivers whose plugin does not tolerate the taint of nodes with their devices.

    If the program declares the pools that the plugin serves, driver-tolerate-pool-taints checks their taints.
    """
    nodes = Nodes(stack)
    for resource in stack.of(RELEASE_TYPES):
        found = release(resource)
        plugin = None if found is None else driver_plugin(found)
        if found is not None and (plugin is None or not nodes.served(plugin)):
            yield from _check_gpu_toleration(resource, found)


def _check_gpu_toleration(resource: Resource, found: ChartRelease) -> Iterator[Finding]:
    driver = found.installs
    if driver is None or not driver.resources.node_taint:
        return
    taint, key = driver.resources.node_taint, driver.plugin_key("tolerations")
    given = found.value(key)
    if given.unknown or (given.given and given.plain is None):
        return  # noted
    version = found.driver_version
    if version is None and given.absent:
        return  # a version that is unknown: what it tolerates is not guessed
    default = () if version is None else version.plugin_tolerations
    effective = tolerations(given) if given.given else [Toleration.of(each) for each in default]
    if not any(toleration.may_tolerate(taint) for toleration in effective):
        yield Finding(
            resource,
            given,
            f"does not tolerate the taint {taint}:NoSchedule, "
            "so nodes with it, such as GKE's, publish no devices",
            f"a toleration of {taint}",
            f"add {{key: {taint}, operator: Exists, effect: NoSchedule}} to {key}",
        )


def remedy(resource: Resource, _settings: Settings) -> Mapping[str, object] | None:
    """Return the release with the toleration added to those it has."""
    found = release(resource)
    driver = None if found is None else found.installs
    if found is None or driver is None or not list(_check_gpu_toleration(resource, found)):
        return None
    if found.values.path != ("values",) or resource.get("valueYamlFiles").possible:
        return None  # given in a text or a file, which is left as it is
    values = _copy(resource.read().get("values"))
    section = driver.plugin_section
    plugin = _copy(values.get(section)) if values is not None and section else values
    own: object = None if plugin is None else plugin.get("tolerations") or list[object]()
    if values is None or plugin is None or not isinstance(own, list):
        return None  # what is secret or of another type is left as it is
    added = {"key": driver.resources.node_taint, "operator": "Exists", "effect": "NoSchedule"}
    reported = {**plugin, "tolerations": [*cast("list[object]", own), added]}
    return {**resource.read(), "values": {**values, section: reported} if section else reported}


def _copy(value: object) -> dict[str, object] | None:
    """Return a copy of a map, an empty one for nothing, None for anything else."""
    if value is None:
        return {}
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else None


REQUIRE_GPU_TOLERATION = StackRule(
    name="driver-require-gpu-toleration",
    description=(
        "The plugin of the NVIDIA DRA driver tolerates the taint of GPU nodes, because it otherwise does "
        "not run there and publishes no devices."
    ),
    fix="Add a toleration of nvidia.com/gpu to kubeletPlugin.tolerations.",
    link="https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra",
    severity="medium",
    standard="advisory",
    check=_require_gpu_toleration,
    remedy=remedy,
)


# The plugin is a DaemonSet. On a node whose taint it does not tolerate it does not run, publishes nothing,
# and the pods that would tolerate the taint wait for devices that no one announces.

ALLOWED: Final = "a toleration for every taint of the pools that the driver serves"


def _tolerate_pool_taints(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    plugins = driver_plugins(stack)
    nodes = Nodes(stack)
    for plugin in plugins:
        for pool in nodes.served(plugin):
            yield from _check_pool_taints(plugin, pool)


def _check_pool_taints(plugin: DriverPlugin, pool: NodePool) -> Iterator[Finding]:
    given = plugin.tolerated.given
    key = ".".join(str(step) for step in given.path[1:])
    taints = (*declared_taints(pool), *added_taints(pool))
    for taint in plugin.tolerated.missing(taints) or ():
        yield Finding(
            plugin.resource,
            given,
            f"does not tolerate the taint {taint} of the pool {pool.name}, so no devices are published there",
            ALLOWED,
            f"add {toleration_text(taint)} to {key}",
        )


TOLERATE_POOL_TAINTS = StackRule(
    name="driver-tolerate-pool-taints",
    description=(
        "The plugin of a DRA driver tolerates the taints of its pools, because it otherwise does not run "
        "there and publishes no devices."
    ),
    fix="Add the missing toleration to the chart's values. Helm replaces lists, so repeat the others.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    severity="high",
    check=_tolerate_pool_taints,
)

RULES = (REQUIRE_GPU_TOLERATION, TOLERATE_POOL_TAINTS)
