import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
from msgspec.structs import replace

from components.clouds.gke.cluster import login_kubeconfig
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder, Secret
from tests.clouds.gke.gke_fleets import cluster, l4, part, pool
from tests.components.clouds.gke.gke_declared import (
    CLUSTER,
    COMPONENT,
    COMPUTE_CLASS,
    GET_CLUSTER,
    HOST,
    INSTALLER,
    POOL,
    RELEASE,
    declare,
    every,
    fleet_plan,
)
from tests.golden_files import Golden


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
        "cluster render: Google reported no address of its API server; allowed: a cluster with a DNS "
        "endpoint; fix: gcloud container clusters update --enable-dns-access"
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


def test_a_cluster_can_fill_used_nodes_first(google: Recorder) -> None:
    fleet = l4()
    cluster(fleet)["create"]["autoscalingProfile"] = "OPTIMIZE_UTILIZATION"
    declare(google, fleet_plan(fleet))
    assert google.only(CLUSTER).inputs["clusterAutoscaling"] == {
        "enabled": False,
        "autoscalingProfile": "OPTIMIZE_UTILIZATION",
    }


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
    declare(google, replace(fleet_plan(l4()), environment=environment))
    assert bool(google.only(COMPONENT).protect) is protected
    assert google.only(POOL, "render-gpu").protect is False
    assert bool(google.only(CLUSTER).protect) is protected


def test_every_resource_of_google_names_the_cluster_s_provider(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    provider = google.only("pulumi:providers:gcp")
    for entry in google.registrations.values():
        if entry.type.startswith("gcp:"):
            assert entry.provider == f"{provider.urn}::{provider.name}-id"


def test_intent_is_plain_so_that_policies_can_check_it(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    assert google.only(COMPONENT).inputs == {
        "cloud": "gke",
        "kubernetes": "1.36",
        "project": "ml-render",
        "location": "us-central1",
        "adopted": False,
    }


PROJECT = Path(__file__).resolve().parents[4]


@pytest.mark.parametrize("example", ["gke-fallback", "gke-tpu", "gke-part-of-a-gpu", "gke-shared-gpu"])
def test_an_example_is_declared_exactly_as_before(example: str, google: Recorder, golden: Golden) -> None:
    declare(google, make_plan(read_stack_file(PROJECT / "examples" / f"{example}.yaml").settings))
    golden(f"{example.replace('-', '_')}.json", google.declared())


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


def test_a_part_of_a_gpu_has_its_daemons_beside_the_driver(google: Recorder) -> None:
    declare(google, fleet_plan(part()))
    pod = google.only(INSTALLER).inputs["spec"]["template"]["spec"]
    daemon, pause = pod["containers"]
    assert daemon["image"].startswith("gcr.io/gke-release/nvidia-persistenced-installer@sha256:")
    assert pause["name"] == "pause"
    assert "/etc/nvidia/machine_type.txt" in pod["initContainers"][0]["command"][-1]
    mounted = [{item["name"] for item in one["volumeMounts"]} for one in (daemon, pod["initContainers"][0])]
    assert all("nvidia-config" in names for names in mounted)
    assert mounted[0] | mounted[1] == {volume["name"] for volume in pod["volumes"]}


def test_stacks_that_share_a_cluster_have_separate_installers(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    first = google.only(INSTALLER).inputs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pulumi, "get_stack", lambda: "another")
        google.registrations.clear()
        declare(google, fleet_plan(l4()))
    second = google.only(INSTALLER).inputs
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert first["spec"]["selector"] != second["spec"]["selector"]


def test_the_driver_is_there_before_what_needs_it(google: Recorder) -> None:
    declare(google, fleet_plan(l4()))
    installer = google.only(INSTALLER)
    assert installer.urn in google.only(RELEASE).dependencies
    provider = google.only("pulumi:providers:kubernetes")
    assert {google.only(POOL, "render-gpu").urn, google.only(CLUSTER).urn} <= provider.dependencies
