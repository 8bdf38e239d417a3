"""Chart values that put a driver's plugin on the nodes with its devices, and on no others where they can."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.common.values import merged, nested
from dra_fleet.kubernetes.scheduling.taints import toleration_list
from dra_fleet.kubernetes.scheduling.written import mapping, sequence

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.plan import ChartValues


def placed(driver: Driver, release: Release) -> ChartValues:
    """The plugin on the pools with the driver's devices, whose taints it tolerates beside those of the chart.

    Args:
        driver: the driver.
        release: the release to be made.
    """
    served, version = driver.served(release.pools), release.version
    affinity, chosen = driver.plugin_key("affinity"), dict[str, object]()
    if affinity in version.values and served and all(pool.labels for pool in served):
        chosen[affinity] = node_affinity(
            [[node_label(*label) for label in pool.labels.items()] for pool in served]
        )
    given = [dict(one) for one in version.plugin_tolerations]
    # Helm replaces lists, so that the chart's own are repeated.
    tolerations = toleration_list((taint for pool in served for taint in pool.taints), given)
    if tolerations != given:
        chosen[driver.plugin_key("tolerations")] = tolerations
    return nested(chosen)


def nothing_served(driver: Driver, release: Release, what: str) -> Sequence[Refusal]:
    """The refusal of a driver on a cluster whose pools have none of its devices.

    Args:
        driver: the driver.
        release: the release to be made.
        what: what the driver serves.
    """
    if not release.pools or driver.served(release.pools):
        return ()
    told = (
        f"describe them: devices: [{{driver: {driver.facts.driver}, name: NAME, count: 2, …}}] of a pool; or "
    )
    where, fix = ("pool", f"{told}remove it") if driver.takes_descriptions else ("machine", "remove it")
    return (Refusal(what=f"serves {what}, which no {where} of this cluster has", fix=fix),)


def node_label(key: str, *values: str) -> dict[str, Any]:
    """A node whose label has one of the values."""
    return {"key": key, "operator": "In", "values": list(values)}


def node_affinity(terms: list[list[Any]]) -> dict[str, Any]:
    """A pod's affinity to nodes of which one of the terms holds."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": term} for term in terms]
            }
        }
    }


def labelled_with(labels: Mapping[str, str]) -> dict[str, Any] | None:
    """The affinity to nodes with one of some labels; None where every node will do."""
    return node_affinity([[node_label(*label)] for label in labels.items()]) if labels else None


def away_from(affinity: object, pools: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """An affinity, and to no node of some pools.

    Args:
        affinity: in which nodes are required by labels alone, or nothing.
        pools: of each the labels by which its nodes are known, of which they have all.
    """
    at = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    given: object = affinity
    for part in at:
        given = mapping(given).get(part)
    terms = [list(sequence(mapping(term).get("matchExpressions"))) for term in sequence(given)] or [[]]
    others = [
        [{"key": key, "operator": "NotIn", "values": [value]} for key, value in chosen]
        for chosen in dict.fromkeys(
            tuple(dict.fromkeys(one)) for one in product(*(sorted(labels.items()) for labels in pools))
        )
    ]
    return merged(
        mapping(affinity), node_affinity([[*term, *without] for term in terms for without in others])
    )


def any_linux_node() -> dict[str, Any]:
    """Return an affinity that replaces a chart's own and matches every Linux node.

    A null would remove the chart's default, but the Kubernetes provider drops nulls from `values`, also with
    `allowNullValues` (pulumi-kubernetes, `provider/pkg/provider/helm_release.go`: SkipNulls, 2026-11-24).
    """
    return node_affinity([[node_label("kubernetes.io/os", "linux")]])
