"""The stand-ins of the GPU Operator's charts: their values, and what they refuse."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.rehearsal.charts import stand_ins
from tests.rehearsal.charts.test_chart_25_8_1 import leaves

if TYPE_CHECKING:
    from dra_fleet.rehearsal.tools import Toolset

VERSIONS = ["v25.10.0", "v26.7.0"]


def helm(tools: Toolset, version: str, *settings: str) -> subprocess.CompletedProcess[str]:
    sets = [part for setting in settings for part in ("--set", setting)]
    chart = str(stand_ins()["gpu-operator", version])
    command = [str(tools.helm), "template", "gpu-operator", chart, "--namespace", "gpu-operator", *sets]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schema_allows_exactly_the_values_of_the_catalogue(version: str) -> None:
    schema: dict[str, Any] = json.loads(
        (stand_ins()["gpu-operator", version] / "values.schema.json").read_text()
    )
    entry = nvidia_facts.gpu_operator().judged_version(version)
    assert entry is not None
    assert leaves(schema) == set(entry.values)


@pytest.mark.engine
@pytest.mark.parametrize("version", VERSIONS)
def test_the_policy_has_what_the_values_say(tools: Toolset, version: str) -> None:
    done = helm(tools, version, "mig.strategy=mixed", "devicePlugin.enabled=false")
    assert done.stderr == ""
    objects: list[dict[str, Any]] = [item for item in yaml.safe_load_all(done.stdout) if item]
    (policy,) = (item["spec"] for item in objects if item["kind"] == "ClusterPolicy")
    entry = nvidia_facts.gpu_operator().judged_version(version)
    assert entry is not None
    assert (policy["driver"]["version"], policy["driver"]["enabled"]) == (entry.gpu_driver, True)
    assert (policy["mig"]["strategy"], policy["devicePlugin"]["enabled"]) == ("mixed", False)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("version", "setting", "text"),
    [
        ("v25.10.0", "drivr.enabled=true", "additional properties 'drivr' not allowed"),
        ("v25.10.0", "clusterPolicy.deployCR=true", "additional properties 'clusterPolicy' not allowed"),
        ("v25.10.0", "mig.strategy=double", "value must be one of 'none', 'single', 'mixed'"),
        ("v25.10.0", "sandboxWorkloads.enabled=true", "its operands for virtual machines are not simulated"),
        ("v25.10.0", "driver.nvidiaDriverCRD.enabled=true", "NVIDIADriver objects are not simulated"),
        ("v25.10.0", "migManager.config.create=true", "migManager.config.name must be set"),
        (
            "v26.7.0",
            "gpuCluster.deployCR=true",
            "clusterPolicy.deployCR and gpuCluster.deployCR are mutually",
        ),
    ],
)
def test_the_chart_refuses(tools: Toolset, version: str, setting: str, text: str) -> None:
    done = helm(tools, version, setting)
    assert done.returncode != 0
    assert text in done.stderr
