"""From the settings of an ACK cluster and its planned pools to what Alibaba Cloud is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.ack.cluster_plan import (
    SYSTEM_POOL,
    AckClusterPlan,
    AckCreation,
    AckNetworkPlan,
    AckPoolPlan,
)
from dra_fleet.clouds.ack.facts import ack_facts
from dra_fleet.clouds.ack.pools import node_pool_name, zones_of
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.ack.settings import AckAccess, AckClusterSettings, CreateAck
    from dra_fleet.model.plan import PoolPlan

_SYSTEM_DISK = 120


def plan_ack_cluster(
    name: str, settings: AckClusterSettings, minor: str, pools: Sequence[PoolPlan]
) -> AckClusterPlan:
    """What Alibaba Cloud is asked for, of a stack that has been found to be without errors.

    Args:
        name: The cluster's name in the stack file.
        settings: The cluster's.
        minor: Of its control plane and of all node pools.
        pools: All its planned pools.
    """
    create, access, adopt = settings.create, settings.access, settings.adopt
    there = create if adopt is None else adopt
    return AckClusterPlan(
        name=name,
        adopts=None if adopt is None else adopt.id,
        region=settings.region,
        account=settings.account,
        version=settings.version or ack_facts().version_of(minor) or minor,
        creates=None if create is None or access is None else _creation(settings, create, access),
        vswitches={} if there is None else there.vswitches,
        pools=tuple(_pool(plan, settings) for plan in pools),
    )


def _creation(settings: AckClusterSettings, create: CreateAck, access: AckAccess) -> AckCreation:
    system, network = settings.system_pool, create.network
    return AckCreation(
        network=None if network is None else AckNetworkPlan(cidr=network.cidr, zones=network.zones),
        edition=settings.edition,
        public=access.public,
        system=AckPoolPlan(
            key=SYSTEM_POOL,
            name=SYSTEM_POOL,
            instance_type=system.machine,
            image="AliyunLinux3",
            zones=settings.zones(),
            least=system.nodes.min,
            most=system.nodes.max,
            kind="cpu",
            spot=False,
            reservation=None,
            disk_gib=_SYSTEM_DISK,
            labels={POOL: SYSTEM_POOL},
            taints=(),
        ),
    )


def _pool(plan: PoolPlan, settings: AckClusterSettings) -> AckPoolPlan:
    pool = settings.pools[plan.name]
    kind = "gpu" if plan.machine.gpus else "cpu"
    return AckPoolPlan(
        key=plan.name,
        name=node_pool_name(plan, pool),
        instance_type=plan.machine.name,
        image=pool.image,
        zones=zones_of(pool, settings),
        least=plan.min_nodes,
        most=plan.max_nodes,
        kind="spot" if pool.spot else kind,
        spot=pool.spot,
        reservation=pool.reservation,
        disk_gib=pool.disk,
        labels=plan.labels,
        taints=plan.taints,
    )
