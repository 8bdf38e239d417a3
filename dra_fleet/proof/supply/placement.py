"""Whether the plugin of a driver comes to the nodes of a pool, by its chart's values as they are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import clouds
from dra_fleet.drivers.common.plugin_pods import PluginPods
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, some_labels
from dra_fleet.kubernetes.scheduling.written import mapping
from dra_fleet.model.nodes import NOTHING, ComputeResources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.kubernetes.scheduling.node_affinity import Answer
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_EVERYWHERE: Final = ("", "system-node-critical", "system-cluster-critical")
"""The PriorityClasses that every cluster has."""
_KUBERNETES: Final = ("kubernetes.io", "k8s.io")
"""Domains of labels that kubelets and clouds set on every node."""


def plugin_lands(
    cluster: ClusterPlan, pool: PoolPlan, installed: Installed, holds: ComputeResources
) -> Answer:
    """Whether the plugin's pods come to the nodes of a pool.

    What is demanded of nodes by the chart itself, or by this program, is taken to be met where no label says
    otherwise: whoever discovers hardware sets those labels. Of a stack's own demands that is not known.

    Args:
        cluster: the plan.
        pool: one of its pools.
        installed: the driver as it runs there.
        holds: what a node has for pods at most.
    """
    driver = installed.driver
    elsewhere = installed.is_managed and driver.name not in pool.managed_drivers
    if elsewhere or (not pool.by_dra and driver.extended_resource and driver.serves(pool.machine)):
        return "no"
    if installed.is_managed or installed.is_assumed:
        return "yes"
    pods = PluginPods.of(driver, installed.version, installed.values)
    given = cluster.settings.drivers[driver.name].values
    released = any(release.driver == driver.facts.driver for release in cluster.releases)
    if (released or not pods.is_default_tolerations) and pods.kept_off_by(pool):
        return "no"
    if not holds.holds(_asked_for(installed)):
        return "no"
    labels = some_labels({**_set_by_kubelets(cluster, pool), **pool.labels}, given_elsewhere(cluster, pool))
    answer = pods.affinity.matches(labels)
    if answer != "unknown":
        return _unless_doubted(installed) if answer == "yes" else answer
    own = RequiredNodeAffinity.of(
        *(value_at(given, driver.plugin_key(key)) for key in ("nodeSelector", "affinity"))
    )
    unknown = [key for key in own.keys if key not in pool.labels]
    usual = all(key.partition("/")[0].endswith(_KUBERNETES) for key in unknown)
    return "unknown" if own.matches(labels) == "unknown" and not usual else _unless_doubted(installed)


def _set_by_kubelets(cluster: ClusterPlan, pool: PoolPlan) -> Mapping[str, str]:
    """The labels that tell a node's machine: https://kubernetes.io/docs/reference/labels-annotations-taints/."""
    if not clouds.named(cluster.cloud).makes_nodes:
        return {}
    arch = {"kubernetes.io/arch": pool.machine.arch} if pool.machine.arch is not None else {}
    return {**arch, "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": pool.machine.cloud_type}


def _unless_doubted(installed: Installed) -> Answer:
    return "unknown" if plugin_doubt(installed) else "yes"


def plugin_doubt(installed: Installed) -> str:
    """Why it cannot be told of any node whether the plugin's pods run there; empty where it can."""
    values, driver = installed.values, installed.driver
    priority = value_at(values, driver.plugin_key("priorityClassName")) or ""
    if priority not in _EVERYWHERE:
        return f"its pods need PriorityClass {priority}, which the stack does not make"
    if value_at(values, "serviceAccount.create") is False:
        return "the chart makes no account for it, and nobody knows what another one may do"
    return ""


def _asked_for(installed: Installed) -> ComputeResources:
    """What the containers of one of the plugin's pods ask for."""
    containers = mapping(value_at(installed.values, installed.driver.plugin_key("containers")))
    asked = NOTHING
    for name, container in containers.items():
        if name == "init":
            continue
        held = mapping(mapping(container).get("resources"))
        amounts = {**mapping(held.get("limits")), **mapping(held.get("requests"))}
        asked = asked.plus(
            ComputeResources.of(str(amounts.get("cpu", 0)), str(amounts.get("memory", 0)), pods=0)
        )
    return asked


def given_elsewhere(cluster: ClusterPlan, pool: PoolPlan) -> frozenset[str]:
    """The labels that other pools of the stack's own have and this one has not: nobody else sets them."""
    if not clouds.named(cluster.cloud).makes_nodes:
        return frozenset()
    return frozenset(key for other in cluster.pools for key in other.labels) - frozenset(pool.labels)
