import asyncio

import pulumi
import pytest
from pulumi_kubernetes.core import v1 as core

import dra_fleet as dra
from tests.components.program.cluster_programs import lab


def program() -> dra.ResourceClaimTemplate:
    cluster = lab()
    team = core.Namespace("ml", metadata={"name": "ml"}, opts=cluster.member_opts())
    return dra.ResourceClaimTemplate(
        "one",
        cluster=cluster,
        namespace=team.metadata.name,
        requests={"gpu": {"device_class": "gpu.nvidia.com"}},
    )


def test_recorder_reads_inputs_dependencies_and_secrets() -> None:
    with dra.testing.recording() as recorder:
        template = recorder.run(program)
        assert recorder.value(template.metadata.namespace) == "ml"
    declared = recorder.only("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate")
    namespace = recorder.only("kubernetes:core/v1:Namespace")
    assert declared.inputs["metadata"]["namespace"] == "ml"
    assert namespace.urn in declared.dependencies
    kubeconfig = recorder.only("pulumi:providers:kubernetes").inputs["kubeconfig"]
    assert isinstance(kubeconfig, dra.testing.Secret)
    assert recorder.calls == []


def test_preview_leaves_outputs_of_providers_unknown() -> None:
    with dra.testing.recording(preview=True) as recorder:
        template = recorder.run(program)
        assert recorder.value(template.id) is None


def test_project_and_stack_are_in_the_urns() -> None:
    recorder = dra.testing.Recorder(project="gpus", stack="prod")
    with dra.testing.recording():
        recorder.run(program)
    assert {urn.split("::")[0] + urn.split("::")[1] for urn in recorder.registrations} == {
        "urn:pulumi:prodgpus"
    }


def test_error_of_a_program_reaches_the_test_and_the_next_test_starts_clean() -> None:
    with (
        dra.testing.recording() as recorder,
        pytest.raises(pulumi.RunError, match="ExistingCluster lab: pools must be a dict"),
    ):
        recorder.run(lambda: lab(pools=3))
    with dra.testing.recording() as recorder:
        recorder.run(program)
        assert asyncio.get_event_loop().is_running() is False
    assert len(recorder.registrations) > 1


def test_function_without_an_answer_and_type_without_a_resource_fail() -> None:
    with dra.testing.recording() as recorder:
        with pytest.raises(AssertionError, match="the program called example:index:get"):
            recorder.run(lambda: pulumi.runtime.invoke("example:index:get", {"name": "x"}))
        with pytest.raises(AssertionError, match="0 of kubernetes:core/v1:Secret"):
            recorder.only("kubernetes:core/v1:Secret")
