"""A GKE cluster and its pools as the SDK's typed arguments, field by field.

Source: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pulumi_gcp import container

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.clouds.gke.plan import AUTOMATIC, SYSTEM_POOL, pool_name, zones_of

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.clouds.gke.settings import (
        CreateGkeCluster,
        GkeAccess,
        GkeClusterSettings,
        GkePoolSettings,
        GkePoolUpgrade,
        GkeWindow,
    )
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_RESERVATION_KEY = "compute.googleapis.com/reservation-name"
_DRIVERS = {"installer": "INSTALLATION_DISABLED", "external": "INSTALLATION_DISABLED", "gke": "DEFAULT"}
_MONDAY = dt.date(2026, 1, 5)
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
"""Scopes of a node; IAM decides its rights: https://cloud.google.com/compute/docs/access/service-accounts"""


def cluster_arguments(
    plan: ClusterPlan,
    create: CreateGkeCluster,
    access: GkeAccess,
    *,
    network: pulumi.Input[str],
    subnetwork: pulumi.Input[str] | None,
) -> container.ClusterArgs:
    """Return the arguments of a Cluster.

    Args:
        plan: of the cluster.
        create: the settings of one that is created.
        access: the settings of its API server.
        network: the network of its nodes.
        subnetwork: their subnetwork.
    """
    settings = CLOUD.own(plan.settings)
    window = settings.upgrades.window
    return container.ClusterArgs(
        name=plan.name,
        project=settings.project,
        location=settings.location,
        min_master_version=settings.version or plan.kubernetes,
        release_channel=container.ClusterReleaseChannelArgs(channel=settings.upgrades.channel),
        maintenance_policy=None if window is None else _maintenance(window),
        # Pools are separate resources; GKE cannot make a cluster without its default one.
        remove_default_node_pool=True,
        initial_node_count=1,
        # Production clusters are protected by the engine; a second lock would have to be opened by hand.
        deletion_protection=False,
        network=network,
        subnetwork=subnetwork,
        networking_mode="VPC_NATIVE",
        ip_allocation_policy=container.ClusterIpAllocationPolicyArgs(),
        cluster_autoscaling=None
        if create.autoscaling_profile == "BALANCED"
        else container.ClusterClusterAutoscalingArgs(
            enabled=False, autoscaling_profile=create.autoscaling_profile
        ),
        datapath_provider=settings.datapath,
        enable_multi_networking=has_networks(settings) or None,
        workload_identity_config=container.ClusterWorkloadIdentityConfigArgs(
            workload_pool=f"{settings.project}.svc.id.goog"
        ),
        private_cluster_config=container.ClusterPrivateClusterConfigArgs(
            enable_private_nodes=create.private_nodes
        ),
        control_plane_endpoints_config=container.ClusterControlPlaneEndpointsConfigArgs(
            dns_endpoint_config=container.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
                allow_external_traffic=access.external
            ),
            ip_endpoints_config=container.ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs(
                enabled=False
            ),
        ),
    )


def has_networks(settings: GkeClusterSettings) -> bool:
    """Return whether any pool has networks beside the cluster's."""
    return any(pool.dranet or pool.additional_networks for pool in settings.pools.values())


def system_pool_arguments(cluster: pulumi.Input[str], settings: GkeClusterSettings) -> container.NodePoolArgs:
    """Return the arguments of the pool of the cluster's own pods."""
    system = settings.system_pool
    least, most = system.nodes.min, system.nodes.max
    each = _each(least, system.zones, settings)
    return container.NodePoolArgs(
        cluster=cluster,
        name=SYSTEM_POOL,
        project=settings.project,
        location=settings.location,
        node_locations=list(system.zones) or None,
        node_count=each if least == most else None,
        initial_node_count=each if least < most else None,
        autoscaling=_autoscaling(least, most, anywhere=False),
        management=container.NodePoolManagementArgs(auto_repair=True, auto_upgrade=_has_channel(settings)),
        node_config=container.NodePoolNodeConfigArgs(
            machine_type=system.machine,
            image_type="COS_CONTAINERD",
            oauth_scopes=_SCOPES,
            workload_metadata_config=container.NodePoolNodeConfigWorkloadMetadataConfigArgs(
                mode="GKE_METADATA"
            ),
        ),
    )


def pool_arguments(
    cluster: pulumi.Input[str], settings: GkeClusterSettings, plan: PoolPlan
) -> container.NodePoolArgs:
    """Return the arguments of a NodePool."""
    pool = settings.pools[plan.name]
    placement, upgrade = pool.placement, pool.upgrade
    least, most = plan.min_nodes, plan.max_nodes
    each = _each(least, pool.zones, settings)
    return container.NodePoolArgs(
        cluster=cluster,
        name=pool_name(plan, pool),
        project=settings.project,
        location=settings.location,
        node_locations=list(pool.zones) or None,
        node_count=each if least == most else None,
        initial_node_count=each if least < most else None,
        autoscaling=_autoscaling(least, most, anywhere=_is_borrowed(pool)),
        management=container.NodePoolManagementArgs(
            auto_repair=pool.auto_repair,
            auto_upgrade=_has_channel(settings) if upgrade.auto is None else upgrade.auto,
        ),
        upgrade_settings=_upgrade(upgrade),
        placement_policy=container.NodePoolPlacementPolicyArgs(
            type="COMPACT", policy_name=placement.policy, tpu_topology=placement.topology
        )
        if placement is not None and (placement.compact or placement.policy)
        else None,
        queued_provisioning=container.NodePoolQueuedProvisioningArgs(enabled=True) if pool.queued else None,
        network_config=_network(pool),
        node_config=_nodes(plan, pool),
    )


def _nodes(plan: PoolPlan, pool: GkePoolSettings) -> container.NodePoolNodeConfigArgs:
    return container.NodePoolNodeConfigArgs(
        machine_type=plan.machine.cloud_type,
        image_type=pool.image,
        disk_size_gb=pool.disk_gib,
        spot=pool.spot or None,
        flex_start=pool.flex_start or None,
        max_run_duration=pool.max_run_duration,
        reservation_affinity=_reservation(pool),
        guest_accelerators=_accelerators(plan, pool),
        labels=dict(plan.labels),
        taints=[
            container.NodePoolNodeConfigTaintArgs(
                key=taint.key, value=taint.value, effect=_EFFECTS[taint.effect]
            )
            for taint in plan.taints
            if taint.key not in AUTOMATIC
        ],
        oauth_scopes=_SCOPES,
        workload_metadata_config=container.NodePoolNodeConfigWorkloadMetadataConfigArgs(mode="GKE_METADATA"),
    )


def _maintenance(window: GkeWindow) -> container.ClusterMaintenancePolicyArgs:
    """Return a weekly window: its first occurrence in UTC, and its RFC 5545 recurrence rule."""
    days = [day[:2].upper() for day in dict.fromkeys(window.days)]
    start = dt.datetime.combine(_MONDAY, dt.time.fromisoformat(window.start), dt.UTC)
    written = "%Y-%m-%dT%H:%M:%SZ"
    return container.ClusterMaintenancePolicyArgs(
        recurring_window=container.ClusterMaintenancePolicyRecurringWindowArgs(
            start_time=start.strftime(written),
            end_time=(start + dt.timedelta(hours=window.hours)).strftime(written),
            recurrence=f"FREQ=WEEKLY;BYDAY={','.join(days)}",
        )
    )


def _has_channel(settings: GkeClusterSettings) -> bool:
    return settings.upgrades.channel != "UNSPECIFIED"


def _is_borrowed(pool: GkePoolSettings) -> bool:
    """Return whether its nodes are spare capacity, in whatever zone has some."""
    return pool.spot or pool.flex_start or pool.queued


def _each(least: int, zones: tuple[str, ...], settings: GkeClusterSettings) -> int:
    """Return the nodes in every zone at the beginning."""
    return -(-least // zones_of(zones, settings.location))


def _autoscaling(least: int, most: int, *, anywhere: bool) -> container.NodePoolAutoscalingArgs | None:
    """Return the bounds of all zones together.

    `anywhere`: new nodes are created in any zone with capacity.
    """
    if least == most:
        return None
    return container.NodePoolAutoscalingArgs(
        total_min_node_count=least,
        total_max_node_count=most,
        location_policy="ANY" if anywhere else "BALANCED",
    )


def _upgrade(upgrade: GkePoolUpgrade) -> container.NodePoolUpgradeSettingsArgs:
    if upgrade.strategy == "BLUE_GREEN":
        return container.NodePoolUpgradeSettingsArgs(
            strategy="BLUE_GREEN",
            blue_green_settings=container.NodePoolUpgradeSettingsBlueGreenSettingsArgs(
                standard_rollout_policy=container.NodePoolUpgradeSettingsBlueGreenSettingsStandardRolloutPolicyArgs(
                    batch_node_count=1
                )
            ),
        )
    return container.NodePoolUpgradeSettingsArgs(
        strategy="SURGE", max_surge=upgrade.surge, max_unavailable=upgrade.unavailable
    )


def _network(pool: GkePoolSettings) -> container.NodePoolNetworkConfigArgs | None:
    if not (pool.dranet or pool.additional_networks):
        return None
    return container.NodePoolNetworkConfigArgs(
        accelerator_network_profile="auto" if pool.dranet else None,
        additional_node_network_configs=[
            container.NodePoolNetworkConfigAdditionalNodeNetworkConfigArgs(network=network)
            for network in pool.additional_networks
        ]
        or None,
    )


def _reservation(pool: GkePoolSettings) -> container.NodePoolNodeConfigReservationAffinityArgs | None:
    reserved = pool.reservation
    if reserved is not None:
        return container.NodePoolNodeConfigReservationAffinityArgs(
            consume_reservation_type=reserved.consume,
            key=_RESERVATION_KEY if reserved.names else None,
            values=list(reserved.names) or None,
        )
    if not _is_borrowed(pool):
        return None
    # Such capacity is never reserved, and Google requires that to be stated.
    return container.NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")


def _accelerators(
    plan: PoolPlan, pool: GkePoolSettings
) -> list[container.NodePoolNodeConfigGuestAcceleratorArgs] | None:
    """Return the GPUs of each node, with their driver's installer: by default, GKE installs it."""
    machine, sharing = plan.machine, pool.gpu_sharing
    if not machine.gpus or machine.accelerator is None:
        return None
    driver = (
        None
        if pool.gpu_driver is None
        else container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
            gpu_driver_version=_DRIVERS[pool.gpu_driver]
        )
    )
    return [
        container.NodePoolNodeConfigGuestAcceleratorArgs(
            type=machine.accelerator,
            count=machine.gpus,
            gpu_driver_installation_config=driver,
            gpu_partition_size=pool.gpu_partition_size,
            gpu_sharing_config=None
            if sharing is None
            else container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
                gpu_sharing_strategy=sharing.strategy, max_shared_clients_per_gpu=sharing.clients
            ),
        )
    ]
