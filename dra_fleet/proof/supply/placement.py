"""Whether the plugin of a driver comes to the nodes of a pool, by its chart's values as they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import clouds
from dra_fleet.drivers.common.plugin_pods import PluginPods
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, some_labels

if TYPE_CHECKING:
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.kubernetes.scheduling.node_affinity import Answer
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_KUBERNETES: Final = ("kubernetes.io", "k8s.io")
"""Domains of labels that kubelets and clouds set on every node."""


def plugin_lands(cluster: ClusterPlan, pool: PoolPlan, installed: Installed) -> Answer:
    """Whether the plugin's pods come to the nodes of a pool.

    What is demanded of nodes by the chart itself, or by this program, is taken to be met where no label says
    otherwise: whoever discovers hardware sets those labels. Of a stack's own demands that is not known.

    Args:
        cluster: the plan.
        pool: one of its pools.
        installed: the driver as it runs there.
    """
    driver = installed.driver
    if installed.is_assumed:
        return "yes"
    pods = PluginPods.of(driver, installed.version, installed.values)
    given = cluster.settings.drivers[driver.name].values
    released = any(release.driver == driver.facts.driver for release in cluster.releases)
    if (released or not pods.is_default_tolerations) and pods.kept_off_by(pool):
        return "no"
    labels = some_labels(pool.labels, given_elsewhere(cluster, pool))
    answer = pods.affinity.matches(labels)
    if answer != "unknown":
        return answer
    own = RequiredNodeAffinity.of(
        *(value_at(given, driver.plugin_key(key)) for key in ("nodeSelector", "affinity"))
    )
    unknown = [key for key in own.keys if key not in pool.labels]
    usual = all(key.partition("/")[0].endswith(_KUBERNETES) for key in unknown)
    return "unknown" if own.matches(labels) == "unknown" and not usual else "yes"


def given_elsewhere(cluster: ClusterPlan, pool: PoolPlan) -> frozenset[str]:
    """The labels that other pools of the stack's own have and this one has not: nobody else sets them."""
    if not clouds.named(cluster.cloud).makes_nodes:
        return frozenset()
    return frozenset(key for other in cluster.pools for key in other.labels) - frozenset(pool.labels)
