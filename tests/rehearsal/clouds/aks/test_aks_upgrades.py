import asyncio
from typing import Any

import pytest

from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from tests.rehearsal.clouds.aks.aks_subscription import (
    CLUSTER,
    MAINTENANCE,
    POOL,
    SYSTEM,
    Subscription,
    pool_inputs,
)

SCHEDULE = "aksManagedAutoUpgradeSchedule"
NODE_SCHEDULE = "aksManagedNodeOSUpgradeSchedule"


def cluster_inputs(version: str, **system: Any) -> dict[str, Any]:
    return {
        "resourceGroupName": "studio",
        "resourceName": "studio",
        "dnsPrefix": "studio",
        "kubernetesVersion": version,
        "agentPoolProfiles": [{**SYSTEM, **system}],
    }


def window(**more: Any) -> dict[str, Any]:
    weekly = {"weekly": {"intervalWeeks": 1, "dayOfWeek": "Sunday"}}
    return {"durationHours": 4, "startTime": "02:00", "utcOffset": "+00:00", "schedule": weekly, **more}


def maintenance_inputs(name: str = SCHEDULE, **more: Any) -> dict[str, Any]:
    path = {"resourceGroupName": "studio", "resourceName": "studio", "configName": name}
    return {**path, "maintenanceWindow": window(), **more}


def kubelets(aks: Subscription) -> list[str | None]:
    return [node.kubelet for node in aks.planes.nodes["studio"]]


def test_a_control_plane_is_upgraded_one_minor_and_its_pools_follow_when_reported(aks: Subscription) -> None:
    made = aks.cluster(kubernetesVersion="1.34")
    pool = aks.pool(orchestratorVersion="1.34")
    upgraded = aks.change(CLUSTER, made, cluster_inputs("1.35", orchestratorVersion="1.35"))
    assert aks.planes.versions == {"studio": "v1.35.6"}
    assert upgraded["currentKubernetesVersion"] == "1.35.6"
    assert kubelets(aks) == ["v1.35.6", "v1.34.9"]
    changed = aks.change(POOL, pool, pool_inputs(orchestratorVersion="1.35"))
    assert changed["currentOrchestratorVersion"] == "1.35.6"
    assert kubelets(aks) == ["v1.35.6", "v1.35.6"]


@pytest.mark.parametrize(("now", "asked", "available"), [("1.34", "1.36", "1.35.6"), ("1.36", "1.35", "")])
def test_minors_are_neither_skipped_nor_taken_back(
    aks: Subscription, now: str, asked: str, available: str
) -> None:
    made = aks.cluster(kubernetesVersion=now)
    with pytest.raises(CloudRefusal) as refused:
        aks.change(CLUSTER, made, cluster_inputs(asked))
    full = {"1.34": "1.34.9", "1.35": "1.35.6", "1.36": "1.36.2"}
    assert str(refused.value) == (
        f'Code="OperationNotAllowed" Message="Upgrading Kubernetes version {full[now]} to {full[asked]} is '
        f"not allowed. Available upgrades: [{available}]. "
        'Minors are taken one at a time, and none is taken back"'
    )
    assert aks.planes.versions == {"studio": f"v{full[now]}"}


def test_a_pool_is_never_newer_than_its_control_plane(aks: Subscription) -> None:
    aks.cluster(kubernetesVersion="1.35")
    with pytest.raises(CloudRefusal) as refused:
        aks.pool(orchestratorVersion="1.36")
    assert 'Code="NodePoolMcVersionIncompatible"' in str(refused.value)
    assert "Node pool gpu version 1.36.2 and control plane version 1.35.6 are incompatible" in str(
        refused.value
    )


def test_a_pool_is_not_taken_back(aks: Subscription) -> None:
    aks.cluster(kubernetesVersion="1.36")
    pool = aks.pool()
    with pytest.raises(CloudRefusal, match=r"downgrading from 1\.36\.2 to 1\.35\.6 is not allowed"):
        aks.change(POOL, pool, pool_inputs(orchestratorVersion="1.35"))


def test_a_window_is_kept_and_changed_in_place(aks: Subscription) -> None:
    aks.cluster()
    made = aks.make(MAINTENANCE, "window", maintenance_inputs())
    assert made["id"].endswith(f"/managedClusters/studio/maintenanceConfigurations/{SCHEDULE}")
    assert made["name"] == SCHEDULE
    changed = aks.change(MAINTENANCE, made, maintenance_inputs(maintenanceWindow=window(durationHours=6)))
    assert changed["maintenanceWindow"]["durationHours"] == 6
    asyncio.run(aks.cloud.delete(aks.resource(MAINTENANCE, "window", made["id"])))
    assert asyncio.run(aks.cloud.read(aks.resource(MAINTENANCE, "window", made["id"]))) is None


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            maintenance_inputs("sundays"),
            f"Maintenance configuration sundays is none of default, {SCHEDULE}, {NODE_SCHEDULE}",
        ),
        (
            maintenance_inputs("default"),
            "Maintenance configuration default takes timeInWeek and no maintenanceWindow",
        ),
        (
            maintenance_inputs(maintenanceWindow=None),
            f"Maintenance configuration {SCHEDULE} needs a maintenanceWindow",
        ),
        (
            maintenance_inputs(maintenanceWindow=window(durationHours=3)),
            "DurationHours is 3; it must be 4 to 24",
        ),
        (
            maintenance_inputs(maintenanceWindow=window(schedule={})),
            "Schedule must have exactly one of absoluteMonthly, daily, relativeMonthly, weekly; it has 0",
        ),
    ],
)
def test_a_window_aks_would_not_take_is_refused(
    aks: Subscription, inputs: dict[str, Any], message: str
) -> None:
    aks.cluster()
    with pytest.raises(CloudRefusal) as refused:
        aks.make(MAINTENANCE, "window", inputs)
    assert str(refused.value) == f'Code="InvalidParameter" Message="{message}"'


def test_a_window_without_its_cluster_is_refused(aks: Subscription) -> None:
    with pytest.raises(CloudRefusal, match='Code="ParentResourceNotFound"'):
        aks.make(MAINTENANCE, "window", maintenance_inputs())


def test_a_deleted_cluster_takes_its_windows_with_it(aks: Subscription) -> None:
    made = aks.cluster()
    maintenance = aks.make(MAINTENANCE, "window", maintenance_inputs())
    asyncio.run(aks.cloud.delete(aks.resource(CLUSTER, "studio", made["id"])))
    assert asyncio.run(aks.cloud.read(aks.resource(MAINTENANCE, "window", maintenance["id"]))) is None


def test_another_cluster_of_the_same_name_is_refused_in_one_rehearsal(aks: Subscription) -> None:
    aks.cluster()
    aks.make("azure-native:resources:ResourceGroup", "other", {"resourceGroupName": "other"})
    inputs = {**cluster_inputs("1.36"), "resourceGroupName": "other", "resourceName": "Studio"}
    with pytest.raises(CloudRefusal, match=r"this rehearsal has a cluster studio already"):
        aks.make(CLUSTER, "second", inputs)


def test_a_node_says_its_machine_in_azure_and_what_the_system_keeps(aks: Subscription) -> None:
    aks.cluster(networkProfile={"networkPlugin": "azure", "networkPluginMode": "overlay"})
    aks.pool(vmSize="Standard_NV6ads_A10_v5")
    node = aks.planes.nodes["studio"][1]
    scale_set = node.name.removesuffix("000000")
    assert node.provider_id == (
        "azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/"
        "mc_studio_studio_westeurope/providers/Microsoft.Compute/virtualMachineScaleSets/"
        f"{scale_set}/virtualMachines/0"
    )
    assert (node.cpu, node.memory) == ("6", "55Gi")
    assert node.allocatable == {"cpu": "5840m", "memory": "51170Mi", "pods": "250"}


def test_a_grace_machine_is_an_arm_machine(aks: Subscription) -> None:
    aks.cluster()
    aks.pool(vmSize="Standard_ND128isr_NDR_GB200_v6")
    assert [host.arch for node in aks.planes.nodes["studio"] for host in node.hosts()] == ["amd64", "arm64"]


def test_identities_are_taken_as_a_list_and_returned_by_id(aks: Subscription) -> None:
    user = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
    made = aks.cluster(identity={"type": "UserAssigned", "userAssignedIdentities": [user]})
    [(identifier, ids)] = made["identity"]["userAssignedIdentities"].items()
    assert identifier == user
    assert sorted(ids) == ["clientId", "principalId"]


def test_the_system_s_identity_gets_its_ids(aks: Subscription) -> None:
    made = aks.cluster(identity={"type": "SystemAssigned"})
    assert set(made["identity"]) == {"type", "principalId", "tenantId"}
