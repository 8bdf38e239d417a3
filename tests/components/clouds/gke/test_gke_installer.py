from typing import Any

import pulumi
import pytest

from dra_fleet.testing import Recorder
from tests.clouds.gke.gke_fleets import cluster, l4, part, pool
from tests.components.clouds.gke.gke_declared import (
    CLUSTER,
    INSTALLER,
    POOL,
    RELEASE,
    declare,
    every,
    fleet_plan,
)


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
