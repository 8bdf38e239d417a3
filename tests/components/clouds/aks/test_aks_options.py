import re
from typing import Any

import pytest

from components.fleet import build
from dra_fleet.clouds.aks.simulation.managed_clusters import faults
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder
from tests.clouds.aks.aks_fleets import cluster, pool, vgpu
from tests.components.clouds.aks.test_aks import (
    CLUSTER,
    CREDENTIALS,
    GROUP,
    LIVE,
    POOL,
    WINDOW,
    no_secret,
    returned,
)
from tests.golden_files import Golden

IDENTITY = "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i"
RESERVED = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/r"
ADMINS = "11111111-2222-3333-4444-555555555555"
PATH = frozenset({"resourceGroupName", "resourceName", "agentPoolName", "configName"})


def everything() -> dict[str, Any]:
    fleet = vgpu()
    cluster(fleet).update(
        {
            "create": {"resourceGroup": "rg", "identity": IDENTITY},
            "access": {"authorizedRanges": ["203.0.113.0/24"], "adminGroups": [ADMINS], "login": "spn"},
            "longTermSupport": True,
            "systemPool": {"machine": "Standard_D8ds_v5", "nodes": {"min": 3, "max": 3}, "zones": ["1"]},
            "upgrades": {
                "kubernetes": "patch",
                "nodeImage": "SecurityPatch",
                "window": {"day": "Sunday", "start": "02:00", "hours": 6},
            },
        }
    )
    pool(fleet).update(
        {
            "zones": ["1", "2"],
            "capacityReservationGroup": RESERVED,
            "priority": 10,
            "upgrade": {"surge": "33%", "drainTimeout": 120},
            "labels": {"team": "ml"},
            "taints": [{"key": "sku", "value": "gpu", "effect": "NoSchedule"}],
        }
    )
    return fleet


@pytest.fixture
def declared(recorder: Recorder) -> Recorder:
    recorder.answers[CREDENTIALS] = returned({"exec": {"command": "kubelogin"}})
    recorder.answers[LIVE] = {"agentPoolProfiles": []}
    recorder.outputs[GROUP] = {"name": "rg"}
    # Azure takes a list of identities and returns a map.
    recorder.outputs[CLUSTER] = {"name": "studio", "identity": {"type": "UserAssigned"}}
    plan = make_plan(parse(everything()))
    recorder.run(lambda: build(plan, no_secret))
    return recorder


def test_every_option_is_declared_exactly_as_before(declared: Recorder, golden: Golden) -> None:
    golden("aks_options.json", declared.declared())


def test_an_adopted_cluster_is_declared_exactly_as_before(recorder: Recorder, golden: Golden) -> None:
    recorder.answers[CREDENTIALS] = returned({"exec": {"command": "kubelogin"}})
    recorder.answers[LIVE] = {"agentPoolProfiles": []}
    fleet = vgpu()
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"resourceGroup": "theirs", "name": "old"}
    recorder.run(lambda: build(make_plan(parse(fleet)), no_secret))
    golden("aks_adopted.json", recorder.declared())


def test_azure_s_own_models_take_all_of_it(declared: Recorder) -> None:
    models = {CLUSTER: "ManagedCluster", POOL: "AgentPool", WINDOW: "MaintenanceConfiguration"}
    checked = [entry for entry in declared.registrations.values() if entry.type in models]
    assert len(checked) == 4
    for entry in checked:
        assert faults(models[entry.type], entry.inputs, beside=PATH) == [], entry.name


def test_the_cluster_has_its_identity_its_guests_and_its_system_pool(declared: Recorder) -> None:
    inputs = declared.only(CLUSTER).inputs
    assert inputs["identity"] == {"type": "UserAssigned", "userAssignedIdentities": [IDENTITY]}
    assert inputs["aadProfile"]["adminGroupObjectIDs"] == [ADMINS]
    assert inputs["apiServerAccessProfile"]["authorizedIPRanges"] == ["203.0.113.0/24"]
    assert inputs["autoScalerProfile"] == {"expander": "priority"}
    assert inputs["autoUpgradeProfile"] == {
        "upgradeChannel": "patch",
        "nodeOSUpgradeChannel": "SecurityPatch",
    }
    [system] = inputs["agentPoolProfiles"]
    assert (system["vmSize"], system["count"], system["availabilityZones"]) == ("Standard_D8ds_v5", 3, ["1"])
    assert system["nodeTaints"] == ["CriticalAddonsOnly=true:NoSchedule"]


def test_the_pool_has_its_zones_its_reservation_and_its_way_of_upgrading(declared: Recorder) -> None:
    inputs = declared.only(POOL).inputs
    assert inputs["availabilityZones"] == ["1", "2"]
    assert inputs["capacityReservationGroupID"] == RESERVED
    assert inputs["upgradeSettings"]["maxSurge"] == "33%"
    assert inputs["upgradeSettings"]["drainTimeoutInMinutes"] == 120
    assert inputs["nodeTaints"] == ["sku=gpu:NoSchedule"]


def test_the_autoscaler_reads_its_priorities_by_the_pools_names_in_azure(declared: Recorder) -> None:
    name = declared.only(POOL).inputs["agentPoolName"]
    config = declared.only("kubernetes:core/v1:ConfigMap").inputs
    assert config["metadata"]["name"] == "cluster-autoscaler-priority-expander"
    assert config["data"]["priorities"] == f'{{"10": [".*-{name}-.*"]}}'


def test_a_pool_with_managed_drivers_is_declared_in_an_api_version_that_has_them(recorder: Recorder) -> None:
    recorder.answers[CREDENTIALS] = returned({"exec": {"command": "kubelogin"}})
    recorder.answers[LIVE] = {"agentPoolProfiles": []}
    recorder.outputs[GROUP] = {"name": "rg"}
    recorder.outputs[CLUSTER] = {"name": "studio"}
    fleet = vgpu()
    cluster(fleet).update({"drivers": {}, "tags": {"team": "ml"}})
    nodes = {"min": 2, "max": 2}
    more = {"maxPods": 50, "upgradeSettings": {"nodeSoakDurationInMinutes": 5}}
    pool(fleet).update(machine="Standard_ND96isr_H100_v5", nodes=nodes, advertise="managed", dranet=True)
    pool(fleet).update(labels={"my_team": "ml"}, extra=more)
    recorder.run(lambda: build(make_plan(parse(fleet)), no_secret))
    inputs = dict(recorder.only("azure-native:resources:Resource").inputs)
    properties = inputs.pop("properties")
    assert POOL not in {item.type for item in recorder.registrations.values()}
    assert re.fullmatch(r"gpu\w{6}", inputs.pop("resourceName"))
    assert inputs == {
        "apiVersion": "2026-07-02-preview",
        "parentResourcePath": "managedClusters/studio",
        "resourceGroupName": "rg",
        "resourceProviderNamespace": "Microsoft.ContainerService",
        "resourceType": "agentPools",
    }
    gpus = {"driver": "Install", "nvidia": {"managementMode": "Managed", "driverMode": "DRA"}}
    assert properties["gpuProfile"] == gpus
    assert properties["networkProfile"] == {"dranet": {"mode": "Managed"}}
    assert (properties["vmSize"], properties["count"], properties["osSKU"]) == (
        "Standard_ND96isr_H100_v5",
        2,
        "Ubuntu2404",
    )
    assert (properties["maxPods"], properties["tags"]) == (50, {"team": "ml"})
    assert properties["nodeLabels"]["my_team"] == "ml"
    assert properties["upgradeSettings"]["maxUnavailable"] == "1"
    assert properties["upgradeSettings"]["nodeSoakDurationInMinutes"] == 5
    # The package on this machine knows the newest stable API, without the preview's driverMode.
    del properties["gpuProfile"]["nvidia"]["driverMode"]
    assert faults("AgentPool", properties, beside=frozenset()) == []
