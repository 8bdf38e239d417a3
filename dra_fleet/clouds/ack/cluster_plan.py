"""The ACK cluster and node pools that Alibaba Cloud is asked for, with final names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.clouds.ack.facts import ack_facts
from dra_fleet.clouds.ack.plan import node_pool_name, zones_of
from dra_fleet.clouds.ack.resources import SYSTEM_POOL
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.ack.settings import AckAccess, AckClusterSettings, CreateAck
    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.settings import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class AckNetworkPlan:
    """A VPC of the stack's own: its range, and the zones that have vSwitches."""

    cidr: str
    zones: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AckPoolPlan:
    """A node pool. `key`: its name in the stack file, `name`: in Alibaba Cloud.

    `kind`: what ACK's autoscaler calls its machines. `reservation`: the private pool it takes machines from.
    """

    key: str
    name: str
    instance_type: str
    image: str
    zones: tuple[str, ...]
    least: int
    most: int
    kind: str
    spot: bool
    reservation: str | None
    disk_gib: int
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class AckCreation:
    """A cluster that the stack creates. `network`: None where vSwitches are there."""

    network: AckNetworkPlan | None
    edition: str
    public: bool
    system: AckPoolPlan


@dataclass(frozen=True, kw_only=True)
class AckClusterPlan:
    """A cluster as Alibaba Cloud is asked for it. `name`: in ACK, of one that the stack makes.

    `version`: the whole version, such as 1.36.2-aliyun.1. `adopts`: the id of one that was
    there. `creates`: None then.
    `vswitches`: those that are there, by zone.
    """

    name: str
    region: str
    account: str | None
    version: str
    adopts: TextOrOutput | None
    creates: AckCreation | None
    vswitches: Mapping[str, TextOrOutput]
    pools: tuple[AckPoolPlan, ...]


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


def ack_arguments(settings: AckClusterSettings) -> Mapping[str, ChartValues]:
    """Return what settings pass on to the cloud unchanged, by pool; "" is the cluster."""
    found: dict[str, object] = {}
    if settings.create is not None and settings.create.encryption_key is not None:
        found |= {"encryptionProviderKey": settings.create.encryption_key, "disableEncryption": False}
    if settings.create is not None and settings.create.logs:
        # The provider requires the days beside the components; 30 is its default.
        found |= {"controlPlaneLogComponents": list(settings.create.logs), "controlPlaneLogTtl": "30"}
    roles = {name: {"ramRoleName": pool.ram_role} for name, pool in settings.pools.items() if pool.ram_role}
    return {"": found, **roles}
