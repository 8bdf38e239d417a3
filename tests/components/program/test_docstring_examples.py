import inspect
import re
import textwrap
from typing import Any

import pulumi
import pytest
from pulumi_kubernetes.core import v1 as core

import dra_fleet as dra
from tests.components.program.cluster_programs import KUBECONFIG, lab, template

EXAMPLE = re.compile(r"```python\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
FLEX: dra.GpuNodePoolArgsDict = {
    "machine": {"cpus": 64, "memory": 256},
    "min": 1,
    "max": 1,
    "node_selector": {"example.com/pool": "flex"},
    "devices": [{"driver": "gpu.intel.com", "name": "flex", "count": 2, "attributes": {"model": "Flex 170"}}],
}
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
            known["cluster"] = lab(pools={"flex": FLEX}) if name == "IntelDriver" else lab()
        if name == "Demand":
            known["single"] = template(known["cluster"])
        exec(compile(example, name, "exec"), known)  # noqa: S102 - our own text

    with dra.testing.recording(preview=True, config={"kubeconfig": KUBECONFIG}) as recorder:
        recorder.run(program)
    assert len(recorder.registrations) > 1
