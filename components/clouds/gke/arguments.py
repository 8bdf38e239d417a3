"""The plan of a GKE cluster as the SDK's typed arguments, field by field. Nothing is decided here.

Source: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from pulumi_gcp import container

from dra_fleet.clouds.gke.names import zones_of
from dra_fleet.clouds.gke.pools import AUTOMATIC, pool_name

if TYPE_CHECKING:
    import pulumi

    from dra_fleet.clouds.gke.pool_settings import GkePoolSettings
    from dra_fleet.clouds.gke.settings import GkeClusterSettings, GkeWindow
    from dra_fleet.model.plan import PoolPlan

SYSTEM_POOL = "system"
_MONDAY = dt.date(2026, 1, 5)
_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
_DRIVERS = {"installer": "INSTALLATION_DISABLED", "external": "INSTALLATION_DISABLED", "gke": "DEFAULT"}
_RESERVATION_KEY = "compute.googleapis.com/reservation-name"
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]
"""What a node may do is decided by IAM, not by scopes: https://cloud.google.com/compute/docs/access/service-accounts"""


def cluster_arguments(name: str, kubernetes: str, settings: GkeClusterSettings) -> container.ClusterArgs:
    """The arguments of a Cluster."""
    create = settings.create
    if create is None or settings.access is None:
        raise ValueError(f"cluster {name} is not to be created")
    window = settings.upgrades.window
    return container.ClusterArgs(
        name=name,
        project=settings.project,
        location=settings.location,
        min_master_version=settings.version or kubernetes,
        release_channel=container.ClusterReleaseChannelArgs(channel=settings.upgrades.channel),
        maintenance_policy=None if window is None else _maintenance(window),
        # Pools are resources of their own; GKE cannot make a cluster without its default one.
        remove_default_node_pool=True,
        initial_node_count=1,
        # Production clusters are protected by the engine; a second lock would have to be opened by hand.
        deletion_protection=False,
        network=create.network,
        subnetwork=create.subnetwork,
        networking_mode="VPC_NATIVE",
        ip_allocation_policy=container.ClusterIpAllocationPolicyArgs(),
        datapath_provider=settings.datapath,
        enable_multi_networking=_is_multi_networked(settings) or None,
        workload_identity_config=container.ClusterWorkloadIdentityConfigArgs(
            workload_pool=f"{settings.project}.svc.id.goog"
        ),
        private_cluster_config=container.ClusterPrivateClusterConfigArgs(
            enable_private_nodes=create.private_nodes
        ),
        control_plane_endpoints_config=container.ClusterControlPlaneEndpointsConfigArgs(
            dns_endpoint_config=container.ClusterControlPlaneEndpointsConfigDnsEndpointConfigArgs(
                allow_external_traffic=settings.access.external
            ),
            ip_endpoints_config=container.ClusterControlPlaneEndpointsConfigIpEndpointsConfigArgs(
                enabled=False
            ),
        ),
    )


def system_pool_arguments(cluster: pulumi.Input[str], settings: GkeClusterSettings) -> container.NodePoolArgs:
    """The arguments of the pool of the cluster's own pods."""
    system = settings.system_pool
    least, most = system.nodes.min, system.nodes.max
    each = _each(least, zones_of(system.zones, settings.location))
    return container.NodePoolArgs(
        cluster=cluster,
        name=SYSTEM_POOL,
        project=settings.project,
        location=settings.location,
        node_locations=list(system.zones) or None,
        node_count=each if least == most else None,
        initial_node_count=None if least == most else each,
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
    cluster: pulumi.Input[str], plan: PoolPlan, settings: GkeClusterSettings
) -> container.NodePoolArgs:
    """The arguments of a NodePool."""
    pool = settings.pools[plan.name]
    least, most = plan.min_nodes, plan.max_nodes
    each = _each(least, zones_of(pool.zones, settings.location))
    return container.NodePoolArgs(
        cluster=cluster,
        name=pool_name(plan, pool),
        project=settings.project,
        location=settings.location,
        node_locations=list(pool.zones) or None,
        node_count=each if least == most else None,
        initial_node_count=None if least == most else each,
        autoscaling=_autoscaling(least, most, anywhere=pool.spot or pool.flex_start or pool.queued),
        management=container.NodePoolManagementArgs(
            auto_repair=pool.auto_repair,
            auto_upgrade=_has_channel(settings) if pool.upgrade.auto is None else pool.upgrade.auto,
        ),
        upgrade_settings=_upgrade(pool),
        placement_policy=_placement(pool),
        queued_provisioning=container.NodePoolQueuedProvisioningArgs(enabled=True) if pool.queued else None,
        network_config=_network(pool),
        node_config=container.NodePoolNodeConfigArgs(
            machine_type=plan.machine.instance_type or plan.machine.name,
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
            workload_metadata_config=container.NodePoolNodeConfigWorkloadMetadataConfigArgs(
                mode="GKE_METADATA"
            ),
        ),
    )


def _has_channel(settings: GkeClusterSettings) -> bool:
    return settings.upgrades.channel != "UNSPECIFIED"


def _is_multi_networked(settings: GkeClusterSettings) -> bool:
    return any(pool.dranet or pool.additional_networks for pool in settings.pools.values())


def _maintenance(window: GkeWindow) -> container.ClusterMaintenancePolicyArgs:
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


def _each(nodes: int, zones: int) -> int:
    """Nodes of each zone, so that all zones together have no fewer than asked for."""
    return -(-nodes // zones)


def _autoscaling(least: int, most: int, *, anywhere: bool) -> container.NodePoolAutoscalingArgs | None:
    """The bounds of a pool over all its zones; None where its size is fixed."""
    if least == most:
        return None
    return container.NodePoolAutoscalingArgs(
        total_min_node_count=least,
        total_max_node_count=most,
        location_policy="ANY" if anywhere else "BALANCED",
    )


def _upgrade(pool: GkePoolSettings) -> container.NodePoolUpgradeSettingsArgs:
    upgrade = pool.upgrade
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


def _placement(pool: GkePoolSettings) -> container.NodePoolPlacementPolicyArgs | None:
    placement = pool.placement
    if placement is None or not (placement.compact or placement.policy):
        return None
    return container.NodePoolPlacementPolicyArgs(
        type="COMPACT", policy_name=placement.policy, tpu_topology=placement.topology
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
    reservation = pool.reservation
    if reservation is None:
        # Such capacity never comes out of a reservation, and Google wants to be told so.
        return (
            container.NodePoolNodeConfigReservationAffinityArgs(consume_reservation_type="NO_RESERVATION")
            if pool.spot or pool.flex_start or pool.queued
            else None
        )
    return container.NodePoolNodeConfigReservationAffinityArgs(
        consume_reservation_type=reservation.consume,
        key=_RESERVATION_KEY if reservation.names else None,
        values=list(reservation.names) or None,
    )


def _accelerators(
    plan: PoolPlan, pool: GkePoolSettings
) -> list[container.NodePoolNodeConfigGuestAcceleratorArgs] | None:
    """The GPUs of each node, with what GKE shall do about their driver said aloud: it installs by default."""
    machine = plan.machine
    if not machine.gpus or machine.accelerator is None:
        return None
    sharing = pool.gpu_sharing
    return [
        container.NodePoolNodeConfigGuestAcceleratorArgs(
            type=machine.accelerator,
            count=machine.gpus,
            gpu_driver_installation_config=None
            if pool.gpu_driver is None
            else container.NodePoolNodeConfigGuestAcceleratorGpuDriverInstallationConfigArgs(
                gpu_driver_version=_DRIVERS[pool.gpu_driver]
            ),
            gpu_partition_size=pool.gpu_partition_size,
            gpu_sharing_config=None
            if sharing is None
            else container.NodePoolNodeConfigGuestAcceleratorGpuSharingConfigArgs(
                gpu_sharing_strategy=sharing.strategy, max_shared_clients_per_gpu=sharing.clients
            ),
        )
    ]
