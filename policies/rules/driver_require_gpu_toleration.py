"""A DRA driver's plugin tolerates the taint that GPU nodes carry by convention.

GKE puts `nvidia.com/gpu=present:NoSchedule` on GPU nodes by itself, other platforms by custom. Charts of 25.x
tolerate nothing by default. Of pools in the program, driver-tolerate-pool-taints checks the taints.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.nodes import Nodes
from dra_fleet.policy.reading.plugins import driver_plugin
from dra_fleet.policy.reading.tolerations import tolerations
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find releases of drivers whose plugin does not tolerate the taint of nodes with their devices.

    If the program declares the pools that the plugin serves, driver-tolerate-pool-taints checks their taints.
    """
    del settings
    nodes = Nodes(stack)
    for resource in stack.of(RELEASE_TYPES):
        found = release(resource)
        plugin = None if found is None else driver_plugin(found)
        if found is not None and (plugin is None or not nodes.served(plugin)):
            yield from _check(resource, found)


def _check(resource: Resource, found: ChartRelease) -> Iterator[Finding]:
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


def remedy(resource: Resource, settings: Settings) -> Mapping[str, object] | None:
    """Return the release with the toleration added to those it has."""
    found = release(resource)
    driver = None if found is None else found.installs
    del settings
    if found is None or driver is None or not list(_check(resource, found)):
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


RULE = StackRule(
    name="driver-require-gpu-toleration",
    description=(
        "The plugin of the NVIDIA DRA driver tolerates the taint of GPU nodes, because it otherwise does "
        "not run there and publishes no devices."
    ),
    fix="Add a toleration of nvidia.com/gpu to kubeletPlugin.tolerations.",
    link="https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra",
    severity="medium",
    standard="advisory",
    check=check,
    remedy=remedy,
)
