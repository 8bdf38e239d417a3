"""`Queue`: a queue of Kueue with a team's quota of devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pulumi

from dra_fleet.fleet.queueing.kueue import FLAVOR, NAME, QUEUE_LABEL

from .. import queue
from ..core.identity import logical
from ..release import DriverRelease
from .arguments import checked, named, plain, refused, settings_of
from .cluster import cluster_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cluster import Cluster

_OF_ALL = ("version", "device_class_mappings", "values")
"""Arguments of Kueue itself, which the first queue of a cluster has for all."""


class Queue(queue.LocalQueue):
    """A queue of one team: a ClusterQueue with its quota, and a LocalQueue of that name.

    The first queue of a cluster installs Kueue, and has `version` and `device_class_mappings` for all.

    Args:
        name: Name of the queue.
        cluster: Cluster that has it, with its drivers and classes declared.
        namespace: Namespace of the Jobs, the same for all queues of a cluster.
        nominal_quota: Devices that are the team's own, by name of a mapping.
        cohort: Queues of one cohort lend each other what they do not use.
        borrowing_limit: Devices that it may borrow at most. Default: all that the cohort has.
        reclaim_within_cohort: `Any` stops Jobs that borrow its devices when it needs them.
        version: Exact version of Kueue's chart.
        device_class_mappings: What quotas count: DeviceClasses by name, `{"gpus": ["gpu.nvidia.com"]}`.
        values: Values of Kueue's chart.
        opts: Resource options.

    Attributes:
        queue_name: The name.
        cluster: The cluster.

    Examples:
        ```python
        queue = dra.Queue(
            "team-a",
            cluster=cluster,
            namespace="ml",
            nominal_quota={"gpus": 4},
            version="0.19.0",
            device_class_mappings={"gpus": ["gpu.nvidia.com"]},
        )
        ```
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        namespace: str,
        nominal_quota: Mapping[str, int],
        cohort: str | None = None,
        borrowing_limit: Mapping[str, int] | None = None,
        reclaim_within_cohort: Literal["Never", "Any"] = "Never",
        version: str | None = None,
        device_class_mappings: Mapping[str, Sequence[str]] | None = None,
        values: Mapping[str, Any] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        program = cluster.program
        of_all: dict[str, object] = dict(zip(_OF_ALL, (version, device_class_mappings, values), strict=True))
        first = not program.queues
        if not first:
            for key in (key for key, value in of_all.items() if value is not None):
                raise refused(component, key, "belongs to the first queue of a cluster", fix="remove it")
            if namespace != program.namespace:
                what = "differs from that of the cluster's other queues"
                raise refused(component, "namespace", what, got=namespace, allowed=program.namespace or "")
        else:
            for key in _OF_ALL[:2]:
                if of_all[key] is None:
                    raise refused(component, key, "is required of the first queue of a cluster")
            program.begin_queues(
                component, plain(component, "namespace", namespace), settings_of(component, of_all)
            )
        given = {
            "nominal_quota": nominal_quota,
            "cohort": cohort,
            "borrowing_limit": borrowing_limit,
            "reclaim_within_cohort": reclaim_within_cohort,
        }
        settings = settings_of(component, given)
        needs = {"classes": set(program.declared["classes"])}
        plan = program.add(
            "clusterQueues", name, {**settings, "cluster": program.name}, component, needs=needs
        )
        if first:
            _install(component, cluster)
        (planned,) = (item for item in plan.queues if item.name == name)
        after = [cluster.releases[NAME], cluster.shared[FLAVOR]]
        quotas = queue.ClusterQueue(
            logical(program.name, name),
            queue.ClusterQueueArgs(
                name=name,
                namespace=namespace,
                flavor=FLAVOR,
                quotas=planned.quotas,
                identity=cluster.identity,
                cohort=planned.cohort,
                borrowing=planned.borrowing,
                reclaims=planned.reclaims,
            ),
            cluster.member_opts(after),
        )
        self.queue_name, self.cluster = name, cluster
        super().__init__(
            logical(program.name, name),
            queue.LocalQueueArgs(name=name, namespace=namespace, identity=cluster.identity),
            pulumi.ResourceOptions.merge(cluster.member_opts([quotas, *after]), opts),
        )

    def labels(self) -> dict[str, str]:
        """Return the labels of a Job that waits in the queue."""
        return {QUEUE_LABEL: self.queue_name}


def _install(component: str, cluster: Cluster) -> None:
    """Declare Kueue's release and the flavor of all quotas."""
    plan = cluster.program.plan()
    release = cluster.planned_release(component, plan)
    cluster.releases[release.name] = DriverRelease(
        logical(plan.name, release.name),
        cluster.release_args(plan, release),
        cluster.member_opts(cluster.before(plan, release)),
    )
    cluster.shared[FLAVOR] = queue.ResourceFlavor(
        logical(plan.name, FLAVOR),
        queue.ResourceFlavorArgs(name=FLAVOR, identity=cluster.identity),
        cluster.member_opts([cluster.releases[release.name]]),
    )
