"""From the settings of an EKS cluster and its planned pools to what AWS is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clouds.eks.cluster_plan import (
    EksClusterPlan,
    EksCreation,
    EksGroupPlan,
    EksNetworkPlan,
    EksSystemGroupPlan,
    EksUpgradePlan,
)
from dra_fleet.clouds.eks.pools import CUSTOM, ami_type, image_of, node_group_name, placed_together, zones_of
from dra_fleet.clouds.eks.settings import OwnImage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clouds.eks.settings import (
        AdoptEks,
        CreateEks,
        EksAccess,
        EksClusterSettings,
        EksPoolSettings,
        EksUpgrade,
    )
    from dra_fleet.model.plan import PoolPlan

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
