import base64
import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml
from msgspec.structs import replace

from components.clouds.aks.cluster import login_kubeconfig
from components.fleet import build
from dra_fleet.clouds.aks.settings import AksClusterSettings
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan
from dra_fleet.testing import Recorder, Secret
from tests.clouds.aks.aks_fleets import cluster, mig, pool, vgpu
from tests.golden_files import Golden

PROJECT = Path(__file__).resolve().parents[4]
EXAMPLES = ["aks-vgpu", "aks-mig", "aks-sharing"]
CREDENTIALS = "azure-native:containerservice:listManagedClusterUserCredentials"
LIVE = "azure-native:containerservice:getManagedCluster"
CLUSTER = "azure-native:containerservice:ManagedCluster"
POOL = "azure-native:containerservice:AgentPool"
GROUP = "azure-native:resources:ResourceGroup"
WINDOW = "azure-native:containerservice:MaintenanceConfiguration"
RELEASE = "kubernetes:helm.sh/v3:Release"
COMPONENT = "dra-fleet:clouds:AksCluster"


def returned(user: dict[str, Any]) -> dict[str, Any]:
    """Return Azure's answer for a cluster with this user."""
    config = {
        "clusters": [
            {
                "name": "c",
                "cluster": {"server": "https://studio.example.com", "certificate-authority-data": "Q0E="},
            }
        ],
        "users": [{"name": "u", "user": user}],
    }
    value = base64.b64encode(yaml.safe_dump(config).encode()).decode()
    return {"kubeconfigs": [{"name": "clusterUser", "value": value}]}


@pytest.fixture
def azure(recorder: Recorder) -> Recorder:
    """A recorded engine whose Azure hands out kubeconfigs with a login."""
    recorder.answers[CREDENTIALS] = returned({"exec": {"command": "kubelogin"}})
    recorder.answers[LIVE] = {"agentPoolProfiles": []}
    return recorder


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def declare(azure: Recorder, plan: FleetPlan) -> None:
    settings = plan.clusters[0].settings
    assert isinstance(settings, AksClusterSettings)
    if settings.create is not None:
        azure.outputs[GROUP] = {"name": settings.create.resource_group}
        azure.outputs[CLUSTER] = {"name": plan.clusters[0].name}
    azure.run(lambda: build(plan, no_secret))


def fleet_plan(fleet: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(fleet))


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_declared_exactly_as_before(example: str, azure: Recorder, golden: Golden) -> None:
    declare(azure, make_plan(read_stack_file(PROJECT / "examples" / f"{example}.yaml").settings))
    golden(f"{example.replace('-', '_')}.json", azure.declared())


def test_the_kubeconfig_is_a_login_and_secret_everywhere(azure: Recorder) -> None:
    declare(azure, fleet_plan(vgpu()))
    secret = azure.only("pulumi:providers:kubernetes").inputs["kubeconfig"]
    assert isinstance(secret, Secret)
    config = json.loads(secret.value)
    assert config["clusters"][0]["cluster"]["server"] == "https://studio.example.com"
    assert config["users"][0]["user"]["exec"]["args"] == [
        "get-token",
        "--server-id",
        "6dae42f8-4368-4678-94ff-3960e28e3630",
        "--login",
        "azurecli",
    ]
    assert azure.published[azure.only(COMPONENT).urn]["kubeconfig"] == secret


def test_credentials_are_asked_for_by_login_from_the_cluster_s_own_provider(azure: Recorder) -> None:
    declare(azure, fleet_plan(vgpu()))
    provider = azure.only("pulumi:providers:azure-native")
    asked = {"resourceGroupName": "rg", "resourceName": "studio"}
    identity = f"{provider.urn}::{provider.name}-id"
    assert sorted(azure.calls, key=lambda call: call[0]) == [
        (LIVE, asked, identity),
        (CREDENTIALS, {**asked, "format": "exec"}, identity),
    ]


@pytest.mark.parametrize("user", [{"token": "t0ps3cret"}, {"client-key-data": "t0ps3cret"}])
def test_a_kubeconfig_with_a_credential_is_refused_without_showing_it(user: dict[str, str]) -> None:
    encoded = returned(user)["kubeconfigs"][0]["value"]
    with pytest.raises(pulumi.RunError) as refused:
        login_kubeconfig("studio", encoded, "azurecli")
    assert str(refused.value) == (
        "cluster studio: its kubeconfig holds a credential instead of a login, because local accounts are "
        "on; "
        "allowed: a cluster with Entra ID and without local accounts; "
        "fix: az aks update --enable-aad --disable-local-accounts"
    )


@pytest.mark.parametrize("encoded", ["", "%%%", base64.b64encode(b"[1]").decode()])
def test_rejects_values_that_are_no_kubeconfig(encoded: str) -> None:
    with pytest.raises(pulumi.RunError, match="cluster studio: Azure returned no kubeconfig"):
        login_kubeconfig("studio", encoded, "azurecli")


def test_local_accounts_are_off_and_identities_are_entra_s(azure: Recorder) -> None:
    declare(azure, fleet_plan(vgpu()))
    inputs = azure.only(CLUSTER).inputs
    assert inputs["disableLocalAccounts"] is True
    assert inputs["aadProfile"] == {"managed": True, "enableAzureRBAC": True}
    assert inputs["apiServerAccessProfile"] == {"enablePrivateCluster": True}


def test_long_term_support_takes_the_premium_tier(azure: Recorder) -> None:
    fleet = vgpu()
    cluster(fleet)["longTermSupport"] = True
    declare(azure, fleet_plan(fleet))
    inputs = azure.only(CLUSTER).inputs
    assert inputs["sku"] == {"name": "Base", "tier": "Premium"}
    assert inputs["supportPlan"] == "AKSLongTermSupport"


@pytest.mark.parametrize(("fleet", "driver"), [(vgpu, "Install"), (mig, "None")])
def test_one_owner_installs_the_driver(fleet: Any, driver: str, azure: Recorder) -> None:
    declare(azure, fleet_plan(fleet()))
    assert azure.only(POOL).inputs["gpuProfile"] == {"driver": driver}


def test_labels_and_taints_are_the_pool_s(azure: Recorder) -> None:
    fleet = mig()
    pool(fleet)["spot"] = True
    declare(azure, fleet_plan(fleet))
    inputs = azure.only(POOL).inputs
    assert inputs["nodeLabels"]["nvidia.com/mig.config"] == "all-1g.10gb"
    assert inputs["nodeTaints"] == ["sku=gpu:NoSchedule"]
    assert inputs["scaleSetPriority"] == "Spot"
    assert not any(label.startswith("kubernetes.azure.com/") for label in inputs["nodeLabels"])


@pytest.mark.parametrize(
    ("upgrade", "surge", "unavailable"),
    [({}, "0", "1"), ({"surge": "33%"}, "33%", "0"), ({"unavailable": 2}, "0", "2")],
)
def test_upgrades_surge_or_make_do_with_fewer(
    upgrade: dict[str, Any], surge: str, unavailable: str, azure: Recorder
) -> None:
    fleet = vgpu()
    pool(fleet)["upgrade"] = upgrade
    declare(azure, fleet_plan(fleet))
    settings = azure.only(POOL).inputs["upgradeSettings"]
    assert (settings["maxSurge"], settings["maxUnavailable"]) == (surge, unavailable)
    assert settings["drainTimeoutInMinutes"] == 60


def test_changes_that_need_a_new_pool_replace_the_pool(azure: Recorder) -> None:
    names: set[str] = set()
    for change in ({}, {"zones": ["1"]}, {"machine": "Standard_NV12ads_A10_v5"}, {"osSku": "AzureLinux3"}):
        fleet = vgpu()
        pool(fleet).update(change)
        azure.registrations.clear()
        declare(azure, fleet_plan(fleet))
        names.add(azure.only(POOL).inputs["agentPoolName"])
    assert len(names) == 4


def test_a_window_is_made_for_each_automatic_channel(azure: Recorder) -> None:
    fleet = vgpu()
    cluster(fleet)["upgrades"] = {"nodeImage": "NodeImage", "window": {"day": "Sunday", "start": "02:00"}}
    declare(azure, fleet_plan(fleet))
    inputs = azure.only(WINDOW).inputs
    assert inputs["configName"] == "aksManagedNodeOSUpgradeSchedule"
    assert inputs["maintenanceWindow"]["startTime"] == "02:00"


def test_an_adopted_cluster_is_not_made_and_gets_its_pools(azure: Recorder) -> None:
    fleet = vgpu()
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"resourceGroup": "theirs", "name": "old"}
    declare(azure, fleet_plan(fleet))
    types = {entry.type for entry in azure.registrations.values()}
    assert not types & {CLUSTER, GROUP}
    inputs = azure.only(POOL).inputs
    assert (inputs["resourceGroupName"], inputs["resourceName"]) == ("theirs", "old")


@pytest.mark.parametrize(("environment", "protected"), [("development", False), ("production", True)])
def test_a_production_cluster_is_protected_and_its_pools_may_change(
    environment: str, protected: bool, azure: Recorder
) -> None:
    declare(azure, replace(fleet_plan(vgpu()), environment=environment))
    assert bool(azure.only(COMPONENT).protect) is protected
    assert azure.only(POOL).protect is False
    assert bool(azure.only(CLUSTER).protect) is protected


def test_objects_in_the_cluster_are_deleted_before_its_pools(azure: Recorder) -> None:
    declare(azure, fleet_plan(mig()))
    provider = azure.only("pulumi:providers:kubernetes")
    assert {azure.only(POOL).urn, azure.only(CLUSTER).urn} <= provider.dependencies


def test_the_operator_is_there_before_the_dra_driver(azure: Recorder) -> None:
    declare(azure, fleet_plan(mig()))
    operator = azure.only(RELEASE, "studio-gpu-operator")
    assert operator.urn in azure.only(RELEASE, "studio-nvidia-dra-driver-gpu").dependencies


def test_every_resource_of_azure_names_the_cluster_s_provider(azure: Recorder) -> None:
    declare(azure, fleet_plan(vgpu()))
    provider = azure.only("pulumi:providers:azure-native")
    for entry in azure.registrations.values():
        if entry.type.startswith("azure-native:"):
            assert entry.provider == f"{provider.urn}::{provider.name}-id"


def test_intent_is_plain_so_that_policies_can_check_it(azure: Recorder) -> None:
    declare(azure, fleet_plan(vgpu()))
    assert azure.only(COMPONENT).inputs == {
        "cloud": "aks",
        "kubernetes": "1.36",
        "region": "eastus",
        "adopted": False,
    }
