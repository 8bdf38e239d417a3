"""Existing clusters: pools are nodes with a label, and the kubeconfig is the way in."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.clouds.account import Exposed
from dra_fleet.clouds.common.machines import check_devices, find_machine, planned
from dra_fleet.clouds.existing import CLOUD
from dra_fleet.core.findings.errors import shown
from dra_fleet.model.settings import KubeconfigFile, KubeconfigSecret

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.existing.settings import ExistingClusterSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan


def exposure(settings: ExistingClusterSettings) -> Sequence[Exposed]:
    """Return the source of the cluster's kubeconfig."""
    match settings.kubeconfig:
        case KubeconfigFile() as source:
            text = f"context {source.context} of {source.file or 'the kubeconfig of the user'}"
        case KubeconfigSecret() as source:
            text = f"a kubeconfig from the secret {source.secret} of this stack"
        case source:
            text = f"a kubeconfig that stack {source.stack} exports as {source.output}"
    return [Exposed(subject="credentials", text=text)]


_DESCRIBE = (
    "describe the machine in the stack file: machine: {gpu: A100-SXM4-40GB, gpus: 4, cpus: 64, memory: 512}"
)


def plan_pool(
    at: tuple[str, ...], name: str, settings: ExistingClusterSettings, findings: Findings
) -> PoolPlan | None:
    """Return the plan of a pool, or None after its machine was refused."""
    pool = settings.pools[name]
    # The cluster may have machines of any cloud; names of this list come first.
    known = CLOUD.machines if pool.machine in CLOUD.machines else clouds.machines()
    machine = find_machine(at, pool.machine, known, _DESCRIBE, findings=findings)
    if machine is None:
        return None
    check_devices(at, machine, pool, findings)
    return planned(name, pool, machine, pool.node_selector, gpu_driver=pool.gpu_driver)


def check_source(cluster: str, fleet: FleetSettings, findings: Findings) -> None:
    """Check that no cluster before this one has the same kubeconfig: its devices would count twice."""
    own = fleet.clusters[cluster]
    for name, other in sorted(fleet.clusters.items()):
        if name < cluster and getattr(other, "kubeconfig", None) == getattr(own, "kubeconfig", None):
            findings.error(
                "clusters",
                cluster,
                "kubeconfig",
                what=f"is also the kubeconfig of cluster {name}, whose devices would be counted twice",
                fix=f"declare the pools in {name}, or write another kubeconfig",
            )


def check_selectors(cluster: str, settings: ExistingClusterSettings, findings: Findings) -> None:
    """Check that no pool selects the nodes of another; only selectors separate pools."""
    labels = {name: pool.node_selector.items() for name, pool in sorted(settings.pools.items())}
    for first, second in combinations(labels, 2):
        if labels[first] <= labels[second] or labels[second] <= labels[first]:
            narrow, wide = sorted((first, second), key=lambda name: (-len(labels[name]), name))
            findings.error(
                "clusters",
                cluster,
                "pools",
                wide,
                "nodeSelector",
                what=f"also selects every node of pool {narrow}",
                got=shown(dict(labels[wide])),
                fix="give each pool a different label value",
            )
