from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.review.assemble import exposure
from tests.clouds.aks import aks_fleets
from tests.clouds.eks import eks_fleets
from tests.clouds.gke import gke_fleets
from tests.review.cloud_pools import pool_change
from tests.rows import rows

FLEETS: dict[str, Callable[[], dict[str, Any]]] = {
    "aks": aks_fleets.vgpu,
    "gke": gke_fleets.l4,
    "eks": eks_fleets.h100,
}
MACHINE = {"aks": "vmSize", "gke": "nodeConfig.machineType", "eks": "instanceTypes[0]"}
ROLLING = {"aks": "orchestratorVersion", "gke": "version", "eks": "launchTemplate.version"}
IN_PLACE = {"aks": "maxCount", "gke": "autoscaling.maxNodeCount", "eks": "scalingConfig.maxSize"}


@pytest.mark.parametrize("cloud", FLEETS)
def test_a_replaced_pool_of_any_cloud_names_its_nodes_and_pods(cloud: str) -> None:
    review = pool_change(FLEETS[cloud](), "gpu", "replace", {MACHINE[cloud]: "update-replace"})
    (change,) = review.changes
    assert (change.kind, change.action, change.weight) == ("pool", "replace", "destructive")
    assert change.text.endswith("1 GPU node is replaced, 2 running claims lose their device")
    assert [pod.name for pod in review.blast.pods] == ["train-0", "train-1"]
    assert (review.blast.nodes, review.blast.claims) == (1, 2)
    assert review.verdict.decision == "person"


@pytest.mark.parametrize("cloud", FLEETS)
def test_a_pool_that_another_advertiser_replaces_names_the_pods_of_others_that_move(cloud: str) -> None:
    fleet = FLEETS[cloud]()
    server = {"name": "server-x", "namespace": "theirs", "owner": "server", "devices": ["1 x nvidia.com/gpu"]}
    others = [{**server, "node": "gpu-0"}, {**server, "name": "elsewhere", "node": "n9"}]
    review = pool_change(fleet, "gpu", "replace", {"name": "update-replace"}, others=others)
    assert [(pod.name, pod.workload, pod.devices) for pod in review.blast.pods] == [
        ("train-0", "train", ("gpu-0",)),
        ("train-1", "train", ("gpu-1",)),
        ("server-x", "server", ("1 x nvidia.com/gpu",)),
    ]
    assert "third-party pods that use devices of these pools" not in [item.what for item in review.unchecked]


@pytest.mark.parametrize("cloud", FLEETS)
def test_an_update_that_its_cloud_makes_by_new_nodes_takes_devices_as_well(cloud: str) -> None:
    review = pool_change(FLEETS[cloud](), "gpu", "update", {ROLLING[cloud]: "update"})
    (change,) = review.changes
    assert (change.action, change.lost_claims) == ("replace", 2)
    assert change.details == ("the cloud changes it by new nodes, one after the other",)
    assert [pod.name for pod in review.blast.pods] == ["train-0", "train-1"]


@pytest.mark.parametrize("cloud", FLEETS)
def test_new_bounds_of_a_pool_take_no_device(cloud: str) -> None:
    review = pool_change(FLEETS[cloud](), "gpu", "update", {IN_PLACE[cloud]: "update"})
    (change,) = review.changes
    assert (change.action, change.lost_claims) == ("update", 0)
    assert (review.blast.items, review.blast.pods) == ((), ())


@pytest.mark.parametrize("cloud", ["gke", "eks"])
def test_the_nodes_of_system_pods_have_no_devices_to_lose(cloud: str) -> None:
    review = pool_change(FLEETS[cloud](), "system", "replace", {MACHINE[cloud]: "update-replace"})
    (change,) = review.changes
    assert (change.kind, change.name, change.lost_claims) == ("other", "node pool of system pods", 0)
    assert review.blast.pods == ()


def reached(fleet: dict[str, Any], **access: object) -> tuple[str, str]:
    """Return the access to the API server of a fleet's only cluster, with its severity."""
    (cluster,) = fleet["clusters"].values()
    cluster["access"] = access
    facts = exposure(make_plan(parse(fleet)), ())
    (found,) = [item for item in facts if item.subject == "API server"]
    return found.text, found.level


@rows(
    __file__,
    "test_a_public_api_server_is_reported_and_one_open_to_everybody_is_a_warning",
    "cloud access text level",
)
def test_a_public_api_server_is_reported_and_one_open_to_everybody_is_a_warning(
    cloud: str, access: dict[str, object], text: str, level: str
) -> None:
    assert reached(FLEETS[cloud](), **access) == (text, level)


@pytest.mark.parametrize("cloud", FLEETS)
def test_credentials_of_every_cloud_are_reported_without_a_secret(cloud: str) -> None:
    facts = exposure(make_plan(parse(FLEETS[cloud]())), ())
    (found,) = [item for item in facts if item.subject == "credentials"]
    assert found.text.endswith("no kubeconfig holds a secret")
