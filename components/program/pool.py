"""`GpuNodePool`: a pool that is declared after its cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pulumi

from ..core.identity import logical
from .arguments import GpuNodePoolArgs, checked, named, pool_settings, refused
from .cluster import cluster_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .cluster import Cluster


class GpuNodePool(pulumi.ComponentResource):
    """A pool of equal nodes: created in a cluster of a cloud, selected by labels in an `ExistingCluster`.

    Declare the pools of a cluster before its drivers and classes.

    Args:
        name: Name of the pool.
        cluster: Cluster that has the pool.
        machine: Machine type of the catalogue, or a description with `gpu`, `gpus`, `cpus` and `memory`.
        min: Nodes at least.
        max: Nodes at most.
        sharing: How the GPUs are shared. Default: whole GPUs.
        labels: Labels of the nodes of a created pool.
        taints: Taints of the nodes: `{"key": …, "value": …, "effect": …}`.
        node_selector: Labels that select the nodes of a pool in an existing cluster.
        gpu_driver: Component that installs the GPU driver. Default: the cloud's.
        advertise: Component that advertises the devices. Default: the DRA driver.
        devices: Devices of drivers that dra-fleet does not know.
        zones: Zones of the nodes.
        spot: Use spot machines.
        tags: Tags of its resources in the cloud; labels on Google Cloud.
        extra: Further arguments of the provider's pool resource, which no rule checks.
        options: Further settings of the cloud's pools under their stack file names.
        opts: Resource options.

    Examples:
        ```python
        dra.GpuNodePool(
            "spare", cluster=cluster, machine="hgx-h100-8", min=1, max=2, node_selector={"pool": "spare"}
        )
        ```
    """

    TOKEN = "dra-fleet:clouds:GpuNodePool"  # noqa: S105 - a type token

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        machine: str | Mapping[str, Any],
        min: int,  # noqa: A002 - as in every autoscaler
        max: int,  # noqa: A002
        sharing: Mapping[str, Any] | None = None,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] | None = None,
        node_selector: Mapping[str, str] | None = None,
        gpu_driver: str | None = None,
        advertise: str | None = None,
        devices: Sequence[Mapping[str, Any]] | None = None,
        zones: Sequence[str] | None = None,
        spot: bool | None = None,
        tags: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        program = cluster.program
        pool = GpuNodePoolArgs(
            machine=machine, min=min, max=max, sharing=sharing, labels=labels, taints=taints,
            node_selector=node_selector, gpu_driver=gpu_driver, advertise=advertise, devices=devices,
            zones=zones, spot=spot, tags=tags, extra=extra, options=options,
        )  # fmt: skip
        if any(program.declared.values()):
            raise refused(
                component,
                "",
                f"is declared after classes or claims of {program.component}, which were proved without it",
                fix="declare all pools of a cluster before its classes and claims",
            )
        plan = program.add("pools", name, pool_settings(component, "", pool, cluster.resolved), component)
        cluster.extend(component, plan)
        super().__init__(
            self.TOKEN,
            logical(program.name, name),
            {"machine": machine if isinstance(machine, str) else None, "min": min, "max": max},
            pulumi.ResourceOptions.merge(pulumi.ResourceOptions(parent=cluster), opts),
        )
        if cluster.add_pool is not None:
            pool_plan = next(item for item in plan.pools if item.name == name)
            cluster.added_pools.append(cluster.add_pool(plan, pool_plan, self))
        self.register_outputs({})
