"""A DRA driver's plugin tolerates the taints of the pools it serves, those that clouds add among them.

The plugin is a DaemonSet. On a node whose taint it does not tolerate it does not run, publishes nothing, and
the pods that would tolerate the taint wait for devices that no one announces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.scheduling.taints import toleration_text
from dra_fleet.policy.reading.nodes import Nodes
from dra_fleet.policy.reading.plugins import driver_plugins
from dra_fleet.policy.reading.tolerations import added_taints, declared_taints
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.reading.plugins import DriverPlugin
    from dra_fleet.policy.rule import Settings

ALLOWED: Final = "a toleration for every taint of the pools that the driver serves"


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find taints of pools that the plugin of the driver of their devices does not tolerate."""
    del settings
    plugins = driver_plugins(stack)
    nodes = Nodes(stack)
    for plugin in plugins:
        for pool in nodes.served(plugin):
            yield from _check(plugin, pool)


def _check(plugin: DriverPlugin, pool: NodePool) -> Iterator[Finding]:
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


RULE = StackRule(
    name="driver-tolerate-pool-taints",
    description=(
        "The plugin of a DRA driver tolerates the taints of its pools, because it otherwise does not run "
        "there and publishes no devices."
    ),
    fix="Add the missing toleration to the chart's values. Helm replaces lists, so repeat the others.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    severity="high",
    check=check,
)
