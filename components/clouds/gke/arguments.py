"""The plan of a GKE cluster as the SDK's typed arguments, field by field. Nothing is decided here.

Source: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pulumi_gcp import container

from dra_fleet.clouds.gke.cluster_plan import SYSTEM_POOL

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.clouds.gke.cluster_plan import (
        GkeClusterPlan,
        GkeCreation,
        GkeGpus,
        GkeMaintenance,
        GkePoolPlan,
        GkeScale,
        GkeSurge,
        GkeSystemPoolPlan,
    )

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_RESERVATION_KEY = "compute.googleapis.com/reservation-name"
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
"""What a node may do is decided by IAM, not by scopes: https://cloud.google.com/compute/docs/access/service-accounts"""


def cluster_arguments(
    plan: GkeClusterPlan,
    creation: GkeCreation,
    network: pulumi.Input[str],
    subnetwork: pulumi.Input[str] | None,
) -> container.ClusterArgs:
    """The arguments of a Cluster.

    Args:
        plan: of the cluster.
        creation: of the cluster, whose networks may be outputs of another stack.
        network: the one that is meant.
        subnetwork: the one that is meant.
    """
    return container.ClusterArgs(
        name=plan.name,
        project=plan.project,
        location=plan.location,
        min_master_version=creation.version,
        release_channel=container.ClusterReleaseChannelArgs(channel=creation.channel),
        maintenance_policy=None if creation.maintenance is None else _maintenance(creation.maintenance),
        # Pools are resources of their own; GKE cannot make a cluster without its default one.
        remove_default_node_pool=True,
        initial_node_count=1,
        # Production clusters are protected by the engine; a second lock would have to be opened by hand.
        deletion_protection=False,
        network=network,
        subnetwork=subnetwork,
        networking_mode="VPC_NATIVE",
        ip_allocation_policy=container.ClusterIpAllocationPolicyArgs(),
        datapath_provider=creation.datapath,
        enable_multi_networking=creation.multi_networked or None,
        workload_identity_config=container.ClusterWorkloadIdentityConfigArgs(
            workload_pool=f"{plan.project}.svc.id.goog"
        ),
        private_cluster_config=container.ClusterPrivateClusterConfigArgs(
            enable_private_nodes=creation.private_nodes
        ),
        control_plane_endpoints_config=container.ClusterControlPlaneEndpointsConfigArgs(
            dns_endpoint_config=container.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
                allow_external_traffic=creation.external
            ),
            ip_endpoints_config=container.ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs(
                enabled=False
            ),
        ),
    )


def system_pool_arguments(
    cluster: pulumi.Input[str], plan: GkeClusterPlan, system: GkeSystemPoolPlan
) -> container.NodePoolArgs:
    """The arguments of the pool of the cluster's own pods."""
    scale = system.scale
    return container.NodePoolArgs(
        cluster=cluster,
        name=SYSTEM_POOL,
        project=plan.project,
        location=plan.location,
        node_locations=list(system.zones) or None,
        node_count=None if scale.totals else scale.each,
        initial_node_count=scale.each if scale.totals else None,
        autoscaling=_autoscaling(scale),
        management=container.NodePoolManagementArgs(auto_repair=True, auto_upgrade=system.auto_upgrade),
        node_config=container.NodePoolNodeConfigArgs(
            machine_type=system.machine_type,
            image_type="COS_CONTAINERD",
            oauth_scopes=_SCOPES,
            workload_metadata_config=container.NodePoolNodeConfigWorkloadMetadataConfigArgs(
                mode="GKE_METADATA"
            ),
        ),
    )


def pool_arguments(
    cluster: pulumi.Input[str], plan: GkeClusterPlan, pool: GkePoolPlan
) -> container.NodePoolArgs:
    """The arguments of a NodePool."""
    scale, placement = pool.scale, pool.placement
    return container.NodePoolArgs(
        cluster=cluster,
        name=pool.name,
        project=plan.project,
        location=plan.location,
        node_locations=list(pool.zones) or None,
        node_count=None if scale.totals else scale.each,
        initial_node_count=scale.each if scale.totals else None,
        autoscaling=_autoscaling(scale),
        management=container.NodePoolManagementArgs(
            auto_repair=pool.auto_repair, auto_upgrade=pool.auto_upgrade
        ),
        upgrade_settings=_upgrade(pool.surge),
        placement_policy=None
        if placement is None
        else container.NodePoolPlacementPolicyArgs(
            type="COMPACT", policy_name=placement.policy, tpu_topology=placement.topology
        ),
        queued_provisioning=container.NodePoolQueuedProvisioningArgs(enabled=True) if pool.queued else None,
        network_config=_network(pool),
        node_config=_nodes(pool),
    )


def _nodes(pool: GkePoolPlan) -> container.NodePoolNodeConfigArgs:
    return container.NodePoolNodeConfigArgs(
        machine_type=pool.machine_type,
        image_type=pool.image,
        disk_size_gb=pool.disk_gib,
        spot=pool.spot or None,
        flex_start=pool.flex_start or None,
        max_run_duration=pool.max_run_duration,
        reservation_affinity=_reservation(pool),
        guest_accelerators=None if pool.gpus is None else [_accelerator(pool.gpus)],
        labels=dict(pool.labels),
        taints=[
            container.NodePoolNodeConfigTaintArgs(
                key=taint.key, value=taint.value, effect=_EFFECTS[taint.effect]
            )
            for taint in pool.taints
        ],
        oauth_scopes=_SCOPES,
        workload_metadata_config=container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
    )


def _maintenance(window: GkeMaintenance) -> container.ClusterMaintenancePolicyArgs:
    return container.ClusterMaintenancePolicyArgs(
        recurring_window=container.ClusterMaintenancePolicyRecurringWindowArgs(
            start_time=window.start, end_time=window.end, recurrence=window.recurrence
        )
    )


def _autoscaling(scale: GkeScale) -> container.NodePoolAutoscalingArgs | None:
    if scale.totals is None:
        return None
    least, most = scale.totals
    return container.NodePoolAutoscalingArgs(
        total_min_node_count=least,
        total_max_node_count=most,
        location_policy="ANY" if scale.anywhere else "BALANCED",
    )


def _upgrade(surge: GkeSurge | None) -> container.NodePoolUpgradeSettingsArgs:
    if surge is None:
        return container.NodePoolUpgradeSettingsArgs(
            strategy="BLUE_GREEN",
            blue_green_settings=container.NodePoolUpgradeSettingsBlueGreenSettingsArgs(
                standard_rollout_policy=container.NodePoolUpgradeSettingsBlueGreenSettingsStandardRolloutPolicyArgs(
                    batch_node_count=1
                )
            ),
        )
    return container.NodePoolUpgradeSettingsArgs(
        strategy="SURGE", max_surge=surge.more, max_unavailable=surge.fewer
    )


def _network(pool: GkePoolPlan) -> container.NodePoolNetworkConfigArgs | None:
    if not (pool.dranet or pool.networks):
        return None
    return container.NodePoolNetworkConfigArgs(
        accelerator_network_profile="auto" if pool.dranet else None,
        additional_node_network_configs=[
            container.NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs(network=network)
            for network in pool.networks
        ]
        or None,
    )


def _reservation(pool: GkePoolPlan) -> container.NodePoolNodeConfigReservationAffinityArgs | None:
    reserved = pool.reserved
    if reserved is None:
        return None
    return container.NodePoolNodeConfigReservationAffinityArgs(
        consume_reservation_type=reserved.consume,
        key=_RESERVATION_KEY if reserved.names else None,
        values=list(reserved.names) or None,
    )


def _accelerator(gpus: GkeGpus) -> container.NodePoolNodeConfigGuestAcceleratorArgs:
    sharing = gpus.sharing
    return container.NodePoolNodeConfigGuestAcceleratorArgs(
        type=gpus.kind,
        count=gpus.count,
        gpu_driver_installation_config=None
        if gpus.driver_version is None
        else container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
            gpu_driver_version=gpus.driver_version
        ),
        gpu_partition_size=gpus.partition_size,
        gpu_sharing_config=None
        if sharing is None
        else container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
            gpu_sharing_strategy=sharing.strategy, max_shared_clients_per_gpu=sharing.clients
        ),
    )
