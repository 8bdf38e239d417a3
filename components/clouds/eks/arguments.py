"""An EKS cluster and its node groups as the SDK's typed arguments, field by field.

Source: https://docs.aws.amazon.com/eks/latest/APIReference/ and
https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_aws import ec2, eks

from dra_fleet import drivers
from dra_fleet.clouds.eks import CLOUD
from dra_fleet.clouds.eks.plan import CUSTOM, SYSTEM_POOL, ami_type, image_of, node_group_name, zones_of
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi

    from dra_fleet.clouds.eks.facts import EksImage
    from dra_fleet.clouds.eks.settings import (
        EksAccess,
        EksClusterSettings,
        EksPoolSettings,
        EksSystemPool,
        EksUpgrade,
    )
    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

    from .sizes import GroupSizes

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_CAPACITY_BLOCK = "CAPACITY_BLOCK"
_GRAVITON = ("g.", "gd.", "gn.", "gb.", "gen.")


@dataclass(frozen=True, kw_only=True)
class Group:
    """A node group: the plan of its pool in the plan of its cluster."""

    cluster: ClusterPlan
    plan: PoolPlan

    @property
    def settings(self) -> EksClusterSettings:
        """The settings of the cluster."""
        return CLOUD.own(self.cluster.settings)

    @property
    def pool(self) -> EksPoolSettings:
        """The settings of the pool."""
        return self.settings.pools[self.plan.name]

    @property
    def name(self) -> str:
        """The name in AWS."""
        return node_group_name(self.plan, self.pool, self.settings)

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones of the nodes."""
        return zones_of(self.pool, self.settings)

    @property
    def image(self) -> EksImage | None:
        """Catalogue entry of the AMI type; None for a custom image."""
        return image_of(self.plan.machine, self.pool)

    @property
    def cards(self) -> tuple[str | None, ...] | None:
        """The kind of each network card, None for a usual one; no cards where AWS chooses.

        The first one carries the node's address, the others nothing but EFA.
        """
        cards = drivers.traits(self.plan.machine).network_cards
        if not self.pool.efa or cards is None:
            return None
        return (None if cards.first else "efa", *("efa-only" for _ in range(1, cards.first + cards.count)))


@dataclass(frozen=True, kw_only=True)
class Joining:
    """Values that a node with a custom image needs to join its cluster."""

    cluster: str
    endpoint: str
    authority: str
    service_range: str


@dataclass(frozen=True, kw_only=True)
class GroupHome:
    """Location of a group's nodes, by AWS's names: their cluster, role, subnets, and number."""

    cluster: pulumi.Input[str]
    role: pulumi.Input[str]
    subnets: Sequence[pulumi.Input[str]]
    sizes: GroupSizes


def cluster_arguments(
    plan: ClusterPlan,
    access: EksAccess,
    role: pulumi.Input[str],
    subnets: Sequence[pulumi.Input[str]],
) -> eks.ClusterArgs:
    """Return the arguments of a Cluster.

    Args:
        plan: the cluster's.
        access: the settings of its API server.
        role: the role of its control plane.
        subnets: those that its control plane reaches its nodes in.
    """
    settings = CLOUD.own(plan.settings)
    return eks.ClusterArgs(
        name=plan.name,
        role_arn=role,
        vpc_config=_network(subnets, access),
        version=plan.kubernetes,
        access_config=eks.ClusterAccessConfigArgs(
            authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
        ),
        upgrade_policy=eks.ClusterUpgradePolicyArgs(support_type=settings.support),
        bootstrap_self_managed_addons=False,
        compute_config=eks.ClusterComputeConfigArgs(enabled=True) if settings.auto_mode else None,
    )


def system_arguments(system: EksSystemPool, minor: str, home: GroupHome) -> eks.NodeGroupArgs:
    """Return the arguments of the system node group; `minor` is the cluster's Kubernetes version."""
    arm = f"{system.machine.partition('.')[0]}.".endswith(_GRAVITON)
    return eks.NodeGroupArgs(
        cluster_name=home.cluster,
        node_role_arn=home.role,
        subnet_ids=list(home.subnets),
        node_group_name=SYSTEM_POOL,
        version=minor,
        ami_type=f"AL2023_{'ARM_64' if arm else 'x86_64'}_STANDARD",
        capacity_type="ON_DEMAND",
        instance_types=[system.machine],
        scaling_config=_scale(home.sizes, SYSTEM_POOL, system.nodes.min, system.nodes.max),
        labels={POOL: SYSTEM_POOL},
        taints=[eks.NodeGroupTaintArgs(key="CriticalAddonsOnly", value="true", effect="NO_SCHEDULE")],
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=True),
    )


def group_arguments(
    group: Group, home: GroupHome, template: eks.NodeGroupLaunchTemplateArgs
) -> eks.NodeGroupArgs:
    """Return the arguments of a NodeGroup."""
    plan, pool = group.plan, group.pool
    kind = ami_type(plan.machine, pool)
    return eks.NodeGroupArgs(
        cluster_name=home.cluster,
        node_role_arn=home.role,
        subnet_ids=list(home.subnets),
        node_group_name=group.name,
        launch_template=template,
        # A custom image contains its release.
        version=None if kind == CUSTOM or pool.release else group.cluster.kubernetes,
        release_version=pool.release,
        ami_type=kind,
        capacity_type=pool.capacity,
        scaling_config=_scale(home.sizes, group.name, plan.min_nodes, plan.max_nodes),
        labels=dict(plan.labels),
        taints=[
            eks.NodeGroupTaintArgs(key=taint.key, value=taint.value or None, effect=_EFFECTS[taint.effect])
            for taint in plan.taints
        ],
        update_config=_upgrade(pool.upgrade),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=pool.repair),
    )


def template_arguments(
    group: Group,
    groups: Sequence[pulumi.Input[str]],
    placement: pulumi.Input[str] | None,
    user_data: pulumi.Input[str] | None,
) -> ec2.LaunchTemplateArgs:
    """Return the arguments of a LaunchTemplate.

    Args:
        group: the node group.
        groups: the security groups of its network cards.
        placement: the name of its placement group.
        user_data: what its nodes are reported.
    """
    pool, image = group.pool, group.image
    target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=pool.reservation
    )
    # Bottlerocket keeps its system and the containers on two disks.
    disk = "/dev/xvdb" if image is not None and image.system == "bottlerocket" else "/dev/xvda"
    return ec2.LaunchTemplateArgs(
        instance_type=group.plan.machine.name,
        image_id=pool.image.id if isinstance(pool.image, OwnImage) else None,
        update_default_version=True,
        user_data=user_data,
        # Of a spot group EKS requests spot machines itself, and refuses a template that does.
        instance_market_options=ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type="capacity-block")
        if pool.capacity == _CAPACITY_BLOCK
        else None,
        capacity_reservation_specification=ec2.LaunchTemplateCapacityReservationSpecificationArgs(
            capacity_reservation_target=target
        )
        if pool.reservation
        else None,
        network_interfaces=None if group.cards is None else _cards(group.cards, groups),
        placement=None if placement is None else ec2.LaunchTemplatePlacementArgs(group_name=placement),
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2
        ),
        block_device_mappings=[
            ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name=disk,
                ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_size=pool.disk,
                    volume_type="gp3",
                    encrypted="true",
                    delete_on_termination="true",
                ),
            )
        ],
    )


def plugin_off() -> str:
    """Bottlerocket's settings that turn its device plugin off, as user data."""
    return _encoded("[settings.kubelet-device-plugins.nvidia]\nenabled = false\n")


def joining(reported: Joining, plan: PoolPlan) -> str:
    """Return the user data of a custom image. EKS adds nothing to it, not even labels."""
    labels = ",".join(f"{key}={value}" for key, value in plan.labels.items())
    flags = [f"--node-labels={labels}"]
    if plan.taints:
        flags.append(f"--register-with-taints={','.join(_written(taint) for taint in plan.taints)}")
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": reported.cluster,
                "apiServerEndpoint": reported.endpoint,
                "certificateAuthority": reported.authority,
                "cidr": reported.service_range,
            },
            "kubelet": {"flags": flags},
        },
    }
    part = json.dumps(config, indent=1, sort_keys=True)
    return _encoded(
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
        f"--//\nContent-Type: application/node.eks.aws\n\n{part}\n\n--//--\n"
    )


def _upgrade(upgrade: EksUpgrade) -> eks.NodeGroupUpdateConfigArgs:
    """Return the nodes that may be missing during an upgrade: a number, or a part in percent."""
    part = upgrade.unavailable
    return eks.NodeGroupUpdateConfigArgs(
        max_unavailable=None if part.endswith("%") else int(part),
        max_unavailable_percentage=int(part[:-1]) if part.endswith("%") else None,
        update_strategy=upgrade.strategy,
    )


def _network(subnets: Sequence[pulumi.Input[str]], access: EksAccess) -> eks.ClusterVpcConfigArgs:
    """Return the access to the control plane."""
    ranges = list(access.public_ranges)
    return eks.ClusterVpcConfigArgs(
        subnet_ids=list(subnets),
        endpoint_private_access=True,
        endpoint_public_access=bool(ranges),
        public_access_cidrs=ranges or None,
    )


def _cards(
    kinds: Sequence[str | None], groups: Sequence[pulumi.Input[str]]
) -> list[ec2.LaunchTemplateNetworkInterfaceArgs]:
    return [
        ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=card,
            device_index=0 if card == 0 else 1,
            interface_type=kind,
            security_groups=list(groups),
            delete_on_termination="true",
        )
        for card, kind in enumerate(kinds)
    ]


def _scale(sizes: GroupSizes, group: str, least: int, most: int) -> eks.NodeGroupScalingConfigArgs:
    desired = sizes.desired(group, least, most)
    return eks.NodeGroupScalingConfigArgs(min_size=least, desired_size=desired, max_size=most)


def _written(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
