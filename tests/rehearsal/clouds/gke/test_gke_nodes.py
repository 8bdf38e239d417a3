import pytest

from dra_fleet.rehearsal.clouds.neighbours import neighbours
from tests.rehearsal.clouds.gke.gke_project import L4, Project


def test_a_gpu_node_on_cos_starts_without_a_driver_and_can_get_one(gke: Project) -> None:
    gke.cluster()
    gke.pool()
    node = gke.node
    assert node.nvidia is None
    assert node.installable is not None
    assert (node.installable.image, node.installable.driver_root) == ("cos", "/home/kubernetes/bin/nvidia")
    assert node.advertised == {}
    assert node.labels["cloud.google.com/gke-accelerator"] == "nvidia-l4"
    assert node.labels["cloud.google.com/gke-os-distribution"] == "cos"
    assert "cloud.google.com/gke-gpu-driver-version" not in node.labels
    assert [(taint.key, taint.value, taint.effect) for taint in node.taints] == [
        ("nvidia.com/gpu", "present", "NoSchedule")
    ]


def test_ubuntu_has_another_driver_root(gke: Project) -> None:
    gke.cluster()
    gke.pool(config={"imageType": "UBUNTU_CONTAINERD"})
    assert gke.node.installable is not None
    assert (gke.node.installable.image, gke.node.installable.driver_root) == ("ubuntu", "/opt/nvidia")


@pytest.mark.parametrize("said", [None, "DEFAULT", "LATEST"])
def test_gke_installs_the_driver_with_its_plugin_and_advertises(said: str | None, gke: Project) -> None:
    accelerator = {**L4, "gpuDriverInstallationConfig": {"gpuDriverVersion": said} if said else None}
    gke.cluster()
    gke.pool(
        config={
            "guestAccelerators": [{key: value for key, value in accelerator.items() if value}],
            "labels": {},
        }
    )
    assert gke.node.nvidia is not None
    assert gke.node.advertised == {"nvidia.com/gpu": 1}
    version = gke.node.labels["cloud.google.com/gke-gpu-driver-version"]
    assert version == ("latest" if said == "LATEST" else "default")


def test_without_its_plugin_gke_s_own_installation_leaves_no_driver(gke: Project) -> None:
    accelerator = {**L4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
    gke.cluster()
    gke.pool(config={"guestAccelerators": [accelerator]})
    assert (gke.node.nvidia, gke.node.installable) == (None, None)


@pytest.mark.parametrize(("label", "advertised"), [("true", {}), ("false", {"google.com/tpu": 4})])
def test_the_tpu_plugin_advertises_unless_its_label_says_no(
    label: str, advertised: dict[str, int], gke: Project
) -> None:
    gke.cluster()
    labels = {"cloud.google.com/gke-tpu-dra-driver": label}
    gke.pool(config={"machineType": "ct6e-standard-4t", "guestAccelerators": None, "labels": labels})
    assert gke.node.advertised == advertised
    assert gke.node.labels["cloud.google.com/gke-tpu-accelerator"] == "tpu-v6e-slice"
    assert gke.node.labels["cloud.google.com/gke-tpu-topology"] == "2x2"
    assert [taint.key for taint in gke.node.taints] == ["google.com/tpu"]


def test_the_nodes_of_a_slice_carry_the_topology_of_the_whole(gke: Project) -> None:
    gke.cluster()
    gke.pool(
        config={"machineType": "ct6e-standard-4t", "guestAccelerators": None, "labels": {}},
        placementPolicy={"type": "COMPACT", "tpuTopology": "4x4"},
        queuedProvisioning={"enabled": True},
        initialNodeCount=4,
    )
    topologies = [node.labels["cloud.google.com/gke-tpu-topology"] for node in gke.planes.nodes["render"]]
    assert topologies == ["4x4"] * 4


def test_arm64_nodes_are_tainted(gke: Project) -> None:
    gke.cluster()
    accelerator = {**L4, "type": "nvidia-gb200", "count": 4}
    gke.pool(config={"machineType": "a4x-highgpu-4g", "guestAccelerators": [accelerator]})
    assert [taint.key for taint in gke.node.taints] == ["nvidia.com/gpu", "kubernetes.io/arch"]


def test_initial_counts_are_per_zone(gke: Project) -> None:
    gke.cluster()
    gke.pool(nodeLocations=["us-central1-a", "us-central1-b"], initialNodeCount=2)
    zones = [node.labels["topology.kubernetes.io/zone"] for node in gke.planes.nodes["render"]]
    assert sorted(zones) == ["us-central1-a", "us-central1-a", "us-central1-b", "us-central1-b"]
    assert len({node.name for node in gke.planes.nodes["render"]}) == 4


def test_nodes_with_an_accelerator_network_profile_say_so(gke: Project) -> None:
    gke.cluster()
    gke.pool(networkConfig={"acceleratorNetworkProfile": "auto"})
    assert gke.node.labels["gke.networks.io/accelerator-network-profile"] == "auto"


NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ACCOUNT = "gcp:serviceaccount/account:Account"
MEMBER = "gcp:projects/iAMMember:IAMMember"


def test_a_network_and_its_subnetwork_have_the_ids_that_clusters_name(gke: Project) -> None:
    network = gke.make(NETWORK, "gpu", {"name": "gpu", "autoCreateSubnetworks": False})
    assert network["selfLink"] == "https://www.googleapis.com/compute/v1/projects/ml/global/networks/gpu"
    inputs = {"name": "gpu", "network": network["id"], "ipCidrRange": "10.0.0.0/16"}
    subnetwork = gke.make(SUBNETWORK, "gpu", inputs)
    assert subnetwork["id"] == "projects/ml/regions/us-central1/subnetworks/gpu"
    assert gke.cluster(network=network["id"], subnetwork=subnetwork["id"])["network"] == network["id"]


def test_a_service_account_has_an_address_that_is_given_roles(gke: Project) -> None:
    account = gke.make(ACCOUNT, "nodes", {"accountId": "nodes"})
    assert account["email"] == "nodes@ml.iam.gserviceaccount.com"
    member = gke.make(MEMBER, "reads", {"role": "roles/storage.objectViewer", "member": account["member"]})
    assert member["id"] == f"ml/roles/storage.objectViewer/serviceAccount:{account['email']}"


def test_reports_missing_inputs_that_the_published_provider_requires(gke: Project) -> None:
    (failure,) = gke.check(SUBNETWORK, {"ipCidrRange": "10.0.0.0/16"}).failures
    assert (failure.path, failure.reason) == ("network", "missing required property 'network'")


@pytest.mark.parametrize("kind", sorted(neighbours("gke")))
def test_a_second_run_changes_nothing(kind: str, gke: Project) -> None:
    facts = neighbours("gke")[kind]
    inputs = dict.fromkeys(facts.required, "x")
    checked = gke.check(kind, inputs)
    gke.make(kind, "it", checked.inputs)
    assert gke.diff(kind, checked.inputs, gke.check(kind, inputs).inputs).changed == []
