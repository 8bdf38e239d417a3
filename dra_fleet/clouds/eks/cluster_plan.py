"""The EKS cluster and node groups that AWS is asked for, with final names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clouds.eks.plan import CUSTOM, ami_type, image_of, node_group_name, placed_together, zones_of
from dra_fleet.clouds.eks.settings import OwnImage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.eks.settings import (
        AdoptEks,
        CreateEks,
        EksAccess,
        EksClusterSettings,
        EksPoolSettings,
        EksUpgrade,
    )
    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.settings import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class EksNetworkPlan:
    """A VPC of the stack's own: its range, and the zones that have subnets."""

    cidr: str
    zones: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class EksSystemGroupPlan:
    """The node group of the cluster's own pods."""

    instance_type: str
    ami_type: str
    least: int
    most: int


@dataclass(frozen=True, kw_only=True)
class EksCreation:
    """A cluster that the stack creates. `network`: None where subnets are there.

    `public_ranges`: from where the API server is reached; none where its address is private.
    """

    network: EksNetworkPlan | None
    cluster_role: TextOrOutput | None
    support: str
    auto_mode: bool
    public_ranges: tuple[str, ...]
    admins: tuple[str, ...]
    addons: Mapping[str, str]
    system: EksSystemGroupPlan


@dataclass(frozen=True, kw_only=True)
class EksUpgradePlan:
    """How many nodes of a group may be missing while it is upgraded: a number, or a part in percent."""

    unavailable: int | None
    percent: int | None
    strategy: str | None


@dataclass(frozen=True, kw_only=True)
class EksGroupPlan:
    """A node group. `key`: its name in the stack file, `name`: in AWS.

    `version`: the minor, None where the image or its release says it. `image_id`: of an image of one's own.
    `turns_plugin_off`: whether the nodes are told to leave out the device plugin of their image.
    `cards`: the kind of each network card, None for a usual one; no `cards` where AWS chooses.
    `security_group`: for EFA, instead of one that the stack makes.
    """

    key: str
    name: str
    instance_type: str
    version: str | None
    release: str | None
    ami_type: str
    image_id: str | None
    turns_plugin_off: bool
    zones: tuple[str, ...]
    least: int
    most: int
    capacity: str
    reservation: str | None
    placed_together: bool
    cards: tuple[str | None, ...] | None
    security_group: str | None
    disk_device: str
    disk_gib: int
    repair: bool
    upgrade: EksUpgradePlan
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class EksClusterPlan:
    """A cluster as AWS is asked for it. `name`: in AWS, of one that the stack makes.

    `adopts`: the name of one that was there. `creates`: None then.

    `kubernetes`: the minor of the control plane and of all node groups. `subnets`: those that are there, by
    zone. `node_role`: None where the stack makes one.
    """

    name: str
    region: str
    account: str | None
    kubernetes: str
    adopts: TextOrOutput | None
    creates: EksCreation | None
    subnets: Mapping[str, TextOrOutput]
    node_role: TextOrOutput | None
    groups: tuple[EksGroupPlan, ...]


_GRAVITON = ("g.", "gd.", "gn.", "gb.", "gen.")


def plan_eks_cluster(
    name: str, settings: EksClusterSettings, minor: str, pools: Sequence[PoolPlan]
) -> EksClusterPlan:
    """What AWS is asked for, of a stack that has been found to be without errors.

    Args:
        name: The cluster's name in the stack file.
        settings: The cluster's.
        minor: Of its control plane and of all node groups.
        pools: All its planned pools.
    """
    create, access, adopt = settings.create, settings.access, settings.adopt
    whereabouts = _whereabouts(name, settings)
    return EksClusterPlan(
        name=name,
        adopts=None if adopt is None else adopt.name,
        region=settings.region,
        account=settings.account,
        kubernetes=minor,
        creates=None if create is None or access is None else _creation(settings, create, access),
        subnets=whereabouts.subnets,
        node_role=whereabouts.node_role,
        groups=tuple(_group(plan, settings, minor) for plan in pools),
    )


def _whereabouts(name: str, settings: EksClusterSettings) -> CreateEks | AdoptEks:
    found = settings.create or settings.adopt
    if found is None:
        raise ValueError(f"cluster {name} is neither created nor adopted")
    return found


def _creation(settings: EksClusterSettings, create: CreateEks, access: EksAccess) -> EksCreation:
    system, network = settings.system_pool, create.network
    family = system.machine.partition(".")[0] + "."
    arm = family.endswith(_GRAVITON)
    return EksCreation(
        network=None if network is None else EksNetworkPlan(cidr=network.cidr, zones=network.zones),
        cluster_role=create.cluster_role,
        support=settings.support,
        auto_mode=settings.auto_mode,
        public_ranges=access.public_ranges,
        admins=access.admins,
        addons=settings.addons,
        system=EksSystemGroupPlan(
            instance_type=system.machine,
            ami_type=f"AL2023_{'ARM_64' if arm else 'x86_64'}_STANDARD",
            least=system.nodes.min,
            most=system.nodes.max,
        ),
    )


def _group(plan: PoolPlan, settings: EksClusterSettings, minor: str) -> EksGroupPlan:
    pool = settings.pools[plan.name]
    kind, image = ami_type(plan.machine, pool), image_of(plan.machine, pool)
    bottlerocket = image is not None and image.system == "bottlerocket"
    return EksGroupPlan(
        key=plan.name,
        name=node_group_name(plan, pool, settings),
        instance_type=plan.machine.name,
        # An image of one's own has its release in it.
        version=None if kind == CUSTOM or pool.release else minor,
        release=pool.release,
        ami_type=kind,
        image_id=pool.image.id if isinstance(pool.image, OwnImage) else None,
        turns_plugin_off=image is not None and image.plugin and not (plan.by_plugin or pool.device_plugin),
        zones=zones_of(pool, settings),
        least=plan.min_nodes,
        most=plan.max_nodes,
        capacity=pool.capacity,
        reservation=pool.reservation,
        placed_together=placed_together(pool),
        cards=_cards(plan, pool),
        security_group=pool.security_group,
        # Bottlerocket keeps its system and the containers on two disks.
        disk_device="/dev/xvdb" if bottlerocket else "/dev/xvda",
        disk_gib=pool.disk,
        repair=pool.repair,
        upgrade=_upgrade(pool.upgrade),
        labels=plan.labels,
        taints=plan.taints,
    )


def _cards(plan: PoolPlan, pool: EksPoolSettings) -> tuple[str | None, ...] | None:
    """All network cards: the first one carries the node's address, the others nothing but EFA."""
    cards = drivers.traits(plan.machine).network_cards
    if not pool.efa or cards is None:
        return None
    return (None if cards.first else "efa", *("efa-only" for _ in range(1, cards.first + cards.count)))


def _upgrade(upgrade: EksUpgrade) -> EksUpgradePlan:
    parts = upgrade.unavailable
    return EksUpgradePlan(
        unavailable=None if parts.endswith("%") else int(parts),
        percent=int(parts[:-1]) if parts.endswith("%") else None,
        strategy=upgrade.strategy,
    )


def eks_arguments(settings: EksClusterSettings) -> Mapping[str, ChartValues]:
    """Return what settings pass on to the cloud unchanged, by pool; "" is the cluster."""
    create = settings.create
    if create is None:
        return {}
    found: dict[str, object] = {}
    if create.encryption_key is not None:
        found["encryptionConfig"] = {"provider": {"keyArn": create.encryption_key}, "resources": ["secrets"]}
    if create.logs:
        found["enabledClusterLogTypes"] = list(create.logs)
    return {"": found}
