"""The rehearsal's own connections to its simulated clusters, with the administrator's certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.model.settings import StackOutput
from dra_fleet.rehearsal.clouds.account import simulator_name
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.project import recorded, recorded_state
from dra_fleet.rehearsal.stack_copy import named_stack

if TYPE_CHECKING:
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home


class NothingRunsError(RehearsalError):
    """No rehearsal is running."""


def simulated_name(cluster: ClusterPlan, home: Home) -> str:
    """Return the simulator's name for a stack's cluster: its own name, or that of the cluster it adopts.

    Args:
        cluster: the stack's.
        home: the rehearsal, which knows a cluster that is adopted by its id.

    Raises:
        RehearsalError: another stack exports the name, and it is not there.
    """
    if cluster.kubeconfig is not None:
        return cluster.name
    adopted = cluster.adopts
    if isinstance(adopted, StackOutput):
        adopted = _exported(home, cluster.name, adopted)
    return (home.clusters / simulator_name(adopted or cluster.name)).resolve().name


def _exported(home: Home, cluster: str, requested: StackOutput) -> str:
    project, stack = named_stack(requested.stack)
    record = recorded(home.backend, stack, project)
    if not record.exists():
        raise RehearsalError(
            f"cluster {cluster} adopts {requested}, and that stack is not in this rehearsal; run its program "
            'here first: `eval "$(dra-fleet rehearse env)"`, then in its folder '
            f"`pulumi -C . stack init {stack}` and `pulumi -C . up --stack {stack}`"
        )
    outputs: dict[str, object] = {}
    for item in recorded_state(record).get("resources", []):
        if item["type"] == "pulumi:pulumi:Stack":
            outputs = item.get("outputs", {})
    found = requested.text_in(outputs.get(requested.output))
    if found is None:
        raise RehearsalError(
            f"cluster {cluster} adopts {requested}, which is not plain text there; "
            f"fix: look with `pulumi stack output --stack {requested.stack}`"
        )
    return found


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
