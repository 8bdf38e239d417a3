import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest

import dra_fleet as dra
from dra_fleet.testing import Recorder
from tests.components.program.cluster_programs import H100, KUBECONFIG, lab, template

A10: dra.GpuNodePoolArgsDict = {"machine": "Standard_NV6ads_A10_v5", "min": 1, "max": 1}
H100_NODE: dra.GpuNodePoolArgsDict = {"machine": "p5.4xlarge", "min": 1, "max": 1}
L4: dra.GpuNodePoolArgsDict = {"machine": "g2-standard-24", "min": 1, "max": 1, "zones": ["us-central1-a"]}
ACK: dra.GpuNodePoolArgsDict = {"machine": "ecs.gn7i-c8g1.2xlarge", "min": 1, "max": 1}
EKS: dict[str, Any] = {
    "region": "us-east-1",
    "kubernetes_version": "1.35",
    "pools": {"h100": H100_NODE},
    "network": {"zones": ["us-east-1a", "us-east-1b"]},
    "access": {"public_ranges": ["203.0.113.0/24"]},
}
GPU = {"gpu": {"device_class": "gpu.nvidia.com"}}


def of_lab(**more: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"cluster": lab(), **more}


COMPONENTS: dict[str, Callable[[], Mapping[str, Any]]] = {
    "ExistingCluster": lambda: {
        "kubeconfig": KUBECONFIG, "kubernetes_version": "1.36", "pools": {"h100": H100},
    },
    "AksCluster": lambda: {
        "region": "westeurope", "kubernetes_version": "1.36", "pools": {"a10": A10},
        "access": {"authorized_ranges": ["203.0.113.0/24"]},
    },
    "GkeCluster": lambda: {
        "project": "ml-platform", "location": "us-central1", "kubernetes_version": "1.35",
        "pools": {"l4": L4}, "access": {"external": True},
    },
    "EksCluster": lambda: EKS,
    "AckCluster": lambda: {
        "region": "ap-southeast-1", "kubernetes_version": "1.36", "pools": {"a10": ACK},
        "network": {"zones": ["ap-southeast-1a", "ap-southeast-1b"]}, "access": {"public": False},
    },
    "GpuNodePool": of_lab(machine="hgx-h100-8", min=1, max=1, node_selector={"example.com/pool": "more"}),
    "DraDriver": of_lab(version="0.5.0"),
    "NvidiaDriver": of_lab(version="0.5.0"),
    "AmdDriver": of_lab(version="1.0.1"),
    "IntelDriver": of_lab(version="0.11.1"),
    "GpuOperator": lambda: {"cluster": dra.EksCluster("gpus", **EKS), "version": "v25.10.0"},
    "DeviceClass": of_lab(driver="nvidia"),
    "ResourceClaimTemplate": of_lab(namespace="ml", requests=GPU),
    "ResourceClaim": of_lab(namespace="ml", requests=GPU),
    "ComputeDomain": of_lab(namespace="ml"),
    "Queue": of_lab(
        namespace="ml", nominal_quota={"gpus": 1}, version="0.19.0",
        device_class_mappings={"gpus": ["gpu.nvidia.com"]},
    ),
    "Demand": lambda: {"template": template(), "replicas": 1},
}  # fmt: skip
"""Arguments of each component without its name."""

WRONG: dict[str, Callable[[], object]] = {
    "object": object,
    "number": lambda: 3.5,
    "text": lambda: "no such thing",
    "list": lambda: [object()],
    "mapping": lambda: {"no_such_key": object()},
    "output": lambda: pulumi.Output.from_input("x"),
}
RIGHT = {
    ("ExistingCluster", "kubeconfig", "text"),
    ("ExistingCluster", "context", "text"),
    ("ExistingCluster", "cluster_id", "text"),
    ("NvidiaDriver", "name", "text"),
    ("AmdDriver", "name", "text"),
    ("IntelDriver", "name", "text"),
    ("GpuOperator", "name", "text"),
    ("ResourceClaimTemplate", "namespace", "text"),
    ("ResourceClaim", "namespace", "text"),
    ("ComputeDomain", "namespace", "text"),
    ("Demand", "name", "text"),
    ("Demand", "cpu", "number"),
    ("Demand", "memory", "number"),
}
"""Arguments for which a value of `WRONG` is right."""


def arguments(name: str) -> list[str]:
    parameters = inspect.signature(getattr(dra, name)).parameters
    return [key for key in parameters if key not in {"self", "opts"}]


def declare(name: str, arguments: Mapping[str, Any]) -> None:
    if name != "Demand":
        arguments = {"name": "nvidia" if name == "DraDriver" else "x", **arguments}
    getattr(dra, name)(**arguments)


def test_every_component_is_in_the_contract() -> None:
    public = {name for name in dra.__all__ if inspect.isclass(getattr(dra, name))}
    assert {name for name in public if not name.endswith(("Args", "ArgsDict"))} == {*COMPONENTS}


CASES = [(name, argument) for name in COMPONENTS for argument in arguments(name)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "argument"), CASES, ids=["-".join(case) for case in CASES])
def test_wrong_value_is_one_sentence_with_component_and_argument(name: str, argument: str) -> None:
    takes_outputs = str(inspect.signature(getattr(dra, name)).parameters[argument].annotation).startswith(
        "pulumi.Input["
    )
    for kind, value in WRONG.items():
        if (name, argument, kind) in RIGHT or (kind == "output" and takes_outputs):
            continue

        def program(value: Callable[[], object] = value) -> None:
            declare(name, {**COMPONENTS[name](), argument: value()})

        with dra.testing.recording(preview=True) as recorder, pytest.raises(pulumi.RunError) as refused:
            recorder.run(program)
        message = str(refused.value)
        assert message.startswith(name), (kind, message)
        assert argument in message, (kind, message)
        assert len(message.splitlines()) == 1, (kind, message)
        assert "Traceback" not in message


@pytest.mark.parametrize("name", COMPONENTS)
def test_unknown_and_missing_arguments_are_one_sentence(name: str, recorder: Recorder) -> None:
    recorder.preview = True

    def program() -> None:
        with pytest.raises(pulumi.RunError, match=rf"^{name}.*: machin is not an argument; allowed: "):
            declare(name, {**COMPONENTS[name](), "machin": 3})
        with pytest.raises(pulumi.RunError, match=rf"^{name}.* is required; fix: add \w+=…"):
            declare(name, {})

    recorder.run(program)
