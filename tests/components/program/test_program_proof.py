import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pulumi
import pytest
from pulumi_kubernetes.core import v1 as core

import dra_fleet as dra
from components.program import planning
from dra_fleet.testing import Recorder
from tests.components.program.cluster_programs import H100, lab, template

CLASS = "kubernetes:resource.k8s.io/v1:DeviceClass"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"
CLAIM = "kubernetes:resource.k8s.io/v1:ResourceClaim"
MIG: dra.GpuNodePoolArgsDict = {**H100, "sharing": {"strategy": "mig", "layout": {"1g.10gb": 7}}}


def refusal(recorder: Recorder, program: Callable[[], object]) -> str:
    with pytest.raises(pulumi.RunError) as refused:
        recorder.run(program)
    return str(refused.value)


def stopped(recorder: Recorder, declare: Callable[[dra.ExistingCluster], object]) -> str:
    """Run a program whose last constructor fails; return its error."""
    errors: list[str] = []

    def program() -> None:
        cluster = lab()
        with pytest.raises(pulumi.RunError) as refused:
            declare(cluster)
        errors.append(str(refused.value))

    recorder.run(program)
    return errors[0]


def test_class_is_declared_under_its_exact_name(recorder: Recorder) -> None:
    recorder.run(
        lambda: dra.DeviceClass("mig-10g", cluster=lab(pools={"h100": MIG}), driver="nvidia", type="mig")
    )
    made = recorder.only(CLASS)
    assert made.name == "lab-mig-10g"
    assert made.inputs["metadata"] == {
        "name": "mig-10g",
        "labels": {"app.kubernetes.io/managed-by": "dra-fleet", "dra-fleet/owner": "dra-fleet"},
    }


def test_class_of_intent_and_expressions_has_both(recorder: Recorder) -> None:
    expression = "device.attributes['gpu.nvidia.com'].architecture == 'Hopper'"
    recorder.run(
        lambda: dra.DeviceClass(
            "hopper", cluster=lab(), driver="nvidia", type="gpu", memory={"min": "20Gi"}, cel=[expression]
        )
    )
    first, second = [item["cel"]["expression"] for item in recorder.only(CLASS).inputs["spec"]["selectors"]]
    assert "quantity('20Gi')" in first
    assert second == expression


def test_class_that_matches_no_device_stops_the_program(recorder: Recorder) -> None:
    found = stopped(
        recorder,
        lambda cluster: dra.DeviceClass("huge", cluster=cluster, driver="nvidia", memory={"min": "1Ti"}),
    )
    assert found.startswith("DeviceClass huge: class huge matches 0 of 8 devices")
    assert "memory.compareTo(quantity('1Ti')) >= 0` is false on the nearest device" in found
    assert not [entry for entry in recorder.registrations.values() if entry.type == CLASS]


@pytest.mark.parametrize("pools", [{"h100": H100}, None])
def test_wrong_expression_stops_the_program_with_or_without_pools(pools: Any, recorder: Recorder) -> None:
    def program() -> None:
        dra.DeviceClass("typo", cluster=lab(pools=pools), cel=["device.drver == 'gpu.nvidia.com'"])

    assert refusal(recorder, program).startswith(
        "DeviceClass typo: selector 0 is rejected by the API server of Kubernetes 1.36: compilation failed: "
        "ERROR: <input>:1:7: undefined field 'drver'"
    )


def test_template_that_fits_no_pool_stops_the_program(recorder: Recorder) -> None:
    request = {"device_class": "gpu.nvidia.com", "count": 9}
    assert stopped(recorder, lambda cluster: template(cluster, requests={"gpu": request})) == (
        "ResourceClaimTemplate single: on cluster lab: pool h100: request gpu (class gpu.nvidia.com) "
        "requests 9 devices of one node, and 8 of its 8 match; fix: request at most 8, or choose a machine "
        "with more of them"
    )


def test_pods_use_a_template_by_its_name_of_now(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab()
        big = dra.DeviceClass("big", cluster=cluster, driver="nvidia", type="gpu")
        single = template(cluster, requests={"gpu": {"device_class": big}})
        core.Pod(
            "trainer",
            spec=core.PodSpecArgs(
                resource_claims=[single.pod_claim()],
                containers=[
                    core.ContainerArgs(
                        name="main",
                        resources=core.ResourceRequirementsArgs(claims=[single.container_claim()]),
                    )
                ],
            ),
        )

    recorder.run(program)
    made, pod = recorder.only(TEMPLATE), recorder.only("kubernetes:core/v1:Pod")
    name = made.inputs["metadata"]["name"]
    assert name.startswith("single-")
    assert pod.inputs["spec"]["resourceClaims"] == [{"name": "single", "resourceClaimTemplateName": name}]
    assert pod.inputs["spec"]["containers"][0]["resources"]["claims"] == [{"name": "single"}]
    assert made.urn in pod.dependencies
    assert recorder.only(CLASS).urn in made.dependencies


def test_shared_claim_is_used_by_its_exact_name(recorder: Recorder) -> None:
    parts: list[Any] = []

    def program() -> None:
        claim = dra.ResourceClaim(
            "shared.gpu", cluster=lab(), namespace="ml",
            requests={"gpu": dra.DeviceRequestArgs(device_class="gpu.nvidia.com")},
        )  # fmt: skip
        parts.extend([claim.pod_claim(), claim.container_claim(request="gpu")])

    recorder.run(program)
    assert recorder.only(CLAIM).inputs["metadata"]["name"] == "shared.gpu"
    assert (parts[0].name, parts[1].name, parts[1].request) == ("shared-gpu", "shared-gpu", "gpu")
    assert recorder.value(parts[0].resource_claim_name) == "shared.gpu"


def test_alternatives_may_name_classes_as_objects(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab()
        big = dra.DeviceClass("big", cluster=cluster, driver="nvidia", type="gpu")
        alternatives = [
            {"name": "one", "device_class": big},
            {"name": "any", "device_class": "gpu.nvidia.com"},
        ]
        template(cluster, requests={"gpu": {"first_available": alternatives}})

    recorder.run(program)
    request = recorder.only(TEMPLATE).inputs["spec"]["spec"]["devices"]["requests"][0]
    assert [item["deviceClassName"] for item in request["firstAvailable"]] == ["big", "gpu.nvidia.com"]


def test_namespace_may_be_an_output(recorder: Recorder) -> None:
    def program() -> None:
        home = core.Namespace("home", metadata={"name": "ml"})
        template(namespace=home.metadata.name)

    recorder.run(program)
    made = recorder.only(TEMPLATE)
    assert made.inputs["metadata"]["namespace"] == "ml"
    assert recorder.only("kubernetes:core/v1:Namespace").urn in made.dependencies


def test_demand_is_proved_together_at_the_end_of_the_program(recorder: Recorder) -> None:
    def program() -> None:
        single = template()
        dra.Demand(single, replicas=5)
        dra.Demand(single, replicas=5, name="batch")

    assert refusal(recorder, program) == (
        "Demand batch: on cluster lab, in every order some pod waits: batch, single together request 10 "
        "devices, and 8 can match; fix: run fewer replicas, or raise max"
    )


def test_four_replicas_on_three_devices_are_refused(recorder: Recorder) -> None:
    machine = {"gpu": "A100-SXM4-40GB", "gpus": 3, "cpus": 32, "memory": 256}
    cluster_pools = {"three": {**H100, "machine": machine}}
    assert refusal(recorder, lambda: dra.Demand(template(lab(pools=cluster_pools)), replicas=4)) == (
        "Demand single: on cluster lab, never: single: 4 x 1 devices are requested, and 3 can match; "
        "fix: run 3 replicas at most, or raise max"
    )


def test_demand_tolerates_only_the_taints_that_it_names(recorder: Recorder) -> None:
    taint = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}

    def program(*, tolerates: bool) -> None:
        cluster = lab(pools={"h100": {**H100, "taints": [taint]}})
        dra.Demand(template(cluster), replicas=1, tolerations=cluster.tolerations() if tolerates else ())

    assert "sku=gpu:NoSchedule" in refusal(recorder, lambda: program(tolerates=False))
    recorder.registrations.clear()
    recorder.run(lambda: program(tolerates=True))
    assert recorder.only(TEMPLATE)


def test_prove_answers_before_the_program_ends(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab()
        demand = dra.Demand(template(cluster), replicas=9)
        with pytest.raises(pulumi.RunError, match=f"^Demand {demand.name}: on cluster lab, never: "):
            dra.prove(cluster)
        dra.prove()
        raise RuntimeError("the end")

    with pytest.raises((RuntimeError, pulumi.RunError)):
        recorder.run(program)


def test_failed_constructor_is_the_only_error_of_a_program(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab()
        dra.Demand(template(cluster), replicas=9)
        dra.DeviceClass("huge", cluster=cluster, driver="nvidia", memory={"min": "1Ti"})

    assert refusal(recorder, program).startswith("DeviceClass huge: ")


def test_whole_cluster_waits_for_the_end_of_a_program_that_runs_the_loop(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function call without an Output runs the event loop in the middle of a program."""
    root = SimpleNamespace(_outputs_registered=False)
    monkeypatch.setattr(pulumi.runtime, "get_root_resource", lambda: root)
    monkeypatch.setattr(planning, "PAUSE", 0)
    before_the_end: list[str] = []

    def program() -> pulumi.Output[None]:
        dra.Demand(template(), replicas=9)

        async def rest() -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            before_the_end.append("nothing is proved yet")
            root._outputs_registered = True

        return pulumi.Output.from_input(rest())

    assert refusal(recorder, program).startswith("Demand single: on cluster lab, never: ")
    assert before_the_end == ["nothing is proved yet"]


def test_sdk_marks_the_end_of_a_program() -> None:
    """The end is read from the stack's resource, which the SDK keeps to itself."""
    from pulumi.runtime.stack import Stack  # noqa: PLC0415 - the class whose mark is read

    assert "_outputs_registered" in vars(Stack)["_finish"].__code__.co_names


@pytest.mark.parametrize("environment", ["development", "production"])
def test_cluster_without_pools_is_not_proved(
    environment: str, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    def program() -> None:
        dra.Demand(template(lab(pools=None, environment=environment)), replicas=1)

    message = (
        "ExistingCluster lab: declares no pools, so that nothing in it is proved; "
        "fix: add pools={…} or a GpuNodePool"
    )
    if environment == "production":
        assert refusal(recorder, program) == message
    else:
        recorder.run(program)
        assert message in caplog.text
