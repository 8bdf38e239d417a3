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

from dra_fleet.clouds.eks.plan import SYSTEM_POOL
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulumi

    from dra_fleet.clouds.eks.cluster_plan import EksClusterPlan, EksCreation, EksGroupPlan
    from dra_fleet.kubernetes.scheduling.taints import Taint

    from .sizes import GroupSizes

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_MARKETS = {"SPOT": "spot", "CAPACITY_BLOCK": "capacity-block"}


@dataclass(frozen=True, kw_only=True)
class Joining:
    """What a node of an image of one's own must be told to join its cluster."""

    cluster: str
    endpoint: str
    authority: str
    service_range: str


@dataclass(frozen=True, kw_only=True)
class GroupHome:
    """Where the nodes of a group are, by AWS's names: their cluster, role, subnets, and how many they are."""

    cluster: pulumi.Input[str]
    role: pulumi.Input[str]
    subnets: Sequence[pulumi.Input[str]]
    sizes: GroupSizes


def cluster_arguments(
    plan: EksClusterPlan,
    creation: EksCreation,
    role: pulumi.Input[str],
    subnets: Sequence[pulumi.Input[str]],
) -> eks.ClusterArgs:
    """The arguments of a Cluster.

    Args:
        plan: the whole cluster's.
        creation: what is asked for of one that is created.
        role: the role of its control plane.
        subnets: those that its control plane reaches its nodes in.
    """
    return eks.ClusterArgs(
        name=plan.name,
        role_arn=role,
        vpc_config=_network(subnets, creation),
        version=plan.kubernetes,
        access_config=eks.ClusterAccessConfigArgs(
            authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
        ),
        upgrade_policy=eks.ClusterUpgradePolicyArgs(support_type=creation.support),
        bootstrap_self_managed_addons=False,
        compute_config=eks.ClusterComputeConfigArgs(enabled=True) if creation.auto_mode else None,
    )


def system_arguments(plan: EksClusterPlan, creation: EksCreation, home: GroupHome) -> eks.NodeGroupArgs:
    """The arguments of the system node group."""
    system = creation.system
    return eks.NodeGroupArgs(
        cluster_name=home.cluster,
        node_role_arn=home.role,
        subnet_ids=list(home.subnets),
        node_group_name=SYSTEM_POOL,
        version=plan.kubernetes,
        ami_type=system.ami_type,
        capacity_type="ON_DEMAND",
        instance_types=[system.instance_type],
        scaling_config=_scale(home.sizes, SYSTEM_POOL, system.least, system.most),
        labels={POOL: SYSTEM_POOL},
        taints=[eks.NodeGroupTaintArgs(key="CriticalAddonsOnly", value="true", effect="NO_SCHEDULE")],
        update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=True),
    )


def group_arguments(
    group: EksGroupPlan, home: GroupHome, template: eks.NodeGroupLaunchTemplateArgs
) -> eks.NodeGroupArgs:
    """The arguments of a NodeGroup."""
    return eks.NodeGroupArgs(
        cluster_name=home.cluster,
        node_role_arn=home.role,
        subnet_ids=list(home.subnets),
        node_group_name=group.name,
        launch_template=template,
        version=group.version,
        release_version=group.release,
        ami_type=group.ami_type,
        capacity_type=group.capacity,
        scaling_config=_scale(home.sizes, group.name, group.least, group.most),
        labels=dict(group.labels),
        taints=[
            eks.NodeGroupTaintArgs(key=taint.key, value=taint.value or None, effect=_EFFECTS[taint.effect])
            for taint in group.taints
        ],
        update_config=eks.NodeGroupUpdateConfigArgs(
            max_unavailable=group.upgrade.unavailable,
            max_unavailable_percentage=group.upgrade.percent,
            update_strategy=group.upgrade.strategy,
        ),
        node_repair_config=eks.NodeGroupNodeRepairConfigArgs(enabled=group.repair),
    )


def template_arguments(
    group: EksGroupPlan,
    groups: Sequence[pulumi.Input[str]],
    placement: pulumi.Input[str] | None,
    user_data: pulumi.Input[str] | None,
) -> ec2.LaunchTemplateArgs:
    """The arguments of a LaunchTemplate.

    Args:
        group: the node group's plan.
        groups: the security groups of its network cards.
        placement: the name of its placement group.
        user_data: what its nodes are told.
    """
    target = ec2.LaunchTemplateCapacityReservationSpecificationCapacityReservationTargetArgs(
        capacity_reservation_id=group.reservation
    )
    market = _MARKETS.get(group.capacity)
    return ec2.LaunchTemplateArgs(
        instance_type=group.instance_type,
        image_id=group.image_id,
        update_default_version=True,
        user_data=user_data,
        # Of a spot group EKS asks for spot machines itself, and refuses a template that does.
        instance_market_options=ec2.LaunchTemplateInstanceMarketOptionsArgs(market_type=market)
        if market == _MARKETS["CAPACITY_BLOCK"]
        else None,
        capacity_reservation_specification=ec2.LaunchTemplateCapacityReservationSpecificationArgs(
            capacity_reservation_target=target
        )
        if group.reservation
        else None,
        network_interfaces=None if group.cards is None else _cards(group.cards, groups),
        placement=None if placement is None else ec2.LaunchTemplatePlacementArgs(group_name=placement),
        metadata_options=ec2.LaunchTemplateMetadataOptionsArgs(
            http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=2
        ),
        block_device_mappings=[
            ec2.LaunchTemplateBlockDeviceMappingArgs(
                device_name=group.disk_device,
                ebs=ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                    volume_size=group.disk_gib,
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


def joining(told: Joining, group: EksGroupPlan) -> str:
    """What an image of one's own is told, as user data. EKS adds nothing to it, not even labels."""
    labels = ",".join(f"{key}={value}" for key, value in group.labels.items())
    flags = [f"--node-labels={labels}"]
    if group.taints:
        flags.append(f"--register-with-taints={','.join(_written(taint) for taint in group.taints)}")
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


def _network(subnets: Sequence[pulumi.Input[str]], creation: EksCreation) -> eks.ClusterVpcConfigArgs:
    """Where the control plane is reached from."""
    ranges = list(creation.public_ranges)
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
