import asyncio
from typing import Any

import pytest

from dra_fleet.clouds.gke.simulation.cloud import GET_CLUSTER
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CloudRefusal, TypeNotCoveredError
from tests.rehearsal.clouds.gke.gke_project import CLUSTER, L4, POOL, Project


def test_a_cluster_runs_the_channel_s_default_of_its_minor(gke: Project) -> None:
    made = gke.cluster()
    assert made["id"] == "projects/ml/locations/us-central1/clusters/render"
    assert made["masterVersion"] == "1.35.8-gke.1036000"
    assert gke.planes.versions == {"render": "v1.35.8-gke.1036000"}
    assert [(item["kind"], item["metadata"]["name"]) for item in gke.planes.applied] == [
        ("CustomResourceDefinition", "computeclasses.cloud.google.com"),
        ("CustomResourceDefinition", "provisioningrequests.autoscaling.x-k8s.io"),
        ("Namespace", "gke-managed-networking-dra-driver"),
        *((kind, "networking-dra-driver") for kind in ("ServiceAccount", "ClusterRole")),
        *((kind, "networking-dra-driver") for kind in ("ClusterRoleBinding", "DaemonSet")),
        *(("DeviceClass", f"{name}.google.com") for name in ("mrdma", "netdev")),
    ]


def test_a_cluster_below_dranet_s_floor_has_none_of_it(gke: Project) -> None:
    gke.cluster(minMasterVersion="1.34.1-gke.1127000")
    assert [item["kind"] for item in gke.planes.applied] == ["CustomResourceDefinition"] * 2


@pytest.mark.parametrize("asked", ["1.35.8-gke.1036000", "1.35.8", "1.35", "1.35.7-gke.99"])
def test_versions_are_asked_for_in_google_s_grammar(asked: str, gke: Project) -> None:
    version = gke.cluster(minMasterVersion=asked)["masterVersion"]
    assert version == ("1.35.7-gke.99" if asked.endswith("99") else "1.35.8-gke.1036000")


@pytest.mark.parametrize("asked", ["1.33", "v1.35", "1.35.8-eks-1", "1.99.1-gke.1"])
def test_a_version_that_is_not_offered_is_refused(asked: str, gke: Project) -> None:
    with pytest.raises(CloudRefusal) as refused:
        gke.cluster(minMasterVersion=asked)
    assert str(refused.value) == (
        f'googleapi: Error 400: Master version "{asked}" is unsupported; available: 1.34.9-gke.1234000, '
        "1.35.8-gke.1036000, 1.36.3-gke.1089000, INVALID_ARGUMENT"
    )


def test_the_function_reports_where_the_api_server_is(gke: Project) -> None:
    gke.cluster()
    found = asyncio.run(
        gke.cloud.invoke(GET_CLUSTER, {"name": "render", "location": "us-central1"}, {"project": "ml"})
    )
    [config] = found["controlPlaneEndpointsConfigs"]
    assert config["dnsEndpointConfigs"] == [{"endpoint": "127.0.0.1:1/render"}]
    assert found["masterAuths"][0]["clusterCaCertificate"] == "Y2E="


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
        (CLUSTER, {"name": "Render"}, "name", "'Render' is not an allowed name"),
        (CLUSTER, {"name": "a" * 41}, "name", "is not an allowed name; allowed: 1 to 40 lower-case letters"),
    ],
)
def test_inputs_are_checked_against_the_protobufs(
    kind: str, inputs: dict[str, Any], path: str, text: str, gke: Project
) -> None:
    complete = {"cluster": "render", **inputs} if kind == POOL else inputs
    [failure] = gke.check(kind, complete).failures
    assert failure.path == path
    assert text in failure.reason


def test_values_that_become_known_later_are_not_checked(gke: Project) -> None:
    inputs = {"cluster": UNKNOWN_TEXT, "nodeConfig": {"labels": {"a": UNKNOWN_TEXT}, "spot": UNKNOWN_TEXT}}
    assert gke.check(POOL, inputs).failures == []


def test_names_and_places_are_completed(gke: Project) -> None:
    inputs = gke.check(CLUSTER, {}).inputs
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
def test_changes_that_need_a_replacement_replace(
    kind: str, olds: dict[str, Any], news: dict[str, Any], replacing: list[str], gke: Project
) -> None:
    assert gke.diff(kind, olds, news).replacing == replacing


def test_a_pool_changes_in_place_and_is_deleted(gke: Project) -> None:
    gke.cluster()
    made = gke.pool()
    where = gke.resource(POOL, "gpu", made["id"])
    inputs = {key: made[key] for key in ("name", "cluster", "location", "project", "nodeConfig")}
    news = {**inputs, "nodeLocations": ["us-central1-a"], "nodeCount": 2}
    asyncio.run(gke.cloud.update(where, {}, news, preview=False))
    assert len(gke.planes.nodes["render"]) == 2
    asyncio.run(gke.cloud.delete(where))
    assert gke.planes.nodes["render"] == []
    assert asyncio.run(gke.cloud.read(where)) is None


def test_a_control_plane_is_upgraded_in_place(gke: Project) -> None:
    made = gke.cluster()
    where = gke.resource(CLUSTER, "render", made["id"])
    news = {
        "name": "render",
        "location": "us-central1",
        "removeDefaultNodePool": True,
        "minMasterVersion": "1.36",
    }
    found = asyncio.run(gke.cloud.update(where, {}, news, preview=False))
    assert found.state["masterVersion"] == "1.36.3-gke.1089000"
    assert gke.planes.versions == {"render": "v1.36.3-gke.1089000"}


def test_a_locked_cluster_is_not_deleted(gke: Project) -> None:
    made = gke.cluster(deletionProtection=True)
    with pytest.raises(
        CloudRefusal, match="Cannot destroy cluster render because deletion_protection is set"
    ):
        asyncio.run(gke.cloud.delete(gke.resource(CLUSTER, "render", made["id"])))


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
def test_a_cluster_that_cannot_be_is_refused(more: dict[str, Any], text: str, gke: Project) -> None:
    with pytest.raises(CloudRefusal, match=text):
        gke.cluster(**more)


def test_a_name_is_given_once(gke: Project) -> None:
    gke.cluster()
    with pytest.raises(
        CloudRefusal, match="Already exists: projects/ml/locations/us-central1/clusters/render"
    ):
        gke.cluster(network="other")


def test_a_type_that_is_not_simulated_is_named(gke: Project) -> None:
    with pytest.raises(
        TypeNotCoveredError, match="the simulated Google Cloud has no resource type gcp:x/y:Z"
    ):
        gke.check("gcp:x/y:Z", {})


def test_the_token_is_good_for_every_cluster(gke: Project) -> None:
    first, second = gke.cloud.credential({}), gke.cloud.credential({})
    assert first["token"] == second["token"]


def test_a_name_that_another_stack_s_cluster_has_is_refused(gke: Project) -> None:
    gke.cluster()
    with pytest.raises(CloudRefusal) as refused:
        gke.cluster(location="europe-west4")
    assert str(refused.value) == (
        "googleapi: Error 409: (rehearsal) this rehearsal has a cluster render already, and a simulated "
        "cluster's name is its own in all clouds and stacks. Give it another name, end the other stack with "
        "`pulumi destroy --run-program`, or rehearse in another home: DRA_FLEET_HOME=DIRECTORY, "
        "ALREADY_EXISTS"
    )
