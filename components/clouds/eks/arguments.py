"""The plan of an EKS cluster as the SDK's typed arguments, field by field. Nothing is decided here.

Source: https://docs.aws.amazon.com/eks/latest/APIReference/ and
https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pulumi_aws import ec2, eks

from dra_fleet.clouds.eks.pools import CUSTOM, ami_type, image_of, node_group_name
from dra_fleet.clouds.eks.releases import SYSTEM_POOL
from dra_fleet.clouds.eks.settings import OwnImage
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi

    from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.model.plan import PoolPlan

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_MARKETS = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}
_GRAVITON = ("g.", "gd.", "gn.", "gb.", "gen.")


@dataclass(frozen=True, kw_only=True)
class Joining:
    """What a node of an image of one's own must be told to join its cluster."""

    cluster: str
    endpoint: str
    authority: str
    service_range: str


@dataclass(frozen=True, kw_only=True)
class GroupHome:
    """Where the nodes of a group are, by AWS's names: their cluster, role and subnets."""

    cluster: pulumi.Input[str]
    role: pulumi.Input[str]
    subnets: Sequence[pulumi.Input[str]]


def cluster_arguments(
    name: str,
    kubernetes: str,
    settings: EksClusterSettings,
    role: pulumi.Input[str],
    subnets: Sequence[pulumi.Input[str]],
) -> eks.ClusterArgs:
    """The arguments of a Cluster.

    Args:
        name: its name in AWS.
        kubernetes: its minor.
        settings: its section of the stack file.
        role: the role of its control plane.
        subnets: those that its control plane reaches its nodes in.
    """
    return eks.ClusterArgs(
        name=name,
        role_arn=role,
        vpc_config=_network(subnets, settings),
        version=kubernetes,
        access_config=eks.ClusterAccessConfigArgs(
            authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
        ),
        upgrade_policy=eks.ClusterUpgradePolicyArgs(support_type=settings.support),
        bootstrap_self_managed_addons=False,
        compute_config=eks.ClusterComputeConfigArgs(enabled=True) if settings.auto_mode else None,
    )


def system_arguments(kubernetes: str, settings: EksClusterSettings, home: GroupHome) -> eks.NodeGroupArgs:
    """The arguments of the system node group."""
    machine, nodes = settings.system_pool.machine, settings.system_pool.nodes
    family = machine.partition(".")[0] + "."
    arm = family.endswith(_GRAVITON)
    return eks.NodeGroupArgs(
        cluster_name=home.cluster,
        node_role_arn=home.role,
        subnet_ids=list(home.subnets),
        node_group_name=SYSTEM_POOL,
        version=kubernetes,
        ami_type=f"AL2023_{'ARM_64' if arm else 'x86_64'}_STANDARD",
        capacity_type="ON_DEMAND",
        instance_types=[machine],
        scaling_config=_scale(nodes.min, nodes.max),
        labels={POOL: SYSTEM_POOL},
        taints=[eks.NodeGroupTaintArgs(key="CriticalAddonsOnly", value="true", effect="NO_SCHEDULE")],
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=True),
    )


def group_arguments(
    kubernetes: str,
    plan: PoolPlan,
    settings: EksClusterSettings,
    home: GroupHome,
    template: eks.NodeGroupLaunchTemplateArgs,
) -> eks.NodeGroupArgs:
    """The arguments of a NodeGroup."""
    pool = settings.pools[plan.name]
    kind = ami_type(plan.machine, pool)
    parts = pool.upgrade.unavailable
    return eks.NodeGroupArgs(
        cluster_name=home.cluster,
        node_role_arn=home.role,
        subnet_ids=list(home.subnets),
        node_group_name=node_group_name(plan, pool, settings),
        launch_template=template,
        # An image of one's own has its release in it.
        version=None if kind == CUSTOM or pool.release else kubernetes,
        release_version=pool.release,
        ami_type=kind,
        capacity_type=pool.capacity,
        scaling_config=_scale(plan.min_nodes, plan.max_nodes),
        labels=dict(plan.labels),
        taints=[
            eks.NodeGroupTaintArgs(key=taint.key, value=taint.value or None, effect=_EFFECTS[taint.effect])
            for taint in plan.taints
        ],
        update_config=eks.NodeGroupUpdateConfigArgs(
            max_unavailable=None if parts.endswith("%") else int(parts),
            max_unavailable_percentage=int(parts[:-1]) if parts.endswith("%") else None,
            update_strategy=pool.upgrade.strategy,
        ),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=pool.repair),
    )


def template_arguments(
    plan: PoolPlan,
    pool: EksPoolSettings,
    groups: Sequence[pulumi.Input[str]],
    placement: pulumi.Input[str] | None,
    user_data: pulumi.Input[str] | None,
) -> ec2.LaunchTemplateArgs:
    """The arguments of a LaunchTemplate.

    Args:
        plan: the pool's plan.
        pool: the pool's settings.
        groups: the security groups of its network cards.
        placement: the name of its placement group.
        user_data: what its nodes are told.
    """
    image = image_of(plan.machine, pool)
    bottlerocket = image is not None and image.system == "bottlerocket"
    target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=pool.reservation
    )
    market = _MARKETS.get(pool.capacity)
    return ec2.LaunchTemplateArgs(
        instance_type=plan.machine.name,
        image_id=pool.image.id if isinstance(pool.image, OwnImage) else None,
        update_default_version=True,
        user_data=user_data,
        # Of a spot group EKS asks for spot machines itself, and refuses a template that does.
        instance_market_options=ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type=market)
        if market == _MARKETS["CAPACITY_BLOCK"]
        else None,
        capacity_reservation_specification=ec2.LaunchTemplateCapacityReservationSpecificationArgs(
            capacity_reservation_target=target
        )
        if pool.reservation
        else None,
        network_interfaces=_cards(plan, groups) if pool.efa else None,
        placement=None if placement is None else ec2.LaunchTemplatePlacementArgs(group_name=placement),
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2
        ),
        block_device_mappings=[
            ec2.LaunchTemplateBlockDeviceMappingArgs(
                # Bottlerocket keeps its system and the containers on two disks.
                device_name="/dev/xvdb" if bottlerocket else "/dev/xvda",
                ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_size=pool.disk, volume_type="gp3", encrypted="true", delete_on_termination="true"
                ),
            )
        ],
    )


def plugin_off() -> str:
    """Bottlerocket's settings that turn its device plugin off, as user data."""
    return _encoded("[settings.kubelet-device-plugins.nvidia]\nenabled = false\n")


def joining(told: Joining, plan: PoolPlan) -> str:
    """What an image of one's own is told, as user data. EKS adds nothing to it, not even labels."""
    labels = ",".join(f"{key}={value}" for key, value in plan.labels.items())
    flags = [f"--node-labels={labels}"]
    if plan.taints:
        flags.append(f"--register-with-taints={','.join(_written(taint) for taint in plan.taints)}")
    config = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {
            "cluster": {
                "name": told.cluster,
                "apiServerEndpoint": told.endpoint,
                "certificateAuthority": told.authority,
                "cidr": told.service_range,
            },
            "kubelet": {"flags": flags},
        },
    }
    part = json.dumps(config, indent=1, sort_keys=True)
    return _encoded(
        'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="//"\n\n'
        f"--//\nContent-Type: application/node.eks.aws\n\n{part}\n\n--//--\n"
    )


def _network(subnets: Sequence[pulumi.Input[str]], settings: EksClusterSettings) -> eks.ClusterVpcConfigArgs:
    """Where the control plane is reached from."""
    access = settings.access
    ranges: list[pulumi.Input[str]] = list(access.public_ranges) if access else []
    return eks.ClusterVpcConfigArgs(
        subnet_ids=list(subnets),
        endpoint_private_access=True,
        endpoint_public_access=bool(ranges),
        public_access_cidrs=ranges or None,
    )


def _cards(
    plan: PoolPlan, groups: Sequence[pulumi.Input[str]]
) -> list[ec2.LaunchTemplateNetworkInterfaceArgs]:
    """All network cards: the first one carries the node's address, the others nothing but EFA."""
    first = plan.machine.efa_from
    return [
        ec2.LaunchTemplateNetworkInterfaceArgs(
            network_card_index=card,
            device_index=0 if card == 0 else 1,
            interface_type=_card_type(card, first),
            security_groups=list(groups),
            delete_on_termination="true",
        )
        for card in range(first + plan.efa)
    ]


def _card_type(card: int, first: int) -> str | None:
    if card:
        return "efa-only"
    return None if first else "efa"


def _scale(least: int, most: int) -> eks.NodeGroupScalingConfigArgs:
    return eks.NodeGroupScalingConfigArgs(min_size=least, desired_size=least, max_size=most)


def _written(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
