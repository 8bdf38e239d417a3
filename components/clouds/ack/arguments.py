"""The plan of an ACK cluster as the SDK's typed arguments, field by field. Nothing is decided here.

Source: https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/developer-reference/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_alicloud import cs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pulumi

    from dra_fleet.clouds.ack.cluster_plan import AckClusterPlan, AckCreation, AckPoolPlan

_ADDONS = ("terway-eniip", "csi-plugin", "csi-provisioner")
"""The pods' network, and disks; ACK adds the other components by itself."""
_SERVICES = "172.16.0.0/16"


def cluster_arguments(
    plan: AckClusterPlan, creation: AckCreation, vswitches: Sequence[pulumi.Input[str]]
) -> cs.ManagedKubernetesArgs:
    """The arguments of a ManagedKubernetes.

    Args:
        plan: the whole cluster's.
        creation: what is asked for of one that is created.
        vswitches: those of its nodes and pods.
    """
    return cs.ManagedKubernetesArgs(
        name=plan.name,
        version=plan.version,
        cluster_spec=creation.edition,
        profile="Default",
        vswitch_ids=list(vswitches),
        pod_vswitch_ids=list(vswitches),
        service_cidr=_SERVICES,
        proxy_mode="ipvs",
        new_nat_gateway=creation.network is not None,
        slb_internet_enabled=creation.public,
        # It cannot be turned off again: pods get roles of RAM by their service accounts.
        enable_rrsa=True,
        # The client's key would be in the state.
        skip_set_certificate_authority=True,
        addons=[cs.ManagedKubernetesAddonArgs(name=addon) for addon in _ADDONS],
    )


def pool_arguments(
    pool: AckPoolPlan, cluster: pulumi.Input[str], vswitches: Mapping[str, pulumi.Input[str]]
) -> cs.NodePoolArgs:
    """The arguments of a NodePool.

    Args:
        pool: the node pool's plan.
        cluster: the cluster's id.
        vswitches: the cluster's by zone.
    """
    grows = pool.least < pool.most
    return cs.NodePoolArgs(
        cluster_id=cluster,
        node_pool_name=pool.name,
        instance_types=[pool.instance_type],
        vswitch_ids=[vswitches[zone] for zone in pool.zones],
        image_type=pool.image,
        runtime_name="containerd",
        # A number of nodes beside the autoscaler's bounds is refused.
        desired_size=None if grows else str(pool.least),
        scaling_config=cs.NodePoolScalingConfigArgs(
            enable=True, min_size=pool.least, max_size=pool.most, type=pool.kind
        )
        if grows
        else None,
        labels=[cs.NodePoolLabelArgs(key=key, value=value) for key, value in sorted(pool.labels.items())],
        taints=[
            cs.NodePoolTaintArgs(key=taint.key, value=taint.value or None, effect=taint.effect)
            for taint in pool.taints
        ],
        spot_strategy="SpotAsPriceGo" if pool.spot else "NoSpot",
        multi_az_policy="BALANCE",
        private_pool_options=None
        if pool.reservation is None
        else cs.NodePoolPrivatePoolOptionsArgs(
            private_pool_options_match_criteria="Target", private_pool_options_id=pool.reservation
        ),
        system_disk_category="cloud_essd",
        system_disk_size=pool.disk_gib,
        management=cs.NodePoolManagementArgs(enable=True, auto_repair=True),
        # Without it a pool that has nodes cannot be deleted, nor one that another replaces.
        force_delete=True,
    )
