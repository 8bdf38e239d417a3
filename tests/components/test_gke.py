"""GKE clusters as the engine sees them: typed inputs, names, order, protection, no secret in clear."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pulumi
import pytest

from components.platforms.gke_kubeconfig import login_kubeconfig
from fleet.plan import make_plan
from fleet.settings import parse, read_stack_file
from fleet.settings.gke import GkeClusterSettings
from stacks.build import build
from tests.fleet.plan.gke_fleets import cluster, l4, part, pool, tpu
from tests.pulumi_recorder import Secret

if TYPE_CHECKING:
    from fleet.plan.model import FleetPlan
    from tests.pulumi_recorder import Recorder, Registration

PROJECT = Path(__file__).resolve().parents[2]
UPDATE = "UPDATE_GOLDEN"
EXAMPLES = ["s04-gke-cel", "s05-gke-tpu", "s11-part-of-a-gpu"]
GET_CLUSTER = "gcp:container/getCluster:getCluster"
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
INSTALLER = "kubernetes:apps/v1:DaemonSet"
RELEASE = "kubernetes:helm.sh/v3:Release"
COMPUTE_CLASS = "kubernetes:cloud.google.com/v1:ComputeClass"
COMPONENT = "dra-fleet:platforms:GkeCluster"
HOST = "gke-0123456789.us-central1.gke.goog"


def answered(dns: str = HOST) -> dict[str, Any]:
    """What Google tells of a cluster."""
    return {
        "endpoint": "10.0.0.2",
        "controlPlaneEndpointsConfigs": [
            {"dnsEndpointConfigs": [{"endpoint": dns}], "ipEndpointsConfigs": []}
        ],
        "masterAuths": [{"clusterCaCertificate": "Q0E="}],
    }


@pytest.fixture
def google(recorder: Recorder) -> Recorder:
    """A recorded engine whose Google Cloud tells where a cluster is."""
    recorder.answers[GET_CLUSTER] = answered()
    return recorder


def no_secret(key: str) -> pulumi.Output[str]:
    raise AssertionError(f"the program asked for the secret {key}")


def declare(google: Recorder, plan: FleetPlan) -> None:
    settings = plan.clusters[0].settings
    assert isinstance(settings, GkeClusterSettings)
    google.run(lambda: build(plan, no_secret))


def fleet_plan(fleet: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(fleet))


def every(google: Recorder, type_token: str) -> list[Registration]:
    return [entry for entry in google.registrations.values() if entry.type == type_token]


def shown(entry: Registration) -> dict[str, Any]:
    fields = dataclasses.asdict(entry)
    fields["dependencies"] = sorted(entry.dependencies)
    fields["replace_on_changes"] = list(entry.replace_on_changes)
    return {key: value for key, value in fields.items() if value not in ({}, [], "", None, False)}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_declared_exactly_as_before(example: str, google: Recorder) -> None:
    declare(google, make_plan(read_stack_file(PROJECT / "examples" / f"{example}.yaml").settings))
    golden = PROJECT / "tests" / "golden" / f"gke_{example.partition('-')[0]}.json"
    entries = sorted(google.registrations.values(), key=lambda entry: entry.urn)
    got = json.dumps([shown(entry) for entry in entries], indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get(UPDATE):
        golden.write_text(got, encoding="utf-8")
    assert json.loads(got) == json.loads(golden.read_text(encoding="utf-8")), f"if meant: {UPDATE}=1 pytest"


def test_the_kubeconfig_is_a_login_and_secret_everywhere(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    secret = google.only("pulumi:providers:kubernetes").inputs["kubeconfig"]
    assert isinstance(secret, Secret)
    config = json.loads(secret.value)
    assert config["clusters"][0]["cluster"] == {"server": f"https://{HOST}"}
    assert config["users"][0]["user"]["exec"]["command"] == "gke-gcloud-auth-plugin"
    assert google.published[google.only(COMPONENT).urn]["kubeconfig"] == secret


def test_an_address_needs_the_cluster_s_own_authority() -> None:
    config = json.loads(login_kubeconfig("render", "10.0.0.2", "Q0E="))
    assert config["clusters"][0]["cluster"] == {
        "server": "https://10.0.0.2",
        "certificate-authority-data": "Q0E=",
    }


def test_a_cluster_without_an_address_is_refused() -> None:
    with pytest.raises(pulumi.RunError) as refused:
        login_kubeconfig("render", "", "")
    assert str(refused.value) == (
        "cluster render: Google told no address of its API server; allowed: a cluster with a DNS endpoint; "
        "fix: gcloud container clusters update --enable-dns-access"
    )


def test_the_address_is_asked_for_with_the_cluster_s_own_provider(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    provider = google.only("pulumi:providers:gcp")
    [(token, arguments, asked)] = google.calls
    assert (token, asked) == (GET_CLUSTER, f"{provider.urn}::{provider.name}-id")
    assert (arguments["name"], arguments["location"], arguments["project"]) == (
        "render",
        "us-central1",
        "ml-render",
    )


def test_the_cluster_is_reached_by_dns_and_has_workload_identity_and_dataplane_v2(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    inputs = google.only(CLUSTER).inputs
    assert inputs["controlPlaneEndpointsConfig"] == {
        "dnsEndpointConfig": {"allowExternalTraffic": True},
        "ipEndpointsConfig": {"enabled": False},
    }
    assert inputs["workloadIdentityConfig"] == {"workloadPool": "ml-render.svc.id.goog"}
    assert inputs["datapathProvider"] == "ADVANCED_DATAPATH"
    assert inputs["releaseChannel"] == {"channel": "REGULAR"}
    assert inputs["minMasterVersion"] == "1.36"


@pytest.mark.parametrize(
    ("owner", "version"),
    [("installer", "INSTALLATION_DISABLED"), ("external", "INSTALLATION_DISABLED"), ("gke", "DEFAULT")],
)
def test_what_gke_does_about_the_driver_is_said_aloud(owner: str, version: str, google: Recorder) -> None:
    fleet = l4()
    pool(fleet)["gpuDriver"] = owner
    if owner == "gke":
        cluster(fleet)["drivers"] = {"tpu": {"version": "0.1.0"}}
    declare(google, fleet_plan(fleet))
    accelerator = google.only(POOL, "render-gpu").inputs["nodeConfig"]["guestAccelerators"]
    assert accelerator == [
        {
            "type": "nvidia-l4",
            "count": 1,
            "gpuDriverInstallationConfig": {"gpuDriverVersion": version},
        }
    ]
    assert bool(every(google, INSTALLER)) is (owner == "installer")


def test_taints_that_gke_adds_are_not_declared(google: Recorder) -> None:
    fleet = l4()
    pool(fleet)["taints"] = [{"key": "team", "value": "ml", "effect": "NoExecute"}]
    declare(google, fleet_plan(fleet))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["taints"] == [{"key": "team", "value": "ml", "effect": "NO_EXECUTE"}]


def test_a_tpu_pool_has_a_machine_type_and_no_accelerators(google: Recorder) -> None:
    declare(google, fleet_plan(tpu()))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["machineType"] == "ct6e-standard-4t"
    assert "guestAccelerators" not in config


def test_a_machine_of_ours_is_its_machine_type_with_accelerators(google: Recorder) -> None:
    fleet = l4()
    pool(fleet)["machine"] = "n1-standard-16-2xt4"
    declare(google, fleet_plan(fleet))
    config = google.only(POOL, "render-gpu").inputs["nodeConfig"]
    assert config["machineType"] == "n1-standard-16"
    assert (config["guestAccelerators"][0]["type"], config["guestAccelerators"][0]["count"]) == (
        "nvidia-tesla-t4",
        2,
    )


@pytest.mark.parametrize(
    ("nodes", "zones", "wanted"),
    [
        (
            {"min": 2, "max": 4},
            1,
            {
                "initialNodeCount": 2,
                "autoscaling": {
                    "totalMinNodeCount": 2,
                    "totalMaxNodeCount": 4,
                    "locationPolicy": "BALANCED",
                },
            },
        ),
        ({"min": 3, "max": 4}, 2, {"initialNodeCount": 2}),
        ({"min": 4, "max": 4}, 2, {"nodeCount": 2}),
    ],
)
def test_nodes_count_over_all_zones(
    nodes: dict[str, int], zones: int, wanted: dict[str, Any], google: Recorder
) -> None:
    fleet = l4()
    pool(fleet).update(nodes=nodes, zones=["us-central1-a", "us-central1-b"][:zones])
    declare(google, fleet_plan(fleet))
    inputs = google.only(POOL, "render-gpu").inputs
    assert {key: inputs[key] for key in wanted} == wanted


def test_capacity_is_declared_in_google_s_words(google: Recorder) -> None:
    fleet = l4()
    pool(fleet).update(
        reservation={"consume": "SPECIFIC_RESERVATION", "names": ["mine"]},
        placement={"compact": True, "policy": "near"},
        maxRunDuration="3600s",
    )
    declare(google, fleet_plan(fleet))
    inputs = google.only(POOL, "render-gpu").inputs
    assert inputs["nodeConfig"]["reservationAffinity"] == {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["mine"],
    }
    assert inputs["placementPolicy"] == {"type": "COMPACT", "policyName": "near"}
    assert inputs["nodeConfig"]["maxRunDuration"] == "3600s"


@pytest.mark.parametrize(
    ("change", "key", "wanted"),
    [
        (
            {"flexStart": True, "autoRepair": False},
            "management",
            {"autoRepair": False, "autoUpgrade": True},
        ),
        ({"queued": True, "nodes": {"min": 0, "max": 2}}, "queuedProvisioning", {"enabled": True}),
        (
            {"upgrade": {"surge": 2, "unavailable": 0}},
            "upgradeSettings",
            {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 0},
        ),
        (
            {"upgrade": {"strategy": "BLUE_GREEN"}},
            "upgradeSettings",
            {
                "strategy": "BLUE_GREEN",
                "blueGreenSettings": {"standardRolloutPolicy": {"batchNodeCount": 1}},
            },
        ),
    ],
)
def test_a_pool_s_settings_reach_google(
    change: dict[str, Any], key: str, wanted: dict[str, Any], google: Recorder
) -> None:
    fleet = l4()
    pool(fleet).update(change)
    declare(google, fleet_plan(fleet))
    assert google.only(POOL, "render-gpu").inputs[key] == wanted


def test_without_a_channel_nothing_upgrades_by_itself(google: Recorder) -> None:
    fleet = l4()
    cluster(fleet)["upgrades"] = {"channel": "UNSPECIFIED"}
    declare(google, fleet_plan(fleet))
    assert google.only(POOL, "render-gpu").inputs["management"]["autoUpgrade"] is False


def test_a_window_recurs_on_its_days(google: Recorder) -> None:
    fleet = l4()
    window = {"days": ["Saturday", "Sunday"], "start": "22:00", "hours": 6}
    cluster(fleet)["upgrades"] = {"window": window}
    declare(google, fleet_plan(fleet))
    assert google.only(CLUSTER).inputs["maintenancePolicy"] == {
        "recurringWindow": {
            "startTime": "2026-01-05T22:00:00Z",
            "endTime": "2026-01-06T04:00:00Z",
            "recurrence": "FREQ=WEEKLY;BYDAY=SA,SU",
        }
    }


def test_each_kind_of_node_has_its_own_installer_that_may_be_evicted(google: Recorder) -> None:
    fleet = l4()
    cluster(fleet)["pools"]["part"] = {**pool(fleet), "machine": "g4-standard-6"}
    declare(google, fleet_plan(fleet))
    found = {entry.name: entry.inputs for entry in every(google, INSTALLER)}
    assert set(found) == {"render-driver-cos", "render-driver-cos-vgpu"}
    for name, pools in (("render-driver-cos", ["gpu"]), ("render-driver-cos-vgpu", ["part"])):
        template = found[name]["spec"]["template"]
        assert template["metadata"]["annotations"] == {
            "cluster-autoscaler.kubernetes.io/safe-to-evict": "true"
        }
        affinity = template["spec"]["affinity"]["nodeAffinity"]
        [term] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert {"key": "dra-fleet/pool", "operator": "In", "values": pools} in term["matchExpressions"]


@pytest.mark.parametrize(
    ("fleet", "image", "command"),
    [(l4, "cos-nvidia-installer:fixed", False), (part, "cos-nvidia-installer:fixed", True)],
)
def test_parts_of_gpus_get_the_latest_driver(fleet: Any, image: str, command: bool, google: Recorder) -> None:
    declare(google, fleet_plan(fleet()))
    [container] = google.only(INSTALLER).inputs["spec"]["template"]["spec"]["initContainers"]
    assert container["image"] == image
    assert ("--version=latest" in str(container.get("command"))) is command


def test_the_driver_is_there_before_what_needs_it(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    installer = google.only(INSTALLER)
    assert installer.urn in google.only(RELEASE).dependencies
    provider = google.only("pulumi:providers:kubernetes")
    assert {google.only(POOL, "render-gpu").urn, google.only(CLUSTER).urn} <= provider.dependencies


def test_the_system_pool_is_there_before_gpu_pools(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    system = google.only(POOL, "render-system")
    assert system.urn in google.only(POOL, "render-gpu").dependencies


def test_a_compute_class_names_the_pools_in_order(google: Recorder) -> None:
    fleet = l4()
    cluster(fleet)["pools"]["second"] = {**pool(fleet), "machine": "a2-highgpu-1g"}
    cluster(fleet)["computeClasses"] = {"any": {"priorities": ["second", "gpu"]}}
    declare(google, fleet_plan(fleet))
    names = {entry.name: entry.inputs["name"] for entry in every(google, POOL)}
    inputs = google.only(COMPUTE_CLASS).inputs
    assert inputs["spec"] == {
        "priorities": [{"nodepools": [names["render-second"]]}, {"nodepools": [names["render-gpu"]]}],
        "whenUnsatisfiable": "DoNotScaleUp",
    }


def test_an_adopted_cluster_is_not_made_and_gets_its_pools(google: Recorder) -> None:
    fleet = l4()
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"name": "theirs"}
    declare(google, fleet_plan(fleet))
    assert not every(google, CLUSTER)
    assert [entry.inputs["cluster"] for entry in every(google, POOL)] == ["theirs"]


@pytest.mark.parametrize(("environment", "protected"), [("development", False), ("production", True)])
def test_a_production_cluster_is_protected_and_its_pools_may_change(
    environment: str, protected: bool, google: Recorder
) -> None:
    declare(google, dataclasses.replace(fleet_plan(l4()), environment=environment))
    assert bool(google.only(COMPONENT).protect) is protected
    assert google.only(POOL, "render-gpu").protect is False
    assert bool(google.only(CLUSTER).protect) is protected


def test_every_resource_of_google_names_the_cluster_s_provider(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    provider = google.only("pulumi:providers:gcp")
    for entry in google.registrations.values():
        if entry.type.startswith("gcp:"):
            assert entry.provider == f"{provider.urn}::{provider.name}-id"


def test_intent_is_plain_so_that_policies_can_judge_it(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    assert google.only(COMPONENT).inputs == {
        "cloud": "gke",
        "kubernetes": "1.36",
        "project": "ml-render",
        "location": "us-central1",
        "adopted": False,
    }


@pytest.mark.parametrize(
    ("cloud", "sdk"),
    [
        ("aks", "pulumi_gcp"),
        ("existing", "pulumi_gcp"),
        ("gke", "pulumi_aws"),
        ("gke", "pulumi_azure_native"),
    ],
)
def test_a_stack_of_one_cloud_loads_no_other_cloud_s_sdk(cloud: str, sdk: str) -> None:
    program = (
        f"import sys; from components.platforms import resolve; import stacks.build; resolve('{cloud}');"
        f"assert '{sdk}' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True)
