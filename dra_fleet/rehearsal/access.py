"""The rehearsal's own connections to its simulated clusters, with the administrator's certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.clouds.cluster_names import world_name
from dra_fleet.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home


class NothingRunsError(RehearsalError):
    """No rehearsal answers."""


def simulated_name(cluster: ClusterPlan, home: Home) -> str:
    """What a stack's cluster is called in the world: its own name, or that of the cluster it adopts.

    Args:
        cluster: the stack's.
        home: the rehearsal, which knows a cluster that is adopted by its id.
    """
    if cluster.kubeconfig is not None:
        return cluster.name
    return (home.clusters / world_name(cluster.adopts or cluster.name)).resolve().name


def connect(home: Home, cluster: str) -> KubeApi:
    """Connect to one simulated cluster.

    Raises:
        NothingRunsError: it was never started in this home.
    """
    kubeconfig = home.clusters / cluster / "admin.kubeconfig"
    if not kubeconfig.exists():
        raise NothingRunsError(
            f"cluster {cluster} is not rehearsed in {home.root}; start it with `dra-fleet rehearse up`"
        )
    return KubeApi.connect(read_kubeconfig(str(kubeconfig)))
