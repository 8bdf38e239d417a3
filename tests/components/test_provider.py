from typing import Any, cast

import pulumi
import pytest
from pulumi.output import UNKNOWN
from pulumi.runtime import rpc

from components.provider import made, schema
from dra_fleet import clouds
from dra_fleet.fleet import FleetSettings
from dra_fleet.testing import Recorder, Secret
from tests.components.clouds.aks.test_aks import azure

__all__ = ["azure"]

FLEET = "dra-fleet:index:Fleet"
POOL = {"machine": "hgx-h100-8", "nodes": {"min": 1.0, "max": 1.0}, "nodeSelector": {"pool": "h100"}}
SITE = {"cloud": "existing", "kubeconfig": {"secret": "site"}, "drivers": {}, "pools": {"h100": POOL}}
INPUTS: dict[str, Any] = {
    "owner": "ml",
    "environment": "development",
    "kubernetes": "1.36",
    "clusters": {"site": SITE},
    "classes": {"big": {"driver": "nvidia", "type": "gpu", "memory": {"min": "20Gi"}}},
    "claims": {"one": {"requests": {"gpu": {"class": "big"}}}},
    "workloads": {"train": {"cluster": "site", "claim": "one", "copies": 2.0}},
    "kubeconfigs": {"site": "of the site"},
}


def construct(recorder: Recorder, token: str = FLEET, **inputs: Any) -> None:
    recorder.run(lambda: made("gpus", token, {**INPUTS, **inputs}))


def test_a_fleet_holds_its_clusters_and_reads_whole_numbers_sent_as_floats(recorder: Recorder) -> None:
    construct(recorder)
    fleet = recorder.only(FLEET)
    assert recorder.children(fleet.urn) == {("dra-fleet:clouds:ExistingCluster", "site")}
    assert recorder.only("kubernetes:batch/v1:Job").inputs["spec"]["completions"] == 2
    assert recorder.only("pulumi:providers:kubernetes").inputs["kubeconfig"].value == "of the site"


def test_a_cluster_is_named_as_its_component(recorder: Recorder) -> None:
    inputs = {key: INPUTS[key] for key in ("owner", "environment", "kubernetes", "kubeconfigs")}
    recorder.run(lambda: made("lab", "dra-fleet:index:Cluster", {**inputs, "cluster": SITE}))
    assert recorder.only("dra-fleet:clouds:ExistingCluster").name == "lab"


def test_rejects_workloads_that_do_not_fit_before_anything_is_registered(recorder: Recorder) -> None:
    workload = {"train": {"cluster": "site", "claim": "one", "copies": 9.0}}
    with pytest.raises(pulumi.InputPropertiesError, match="9 x 1 devices are requested, and 8 can match"):
        construct(recorder, workloads=workload)
    assert FLEET not in {entry.type for entry in recorder.registrations.values()}


@pytest.mark.parametrize("value", [UNKNOWN, pulumi.Output.from_input("1.36")], ids=["unknown", "an output"])
def test_a_value_that_no_preview_knows_is_refused_by_its_place(value: object, recorder: Recorder) -> None:
    with pytest.raises(pulumi.InputPropertyError) as refused:
        construct(recorder, clusters={"site": {**SITE, "kubernetes": value}})
    assert refused.value.property_path == "clusters.site.kubernetes"
    assert refused.value.reason == (
        "is a value of a resource, or a secret; allowed: a plain value, because the fleet is proved at "
        "preview; fix: write the value; pass a kubeconfig as kubeconfigs"
    )


AKS: dict[str, Any] = {
    "owner": "ml",
    "environment": "development",
    "kubernetes": "1.36",
    "region": "westeurope",
    "access": {"authorizedRanges": ["203.0.113.0/24"]},
    "drivers": {},
    "pools": {"a10": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": 1.0, "max": 1.0}}},
}


def test_values_that_the_proof_does_not_need_can_be_outputs_of_other_resources(azure: Recorder) -> None:
    create = {"resourceGroup": "ml", "subnet": pulumi.Output.from_input("of the program")}
    extra = {"diskEncryptionSetID": pulumi.Output.from_input("of a key")}
    given = {**AKS, "create": create, "extra": extra}
    azure.run(lambda: made("ml", "dra-fleet:index:AksCluster", given))
    pool = azure.only("azure-native:containerservice:AgentPool")
    assert pool.inputs["vnetSubnetID"] == "of the program"
    cluster = azure.only("azure-native:containerservice:ManagedCluster")
    assert cluster.inputs["diskEncryptionSetID"] == "of a key"


def test_an_output_of_another_resource_may_be_unknown_at_preview(azure: Recorder) -> None:
    given = {**AKS, "create": {"resourceGroup": "ml", "subnet": UNKNOWN}}
    azure.run(lambda: made("ml", "dra-fleet:index:AksCluster", given))
    pool = azure.only("azure-native:containerservice:AgentPool")
    assert pool.inputs["vnetSubnetID"] == rpc.UNKNOWN


def test_an_output_in_chart_values_is_refused(recorder: Recorder) -> None:
    drivers = {"nvidia": {"version": "0.5.0", "values": {"image": pulumi.Output.from_input("of a registry")}}}
    with pytest.raises(pulumi.InputPropertyError) as refused:
        recorder.run(lambda: made("ml", "dra-fleet:index:AksCluster", {**AKS, "drivers": drivers}))
    assert refused.value.property_path == "drivers.nvidia.values.image"


def test_a_kubeconfig_that_is_named_must_be_given(recorder: Recorder) -> None:
    with pytest.raises(pulumi.InputPropertyError) as refused:
        construct(recorder, kubeconfigs={})
    assert refused.value.property_path == "kubeconfigs.site"


def test_the_schema_has_every_key_of_a_fleet_with_its_description() -> None:
    inputs = schema()["resources"][FLEET]["inputProperties"]
    keys = FleetSettings.model_json_schema(by_alias=True)["properties"]
    assert set(inputs) == {*keys, "kubeconfigs"} - {"extends"}
    assert inputs["owner"] == {"type": "string", "plain": True, "description": keys["owner"]["description"]}
    assert inputs["budget"]["description"].startswith("Maximum cost of the fleet's machines.")
    assert [key for key, text in inputs.items() if not text["description"]] == []
    assert inputs["claims"]["additionalProperties"] == {
        "$ref": "#/types/dra-fleet:index:ClaimSettings",
        "plain": True,
    }
    assert inputs["kubeconfigs"]["secret"] is True


FREE = {"extra", "values", "parameters"}
"""Mappings with keys of a provider, a chart or a driver, which only those know."""


def untyped(value: object, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the paths of values of any type."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        if fields.get("$ref") == "pulumi.json#/Any":
            return [path]
        return [found for key, item in fields.items() for found in untyped(item, (*path, key))]
    if isinstance(value, list):
        return [found for item in cast("list[object]", value) for found in untyped(item, path)]
    return []


def test_every_input_has_a_type_except_arguments_of_others() -> None:
    written = schema()
    resources = {name: resource["inputProperties"] for name, resource in written["resources"].items()}
    paths = [*untyped(written["types"]), *untyped(resources)]
    assert {path for path in paths if not FREE & {*path}} == set()
    assert len(written["types"]) > 100


def test_every_cloud_has_a_cluster_resource_with_the_keys_of_its_settings() -> None:
    resources = schema()["resources"]
    for cloud in clouds.BUILT_IN:
        inputs = resources[f"dra-fleet:index:{cloud.capitalize()}Cluster"]["inputProperties"]
        keys = clouds.named(cloud).settings.model_json_schema(by_alias=True)["properties"]
        assert {*keys, "classes", "claims", "demand", "queues", "workloads"} - {"cloud"} <= {*inputs}
    kubeconfig = resources["dra-fleet:index:ExistingCluster"]["inputProperties"]["kubeconfig"]
    assert (kubeconfig["type"], kubeconfig["secret"], kubeconfig.get("plain")) == ("string", True, None)
    pool = schema()["types"]["dra-fleet:index:AksPoolSettings"]["properties"]
    assert pool["sharing"]["discriminator"]["mapping"] == {
        "exclusive": "#/types/dra-fleet:index:ExclusiveSharing",
        "mig": "#/types/dra-fleet:index:MigSharing",
        "mps": "#/types/dra-fleet:index:Mps",
        "time-slicing": "#/types/dra-fleet:index:TimeSlicing",
    }
    assert pool["nodes"]["$ref"] == "#/types/dra-fleet:index:NodeRange"


def test_cluster_of_one_cloud_is_the_cluster_of_its_workloads(recorder: Recorder) -> None:
    inputs = {key: INPUTS[key] for key in ("owner", "environment", "kubernetes", "classes", "claims")}
    own = {key: value for key, value in SITE.items() if key not in {"cloud", "kubeconfig"}}
    kubeconfig = pulumi.Output.from_input("of the lab")
    workloads = {"train": {"claim": "one", "copies": 2.0}}
    given: dict[str, Any] = {**inputs, **own, "kubeconfig": kubeconfig, "workloads": workloads}
    recorder.run(lambda: made("lab", "dra-fleet:index:ExistingCluster", given))
    cluster = recorder.only("dra-fleet:index:ExistingCluster")
    assert recorder.children(cluster.urn) == {("dra-fleet:clouds:ExistingCluster", "lab")}
    assert recorder.only("pulumi:providers:kubernetes").inputs["kubeconfig"] == Secret("of the lab")
    assert recorder.only("kubernetes:batch/v1:Job").inputs["spec"]["completions"] == 2


def test_unknown_input_of_a_cluster_is_one_sentence(recorder: Recorder) -> None:
    inputs = {key: INPUTS[key] for key in ("owner", "environment", "kubernetes")}
    given: dict[str, Any] = {**inputs, "kubeconfig": "k", "featureGate": {}, "pools": {"h100": POOL}}
    with pytest.raises(pulumi.InputPropertiesError, match="did you mean featureGates"):
        recorder.run(lambda: made("lab", "dra-fleet:index:ExistingCluster", given))


def test_the_schema_knows_the_words_that_an_input_may_be() -> None:
    environment = schema()["resources"][FLEET]["inputProperties"]["environment"]
    assert environment["$ref"] == "#/types/dra-fleet:index:Environment"
    words = schema()["types"]["dra-fleet:index:Environment"]["enum"]
    assert [word["value"] for word in words] == ["development", "staging", "production"]
