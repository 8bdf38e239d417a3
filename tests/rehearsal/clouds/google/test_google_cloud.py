"""The simulated Google Cloud without control planes: every refusal in its words, and the nodes it makes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from rehearsal.clouds.cloud import Resource
from rehearsal.clouds.google.cloud import GET_CLUSTER, GoogleCloud
from rehearsal.clouds.google.limits import metric
from rehearsal.clouds.refusals import CloudRefusal, TypeNotCoveredError
from rehearsal.clouds.values import UNKNOWN_TEXT
from rehearsal.world.errors import InvalidRequestError
from rehearsal.world.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from clusters.client import Object
    from rehearsal.clouds.cloud import Change, Checked
    from rehearsal.world.hardware import NodeHardware

CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"
L4 = {
    "type": "nvidia-l4",
    "count": 1,
    "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"},
}
TRIPLE = {
    "gke-no-default-nvidia-gpu-device-plugin": "true",
    "nvidia.com/gpu.present": "true",
    "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
}


class Planes:
    """Remembers what it was asked."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[NodeHardware]] = {}
        self.versions: dict[str, str] = {}
        self.applied: list[Object] = []

    def names(self) -> set[str]:
        return set(self.versions)

    async def start(self, name: str, *, version: str, scheduler: tuple[str, ...] | None, tokens: str) -> None:
        del scheduler
        assert tokens.endswith('"system:masters"\n')
        self.versions[name] = version

    async def upgrade(self, name: str, *, version: str, scheduler: tuple[str, ...] | None) -> None:
        del scheduler
        self.versions[name] = version

    async def set_nodes(self, name: str, version: str, nodes: Sequence[NodeHardware]) -> None:
        assert version == self.versions[name]
        self.nodes[name] = list(nodes)

    async def apply(self, name: str, objects: Sequence[Object]) -> None:
        assert name in self.versions
        self.applied += objects

    async def stop(self, name: str) -> None:
        del self.versions[name]

    def address(self, name: str) -> tuple[str, bytes]:
        return f"https://127.0.0.1:1/{name}", b"ca"

    def admin_kubeconfig(self, name: str) -> str:
        return f"admin of {name}"


class Project:
    """A simulated Google Cloud with short ways to make things."""

    def __init__(self, store: Store) -> None:
        self.planes = Planes()
        self.cloud = GoogleCloud(store, self.planes)

    def resource(self, kind: str, name: str, identifier: str = "") -> Resource:
        urn = f"urn:pulumi:dev::tiny::{kind}::{name}"
        config = {"project": "ml", "region": "us-central1"}
        return Resource(type=kind, urn=urn, config=config, identifier=identifier)

    def check(self, kind: str, inputs: dict[str, Any]) -> Checked:
        return self.cloud.check(self.resource(kind, "it"), {}, inputs, "1a2b3c4d")

    def make(self, kind: str, name: str, inputs: dict[str, Any]) -> dict[str, Any]:
        checked = self.cloud.check(self.resource(kind, name), {}, inputs, "1a2b3c4d")
        assert not checked.failures
        found = asyncio.run(self.cloud.create(self.resource(kind, name), checked.inputs, preview=False))
        return {"id": found.identifier, **found.state}

    def cluster(self, **more: Any) -> dict[str, Any]:
        inputs = {
            "name": "render",
            "minMasterVersion": "1.35",
            "removeDefaultNodePool": True,
            "initialNodeCount": 1,
            "deletionProtection": False,
            "datapathProvider": "ADVANCED_DATAPATH",
        }
        return self.make(CLUSTER, "render", {**inputs, **more})

    def pool(self, name: str = "gpu", config: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
        inputs: dict[str, Any] = {
            "name": name,
            "cluster": "render",
            "nodeLocations": ["us-central1-a"],
            "initialNodeCount": 1,
            "nodeConfig": {
                "machineType": "g2-standard-8",
                "guestAccelerators": [L4],
                "labels": TRIPLE,
                **(config or {}),
            },
        }
        return self.make(POOL, name, {**inputs, **more})

    def diff(self, kind: str, olds: dict[str, Any], news: dict[str, Any]) -> Change:
        return self.cloud.diff(self.resource(kind, "it"), olds, news)

    @property
    def node(self) -> NodeHardware:
        """The last machine that joined."""
        return self.planes.nodes["render"][-1]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    store = Store(tmp_path / "world.db")
    yield Project(store)
    store.close()


def test_a_cluster_runs_the_channel_s_default_of_its_minor(project: Project) -> None:
    made = project.cluster()
    assert made["id"] == "projects/ml/locations/us-central1/clusters/render"
    assert made["masterVersion"] == "1.35.8-gke.1036000"
    assert project.planes.versions == {"render": "v1.35.8-gke.1036000"}
    assert [item["metadata"]["name"] for item in project.planes.applied] == [
        "computeclasses.cloud.google.com"
    ]


@pytest.mark.parametrize("asked", ["1.35.8-gke.1036000", "1.35.8", "1.35", "1.35.7-gke.99"])
def test_versions_are_asked_for_in_google_s_grammar(asked: str, project: Project) -> None:
    version = project.cluster(minMasterVersion=asked)["masterVersion"]
    assert version == ("1.35.7-gke.99" if asked.endswith("99") else "1.35.8-gke.1036000")


@pytest.mark.parametrize("asked", ["1.33", "v1.35", "1.35.8-eks-1", "1.99.1-gke.1"])
def test_a_version_that_is_not_offered_is_refused(asked: str, project: Project) -> None:
    with pytest.raises(CloudRefusal) as refused:
        project.cluster(minMasterVersion=asked)
    assert str(refused.value) == (
        f'googleapi: Error 400: Master version "{asked}" is unsupported; available: 1.34.9-gke.1234000, '
        "1.35.8-gke.1036000, 1.36.3-gke.1089000, INVALID_ARGUMENT"
    )


def test_the_function_tells_where_the_api_server_is(project: Project) -> None:
    project.cluster()
    found = asyncio.run(
        project.cloud.invoke(GET_CLUSTER, {"name": "render", "location": "us-central1"}, {"project": "ml"})
    )
    [config] = found["controlPlaneEndpointsConfigs"]
    assert config["dnsEndpointConfigs"] == [{"endpoint": "127.0.0.1:1/render"}]
    assert found["masterAuths"][0]["clusterCaCertificate"] == "Y2E="


def test_a_gpu_node_on_cos_comes_without_a_driver_and_can_get_one(project: Project) -> None:
    project.cluster()
    project.pool()
    node = project.node
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


def test_ubuntu_has_another_driver_root(project: Project) -> None:
    project.cluster()
    project.pool(config={"imageType": "UBUNTU_CONTAINERD"})
    assert project.node.installable is not None
    assert (project.node.installable.image, project.node.installable.driver_root) == ("ubuntu", "/opt/nvidia")


@pytest.mark.parametrize("said", [None, "DEFAULT", "LATEST"])
def test_gke_installs_the_driver_with_its_plugin_and_advertises(said: str | None, project: Project) -> None:
    accelerator = {**L4, "gpuDriverInstallationConfig": {"gpuDriverVersion": said} if said else None}
    project.cluster()
    project.pool(
        config={
            "guestAccelerators": [{key: value for key, value in accelerator.items() if value}],
            "labels": {},
        }
    )
    assert project.node.nvidia is not None
    assert project.node.advertised == {"nvidia.com/gpu": 1}
    version = project.node.labels["cloud.google.com/gke-gpu-driver-version"]
    assert version == ("latest" if said == "LATEST" else "default")


def test_without_its_plugin_gke_s_own_installation_leaves_no_driver(project: Project) -> None:
    accelerator = {**L4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}
    project.cluster()
    project.pool(config={"guestAccelerators": [accelerator]})
    assert (project.node.nvidia, project.node.installable) == (None, None)


@pytest.mark.parametrize(("label", "advertised"), [("true", {}), ("false", {"google.com/tpu": 4})])
def test_the_tpu_plugin_advertises_unless_its_label_says_no(
    label: str, advertised: dict[str, int], project: Project
) -> None:
    project.cluster()
    labels = {"cloud.google.com/gke-tpu-dra-driver": label}
    project.pool(config={"machineType": "ct6e-standard-4t", "guestAccelerators": None, "labels": labels})
    assert project.node.advertised == advertised
    assert project.node.labels["cloud.google.com/gke-tpu-accelerator"] == "tpu-v6e-slice"
    assert project.node.labels["cloud.google.com/gke-tpu-topology"] == "2x2"
    assert [taint.key for taint in project.node.taints] == ["google.com/tpu"]


def test_arm64_nodes_are_tainted(project: Project) -> None:
    project.cluster()
    accelerator = {**L4, "type": "nvidia-gb200", "count": 4}
    project.pool(config={"machineType": "a4x-highgpu-4g", "guestAccelerators": [accelerator]})
    assert [taint.key for taint in project.node.taints] == ["nvidia.com/gpu", "kubernetes.io/arch"]


def test_initial_counts_are_per_zone(project: Project) -> None:
    project.cluster()
    project.pool(nodeLocations=["us-central1-a", "us-central1-b"], initialNodeCount=2)
    zones = [node.labels["topology.kubernetes.io/zone"] for node in project.planes.nodes["render"]]
    assert sorted(zones) == ["us-central1-a", "us-central1-a", "us-central1-b", "us-central1-b"]
    assert len({node.name for node in project.planes.nodes["render"]}) == 4


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (
        {"machineType": "g2-standard-24"},
        {},
        "Machine type g2-standard-24 cannot have 1 x nvidia-l4; allowed: 2 x nvidia-l4",
    ),
    (
        {"machineType": "g2-standard-9"},
        {},
        (
            "Machine type with name 'g2-standard-9' is not known to the simulated Google Cloud; nearest: "
            "g2-standard-96, g2-standard-8, g2-standard-4. Add it to the catalogue of machines if it exists"
        ),
    ),
    (
        {},
        {"nodeLocations": ["europe-west4-a"]},
        "Node pool gpu: zone europe-west4-a is not in the cluster's region us-central1",
    ),
    (
        {"labels": {"kubernetes.io/role": "x"}},
        {},
        "Node pool gpu: label kubernetes.io/role is reserved for Kubernetes; choose another prefix",
    ),
    (
        {},
        {"autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 2, "minNodeCount": 1}},
        "Node pool gpu: totalMaxNodeCount and minNodeCount cannot be used together",
    ),
    (
        {},
        {"autoscaling": {"totalMinNodeCount": 3, "totalMaxNodeCount": 2}},
        "Node pool gpu: totalMinNodeCount 3 is more than totalMaxNodeCount 2",
    ),
    (
        {"spot": True, "reservationAffinity": {"consumeReservationType": "ANY_RESERVATION"}},
        {},
        "Node pool gpu: reservation affinity ANY_RESERVATION cannot be used here; use NO_RESERVATION",
    ),
    (
        {"spot": True, "flexStart": True},
        {},
        "Node pool gpu: spot cannot be combined with flex-start or queued provisioning",
    ),
    (
        {"flexStart": True},
        {"management": {"autoRepair": True}},
        "Node pool gpu: flex-start needs management.autoRepair false",
    ),
    (
        {"flexStart": True},
        {"placementPolicy": {"type": "COMPACT"}},
        "Node pool gpu: flex-start allows compact placement only with A3 Ultra, A4 and H4D",
    ),
    (
        {},
        {"queuedProvisioning": {"enabled": True}, "placementPolicy": {"type": "COMPACT"}},
        "Node pool gpu: queued provisioning cannot be combined with compact placement",
    ),
    (
        {},
        {
            "placementPolicy": {"type": "COMPACT"},
            "nodeLocations": ["us-central1-a", "us-central1-b"],
        },
        "Node pool gpu: compact placement needs exactly one zone",
    ),
    (
        {"reservationAffinity": {"consumeReservationType": "SPECIFIC_RESERVATION"}},
        {},
        "Node pool gpu: SPECIFIC_RESERVATION needs key compute.googleapis.com/reservation-name and values",
    ),
    (
        {},
        {"management": {"autoUpgrade": False}},
        "Node pool gpu: Auto_upgrade must be true when release_channel REGULAR is set",
    ),
]


@pytest.mark.parametrize(("config", "more", "text"), REFUSED)
def test_gke_refuses_a_pool(
    config: dict[str, Any], more: dict[str, Any], text: str, project: Project
) -> None:
    project.cluster()
    with pytest.raises(CloudRefusal) as refused:
        project.pool(config=config, **more)
    assert str(refused.value) == f"googleapi: Error 400: {text}, INVALID_ARGUMENT"


def test_a_quota_counts_all_pools_of_the_project(project: Project) -> None:
    project.cloud.configure({"limits": {"quotas": {"nvidia-l4": 2}}})
    project.cluster()
    project.pool("first")
    with pytest.raises(CloudRefusal) as refused:
        project.pool("second", initialNodeCount=2)
    assert str(refused.value) == (
        "googleapi: Error 429: Insufficient quota to satisfy the request: quota NVIDIA_L4_GPUS exceeded, "
        "limit 2 in region us-central1, in use 1, requested 2. Ask for more quota, or for fewer nodes, "
        "RESOURCE_EXHAUSTED"
    )


@pytest.mark.parametrize("gone", ["us-central1-a", "g2-standard-8"])
def test_a_zone_may_have_no_machine_left(gone: str, project: Project) -> None:
    project.cloud.configure({"limits": {"stockOuts": [gone]}})
    project.cluster()
    with pytest.raises(CloudRefusal, match="ZONE_RESOURCE_POOL_EXHAUSTED: The zone 'us-central1-a' does not"):
        project.pool()


def test_limits_that_are_none_are_refused(project: Project) -> None:
    with pytest.raises(InvalidRequestError, match="limits of the simulated Google Cloud are not valid"):
        project.cloud.configure({"limits": {"quotas": {"nvidia-l4": -1}}})


@pytest.mark.parametrize(
    ("kind", "inputs", "path", "text"),
    [
        (POOL, {"nodeConfig": {"bogus": 1}}, "nodeConfig", 'has no field named "bogus"'),
        (
            POOL,
            {
                "nodeConfig": {
                    "guestAccelerators": [
                        {**L4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "BOGUS"}}
                    ]
                }
            },
            "nodeConfig",
            "Invalid enum value BOGUS",
        ),
        (POOL, {"autoscaling": {"locationPolicy": "ALL"}}, "autoscaling", "Invalid enum value ALL"),
        (POOL, {"initialNodeCount": "many"}, "initialNodeCount", "many"),
        (CLUSTER, {"datapathProvider": "V2"}, "datapathProvider", "Invalid enum value V2"),
        (CLUSTER, {"releaseChannel": {"channel": "FAST"}}, "releaseChannel", "Invalid enum value FAST"),
        (CLUSTER, {"name": "Render"}, "name", "'Render' is no allowed name"),
        (CLUSTER, {"name": "a" * 41}, "name", "is no allowed name; allowed: 1 to 40 lower-case letters"),
    ],
)
def test_inputs_are_held_to_the_protobufs(
    kind: str, inputs: dict[str, Any], path: str, text: str, project: Project
) -> None:
    complete = {"cluster": "render", **inputs} if kind == POOL else inputs
    [failure] = project.check(kind, complete).failures
    assert failure.path == path
    assert text in failure.reason


def test_what_becomes_known_later_is_not_judged(project: Project) -> None:
    inputs = {"cluster": UNKNOWN_TEXT, "nodeConfig": {"labels": {"a": UNKNOWN_TEXT}, "spot": UNKNOWN_TEXT}}
    assert project.check(POOL, inputs).failures == []


def test_names_and_places_are_completed(project: Project) -> None:
    inputs = project.check(CLUSTER, {}).inputs
    assert (inputs["name"], inputs["project"], inputs["location"]) == ("it-1a2b3c4", "ml", "us-central1")


@pytest.mark.parametrize(
    ("kind", "olds", "news", "replacing"),
    [
        (POOL, {"nodeConfig": {"spot": False}}, {"nodeConfig": {"spot": True}}, ["nodeConfig.spot"]),
        (POOL, {"nodeConfig": {"labels": {}}}, {"nodeConfig": {"labels": {"a": "b"}}}, []),
        (POOL, {"initialNodeCount": 1}, {"initialNodeCount": 2}, ["initialNodeCount"]),
        (POOL, {"nodeCount": 1}, {"nodeCount": 2}, []),
        (CLUSTER, {"network": "a"}, {"network": "b"}, ["network"]),
        (CLUSTER, {"minMasterVersion": "1.35"}, {"minMasterVersion": "1.36"}, []),
    ],
)
def test_what_cannot_change_in_place_replaces(
    kind: str, olds: dict[str, Any], news: dict[str, Any], replacing: list[str], project: Project
) -> None:
    assert project.diff(kind, olds, news).replacing == replacing


def test_a_pool_changes_in_place_and_goes(project: Project) -> None:
    project.cluster()
    made = project.pool()
    where = project.resource(POOL, "gpu", made["id"])
    inputs = {key: made[key] for key in ("name", "cluster", "location", "project", "nodeConfig")}
    news = {**inputs, "nodeLocations": ["us-central1-a"], "nodeCount": 2}
    asyncio.run(project.cloud.update(where, {}, news, preview=False))
    assert len(project.planes.nodes["render"]) == 2
    asyncio.run(project.cloud.delete(where))
    assert project.planes.nodes["render"] == []
    assert asyncio.run(project.cloud.read(where)) is None


def test_a_control_plane_is_upgraded_in_place(project: Project) -> None:
    made = project.cluster()
    where = project.resource(CLUSTER, "render", made["id"])
    news = {
        "name": "render",
        "location": "us-central1",
        "removeDefaultNodePool": True,
        "minMasterVersion": "1.36",
    }
    found = asyncio.run(project.cloud.update(where, {}, news, preview=False))
    assert found.state["masterVersion"] == "1.36.3-gke.1089000"
    assert project.planes.versions == {"render": "v1.36.3-gke.1089000"}


def test_a_locked_cluster_is_not_deleted(project: Project) -> None:
    made = project.cluster(deletionProtection=True)
    with pytest.raises(
        CloudRefusal, match="Cannot destroy cluster render because deletion_protection is set"
    ):
        asyncio.run(project.cloud.delete(project.resource(CLUSTER, "render", made["id"])))


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"enableAutopilot": True}, "the rehearsal has no Autopilot clusters"),
        ({"removeDefaultNodePool": False}, "the rehearsal makes no default node pool"),
        (
            {"enableMultiNetworking": True, "datapathProvider": "LEGACY_DATAPATH"},
            "Multi-networking requires datapathProvider ADVANCED_DATAPATH",
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(more: dict[str, Any], text: str, project: Project) -> None:
    with pytest.raises(CloudRefusal, match=text):
        project.cluster(**more)


def test_a_pool_needs_its_cluster(project: Project) -> None:
    with pytest.raises(CloudRefusal, match="Not found: projects/ml/locations/us-central1/clusters/render"):
        project.pool()


def test_a_name_is_given_once(project: Project) -> None:
    project.cluster()
    with pytest.raises(
        CloudRefusal, match="Already exists: projects/ml/locations/us-central1/clusters/render"
    ):
        project.cluster(network="other")


def test_a_type_that_is_not_simulated_is_named(project: Project) -> None:
    with pytest.raises(
        TypeNotCoveredError, match="the simulated Google Cloud has no resource type gcp:x/y:Z"
    ):
        project.check("gcp:x/y:Z", {})


def test_a_quota_is_named_as_google_does() -> None:
    assert metric("nvidia-l4") == "NVIDIA_L4_GPUS"
    assert metric("tpu-v6e-slice") == "TPU_V6E_SLICE_CHIPS"


def test_the_token_is_good_for_every_cluster(project: Project) -> None:
    first, second = project.cloud.credential({}), project.cloud.credential({})
    assert first["token"] == second["token"]
