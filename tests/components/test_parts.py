import inspect
from typing import Any

import pulumi
import pytest
from pulumi.output import UNKNOWN
from pulumi.resource import DependencyResource

from components.parts import PARTS, References
from components.program.arguments import key_of
from components.provider import made, schema
from dra_fleet.testing import Recorder
from tests.components.clouds.aks.test_aks import azure
from tests.components.test_provider import AKS

__all__ = ["azure"]

LAB: dict[str, Any] = {"owner": "ml", "environment": "development", "kubernetes": "1.36", "kubeconfig": "k"}
POOL: dict[str, Any] = {"machine": "hgx-h100-8", "min": 1.0, "max": 1.0, "nodeSelector": {"pool": "h100"}}
LARGE: dict[str, Any] = {"driver": "nvidia", "type": "gpu", "memory": {"min": "40Gi"}}


class Program:
    """A program in another language, whose resources the engine registers one after another."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.urns: dict[str, str] = {}

    def declare(self, name: str, kind: str, *after: str, **inputs: Any) -> pulumi.Resource:
        """Declare a resource that depends on others, and return what a reference to it means."""
        token = f"dra-fleet:index:{kind}"

        def call() -> pulumi.Output[str]:
            depends_on = [DependencyResource(self.urns[one]) for one in after]
            return made(name, token, inputs, pulumi.ResourceOptions(depends_on=depends_on)).urn

        urn = self.recorder.value(self.recorder.run(call))
        self.urns[name] = urn
        return None if kind == "Demand" else References().construct(name, token, self.urns[name])  # pyright: ignore[reportReturnType]

    def lab(self, **inputs: Any) -> pulumi.Resource:
        """Declare a cluster with one pool of eight H100s."""
        lab = self.declare("lab", "ExistingCluster", **{**LAB, **inputs})
        self.declare("h100", "GpuNodePool", cluster=lab, **POOL)
        return lab

    def template(self, cluster: object, device_class: object, *after: str, **inputs: Any) -> pulumi.Resource:
        requests = {"gpu": {"deviceClass": device_class, "count": 1.0}}
        given = {"cluster": cluster, "namespace": "ml", "requests": requests, **inputs}
        return self.declare("single", "ResourceClaimTemplate", *after, **given)


@pytest.fixture
def program(recorder: Recorder) -> Program:
    return Program(recorder)


def test_parts_declare_the_objects_of_a_python_program(program: Program, recorder: Recorder) -> None:
    lab = program.lab()
    nvidia = program.declare("nvidia", "NvidiaDriver", "h100", cluster=lab, version="0.5.0")
    large = program.declare("large", "DeviceClass", cluster=lab, **{**LARGE, "driver": nvidia})
    single = program.template(lab, large)
    program.declare("inference", "Demand", template=single, replicas=8.0)
    release = recorder.only("kubernetes:helm.sh/v3:Release")
    driver = recorder.only("dra-fleet:index:NvidiaDriver")
    assert release.parent == driver.urn
    assert driver.parent == recorder.only("dra-fleet:clouds:ExistingCluster").urn
    template = recorder.only("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")
    (request,) = template.inputs["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"]["deviceClassName"] == "large"
    assert release.urn in template.dependencies
    published = recorder.published[recorder.only("dra-fleet:index:ResourceClaimTemplate").urn]
    assert published["name"] == template.inputs["metadata"]["name"]


def test_demand_that_does_not_fit_stops_its_call(program: Program) -> None:
    lab = program.lab()
    single = program.template(lab, "gpu.nvidia.com", "h100")
    text = "Demand inference: on cluster lab, never: inference: 9 x 1 devices are requested, and 8 can match"
    with pytest.raises(pulumi.InputPropertiesError) as refused:
        program.declare("inference", "Demand", template=single, replicas=9.0)
    assert refused.value.message.startswith(text)


def test_order_of_driver_and_class_must_be_defined(program: Program) -> None:
    lab = program.lab()
    program.declare("nvidia", "NvidiaDriver", "h100", cluster=lab, version="0.5.0")
    text = "DeviceClass large must be created after NvidiaDriver nvidia; fix: add NvidiaDriver nvidia to the"
    with pytest.raises(pulumi.InputPropertiesError, match=text):
        program.declare("large", "DeviceClass", "h100", cluster=lab, **LARGE)
    program.declare("large", "DeviceClass", "h100", "nvidia", cluster=lab, **LARGE)


def test_class_that_was_created_before_its_driver_is_refused_too(program: Program) -> None:
    lab = program.lab()
    program.declare("large", "DeviceClass", "h100", cluster=lab, **LARGE)
    with pytest.raises(pulumi.InputPropertiesError, match="DeviceClass large must be created after NvidiaDr"):
        program.declare("nvidia", "NvidiaDriver", "h100", cluster=lab, version="0.5.0")


def test_name_of_a_class_of_the_program_does_not_define_the_order(program: Program) -> None:
    lab = program.lab()
    program.declare("large", "DeviceClass", "h100", cluster=lab, **LARGE)
    with pytest.raises(
        pulumi.InputPropertiesError, match="ResourceClaimTemplate single must be created after"
    ):
        program.template(lab, "large", "h100")
    program.template(lab, "large", "large")


def test_output_with_a_known_value_is_a_value(program: Program, recorder: Recorder) -> None:
    lab = program.lab()
    recorder.run(
        lambda: made(
            "nvidia",
            "dra-fleet:index:NvidiaDriver",
            {"cluster": pulumi.Output.from_input(lab), "version": pulumi.Output.from_input("0.5.0")},
            pulumi.ResourceOptions(depends_on=[DependencyResource(program.urns["h100"])]),
        )
    )
    assert recorder.only("kubernetes:helm.sh/v3:Release").inputs["version"] == "0.5.0"


@pytest.mark.parametrize("kind", ["unknown", "secret"])
def test_value_that_no_preview_knows_is_refused_by_its_path(kind: str, program: Program) -> None:
    lab = program.lab()
    memory = {"min": UNKNOWN if kind == "unknown" else pulumi.Output.secret("40Gi")}
    with pytest.raises(pulumi.InputPropertyError) as refused:
        program.declare("large", "DeviceClass", "h100", cluster=lab, **{**LARGE, "memory": memory})
    assert refused.value.property_path == "memory.min"
    assert refused.value.reason.startswith("is a secret, or an output of a resource that no preview knows; ")


def test_namespace_can_be_unknown(program: Program, recorder: Recorder) -> None:
    lab = program.lab()
    program.template(lab, "gpu.nvidia.com", "h100", namespace=UNKNOWN)
    assert recorder.only("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate").name == "lab-single"


def test_error_has_the_names_of_inputs(program: Program) -> None:
    lab = program.lab()
    with pytest.raises(pulumi.InputPropertiesError) as refused:
        program.declare("large", "DeviceClass", "h100", cluster=lab, computeCapability={"min": "8.0"})
    text = "DeviceClass large: driver is required beside computeCapability; fix: add driver=…"
    assert refused.value.message == text


def test_component_that_this_deployment_did_not_declare_is_refused() -> None:
    with pytest.raises(pulumi.InputPropertiesError, match="lab is not declared in this deployment with the"):
        References().construct("lab", "dra-fleet:index:ExistingCluster", "urn:pulumi:other")


def test_cluster_must_be_a_component_of_the_program(program: Program) -> None:
    with pytest.raises(pulumi.InputPropertyError) as refused:
        program.declare("h100", "GpuNodePool", cluster="lab", **POOL)
    assert refused.value.property_path == "cluster"


def test_pool_has_the_settings_of_its_cloud(azure: Recorder) -> None:
    program = Program(azure)
    ml = program.declare("ml", "AksCluster", **{**AKS, "create": {"resourceGroup": "ml"}})
    pool = {"machine": "Standard_NV6ads_A10_v5", "min": 1.0, "max": 2.0, "osSku": "Ubuntu2404"}
    program.declare("spare", "GpuNodePool", cluster=ml, **pool)
    agents = azure.only("azure-native:containerservice:AgentPool", "ml-spare")
    assert (agents.inputs["osSKU"], agents.inputs["maxCount"]) == ("Ubuntu2404", 2)


def test_parts_use_what_a_cluster_declares_itself(program: Program) -> None:
    pools = {"h100": {"machine": "hgx-h100-8", "nodes": {"min": 1, "max": 1}, "nodeSelector": {"pool": "h"}}}
    nested = {"drivers": {"nvidia": {"version": "0.5.0"}}, "pools": pools, "classes": {"large": LARGE}}
    claims = {"one": {"requests": {"gpu": {"class": "large"}}}}
    workloads = {"train": {"claim": "one", "copies": 2.0}}
    lab = program.declare("lab", "ExistingCluster", **LAB, **nested, claims=claims, workloads=workloads)
    single = program.template(lab, "large")
    program.declare("six", "Demand", template=single, replicas=6.0)
    with pytest.raises(pulumi.InputPropertiesError, match="train, six, two together request 9 devices"):
        program.declare("two", "Demand", template=single, replicas=1.0)


def test_demand_in_a_production_cluster_without_pools_is_refused(program: Program) -> None:
    lab = program.declare("lab", "ExistingCluster", **{**LAB, "environment": "production"})
    single = program.template(lab, "gpu.nvidia.com")
    with pytest.raises(pulumi.InputPropertiesError, match="ExistingCluster lab: declares no pools"):
        program.declare("inference", "Demand", template=single, replicas=1.0)


def test_queues_of_a_cluster_follow_each_other(program: Program, recorder: Recorder) -> None:
    lab = program.lab()
    queue = {"cluster": lab, "namespace": "ml", "nominalQuota": {"gpus": 4.0}}
    first = {"version": "0.19.0", "deviceClassMappings": {"gpus": ["gpu.nvidia.com"]}}
    program.declare("team-a", "Queue", "h100", **queue, **first)
    with pytest.raises(pulumi.InputPropertiesError, match="Queue team-b must be created after Queue team-a"):
        program.declare("team-b", "Queue", "h100", **queue)
    program.declare("team-b", "Queue", "h100", "team-a", **queue)
    assert len([one for one in recorder.registrations.values() if one.type.endswith("ClusterQueue")]) == 2


@pytest.mark.parametrize("token", PARTS)
def test_every_argument_of_a_component_is_an_input(token: str) -> None:
    resource = schema()["resources"][token]
    parameters = inspect.signature(PARTS[token]).parameters.values()
    arguments = {key_of(one.name) for one in parameters} - {"name", "opts", "options"}
    assert arguments <= {*resource["inputProperties"]}
    assert [key for key in arguments if not resource["inputProperties"][key]["description"]] == []
    assert {*resource["requiredInputs"]} == {
        key_of(one.name) for one in parameters if one.default is one.empty and one.name != "name"
    }


def test_references_are_typed() -> None:
    inputs = schema()["resources"]["dra-fleet:index:DeviceClass"]["inputProperties"]
    drivers = [one.get("$ref", one.get("type")) for one in inputs["driver"]["oneOf"]]
    assert "#/resources/dra-fleet:index:NvidiaDriver" in drivers
    assert "string" in drivers
    request = schema()["types"]["dra-fleet:index:DeviceRequest"]["properties"]
    assert request["deviceClass"]["oneOf"][0] == {"$ref": "#/resources/dra-fleet:index:DeviceClass"}
