import asyncio
import inspect
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pulumi
import pytest
from pulumi_kubernetes.core import v1 as core

import dra_fleet as dra
from tests.components.program.cluster_programs import H100, KUBECONFIG, lab, template

PROJECT = Path(__file__).resolve().parents[3]
PROGRAM = """
import json, sys
from dra_fleet import {names}
print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""
SDKS = {"pulumi_azure_native", "pulumi_gcp", "pulumi_aws", "pulumi_alicloud", "pulumi_kubernetes"}


def loaded(names: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(names=names)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    return SDKS & set(json.loads(done.stdout))


def test_package_exports_the_components_and_nothing_unknown() -> None:
    assert {"ExistingCluster", "AksCluster", "GpuNodePool", "NvidiaDriver", "Demand"} < set(dra.__all__)
    assert set(dra.__all__) <= set(dir(dra))
    for name in dra.__all__:
        assert getattr(dra, name).__name__ == name
    with pytest.raises(AttributeError, match="module 'dra_fleet' has no attribute 'AksClusters'"):
        getattr(dra, "AksClusters")  # noqa: B009 - no such name is declared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("fleet", set[str]()),
        (
            "ExistingCluster, GpuNodePool, NvidiaDriver, DeviceClass, ResourceClaimTemplate, Demand",
            {"kubernetes"},
        ),
        ("AksCluster", {"kubernetes", "azure_native"}),
        ("GkeCluster", {"kubernetes", "gcp"}),
        ("EksCluster", {"kubernetes", "aws"}),
        ("AckCluster", {"kubernetes", "alicloud"}),
    ],
)
def test_name_loads_the_sdk_of_its_cloud_only(names: str, expected: set[str]) -> None:
    assert loaded(names) == {f"pulumi_{name}" for name in expected}


@pytest.mark.parametrize("name", [name for name in dra.__all__ if name[0].isupper() and "Args" not in name])
def test_signature_shows_documented_keyword_arguments(name: str) -> None:
    component = getattr(dra, name)
    first, *others = inspect.signature(component).parameters.values()
    assert first.name == ("template" if name == "Demand" else "name")
    assert others
    assert {one.kind for one in others} == {inspect.Parameter.KEYWORD_ONLY}
    if name != "Demand":
        assert (others[-1].name, others[-1].default) == ("opts", None)
    documented = component if "Arguments: see" not in component.__doc__ else component.__mro__[1]
    described = set(re.findall(r"^ {4,8}(\w+): ", documented.__doc__, re.MULTILINE))
    assert {first.name, *(one.name for one in others)} <= described


def test_stubs_of_checkout_and_wheel_declare_the_same_names() -> None:
    stub = (PROJECT / "dra_fleet" / "__init__.pyi").read_text()
    installed = (PROJECT / "dra_fleet" / "__init__.pyi.installed").read_text()
    assert installed == stub.replace("from components.", "from dra_fleet.components.")
    declared: list[str] = re.findall(
        r"^from components\.program\.\w+ import (\w+) as \1$", stub, re.MULTILINE
    )
    assert sorted(declared) == sorted(dra.__all__)


EXAMPLE = re.compile(r"```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
FLEX: dra.GpuNodePoolArgsDict = {
    "machine": {"cpus": 64, "memory": 256},
    "min": 1,
    "max": 1,
    "node_selector": {"example.com/pool": "flex"},
    "devices": [{"driver": "gpu.intel.com", "name": "flex", "count": 2, "attributes": {"model": "Flex 170"}}],
}
MI300X: dra.GpuNodePoolArgsDict = {**H100, "machine": "oam-mi300x-8"}
POOLS = {"IntelDriver": FLEX, "AmdDriver": MI300X}
CLASSES = [name for name in dra.__all__ if not name.endswith(("Args", "ArgsDict")) and name != "prove"]


def train() -> dra.EksCluster:
    return dra.EksCluster(
        "train",
        region="us-east-1",
        kubernetes_version="1.35",
        access={"public_ranges": ["203.0.113.0/24"]},
        network={"zones": ["us-east-1a", "us-east-1b"]},
        pools={"h100": {"machine": "p5.4xlarge", "min": 2, "max": 2}},
    )


@pytest.mark.parametrize("name", CLASSES)
def test_example_of_the_class_runs(name: str) -> None:
    documentation = inspect.getdoc(getattr(dra, name)) or ""
    (found,) = EXAMPLE.findall(documentation)
    example = textwrap.dedent(found)
    assert f"dra.{name}(" in example

    def program() -> None:
        known: dict[str, Any] = {"dra": dra, "config": pulumi.Config(), "core": core}
        if "cluster=train" in example:
            known["train"] = train()
        if "cluster=cluster" in example or "cluster." in example:
            known["cluster"] = lab(pools={"gpus": POOLS.get(name, H100)})
        if name == "Demand":
            known["single"] = template(known["cluster"])
        exec(compile(example, name, "exec"), known)  # noqa: S102 - our own text

    with dra.testing.recording(preview=True, config={"kubeconfig": KUBECONFIG}) as recorder:
        recorder.run(program)
    assert len(recorder.registrations) > 1


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


def test_project_and_stack_of_an_earlier_run_are_in_no_urn() -> None:
    for project, stack in (("gpus", "prod"), ("lab", "dev")):
        recorder = dra.testing.Recorder(project=project, stack=stack)
        with dra.testing.recording():
            recorder.run(program)
        named = [urn for entry in recorder.registrations.values() for urn in (entry.urn, entry.parent) if urn]
        assert {tuple(urn.split("::")[:2]) for urn in named} == {(f"urn:pulumi:{stack}", project)}
        assert f"urn:pulumi:{stack}::{project}::pulumi:pulumi:Stack::{project}-{stack}" in named


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
