# ruff: noqa: E501 - YAML is written as in files

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from dra_fleet import check as checking
from dra_fleet.check import FileFinding, ManifestFile
from dra_fleet.check.selectors import (
    corrected,
    guarded_by_driver,
    guarded_by_presence,
    never_published,
    of_type,
)
from dra_fleet.cli.main import app
from dra_fleet.kubernetes.cel import CelDevice, environment
from tests.check.check_helpers import LAB, check, cluster, plan_on, value_findings
from tests.check.tables import Case, table
from tests.check.test_published_systems import exactly, template

H100 = cluster("hgx-h100-8")


def found(text: str, **clusters: Any) -> list[FileFinding]:
    return check(plan_on(**(clusters or {"lab": H100})), [ManifestFile(name="f", data=text.encode())])


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()


def test_json_lists_skipped_objects_as_skipped(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")
    result = CliRunner().invoke(app, ["check", str(file), "--stack", str(LAB), "--json"])
    content = json.loads(result.stdout)
    assert sum(content["skipped"].values()) == 1
    assert "passed" not in content


MISTAKES = [
    "device.attributes['gpu.nvidia.com/type'] == 'gpu'",
    "device.capacity['gpu.nvidia.com'].memory > '40Gi'",
    "device.driver = 'gpu.nvidia.com' and device.attributes['gpu.nvidia.com'].type.startswith('g')",
    "device.attributes['gpu.nvidia.com'].cudaComputeCapability >= '9.0'",
    "device.capacity['gpu.nvidia.com'].type == 'gpu'",
    "device.attributes['gpu.nvidia.com'].memory.compareTo(quantity('1Gi')) > 0",
    "device.attributes['gpu.nvidia.com'].pcieRoot == 'pci0000:00'",
    "device.attributes.productName == 'NVIDIA H100'",
    "device.attributes['gpu.nvidia.com'].type == 'gpu' || true",
]


@pytest.mark.parametrize("expression", MISTAKES)
def test_every_fix_that_writes_cel_compiles_and_evaluates(expression: str) -> None:
    cel = environment("1.36")
    fixes = [
        corrected(expression, cel),
        guarded_by_driver("device.attributes['gpu.nvidia.com'].type == 'gpu' || false", "gpu.nvidia.com"),
        guarded_by_presence(
            "device.attributes['gpu.nvidia.com'].uuid != ''", "device.attributes", "gpu.nvidia.com", "uuid"
        ),
        of_type("device.driver == 'gpu.nvidia.com'", "gpu.nvidia.com", "mig"),
        *(
            wrong[2]
            for variable in ("device.attributes", "device.capacity")
            for name in ("type", "memory", "pcieRoot")
            if (wrong := never_published(variable, "gpu.nvidia.com", name, expression)) is not None
            and wrong[2].startswith("device.")
        ),
    ]
    device = CelDevice.of({"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}, "gpu.nvidia.com")
    for fix in filter(None, fixes):
        assert cel.compile(fix).evaluate(device).outcome in ("true", "false", "error", "unknown")


def test_a_fix_never_names_another_driver() -> None:
    assert "gpu.nvidia.com" not in corrected("device.attributes['model'] == 'A770'", environment("1.36"))
    assert corrected("device.capacity['memory'].compareTo(quantity('1Gi')) > 0", environment("1.36")) == ""


def test_the_nearest_device_is_the_one_whose_text_is_most_alike() -> None:
    selector = ", selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A100-SXM4-40G'\"}}]"
    two = cluster("hgx-h100-8")
    two["pools"]["old"] = {**two["pools"]["gpus"], "machine": "dgx-a100-40-8", "nodeSelector": {"p": "old"}}
    (one,) = found(template("one", exactly("gpu", "gpu.nvidia.com", selector)), lab=two)
    assert "of pool old" in one.what


def test_checking_reports_how_many_objects_it_skipped() -> None:
    result = checking.check(
        plan_on(lab=H100),
        [ManifestFile(name="f", data=b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n")],
    )
    assert sum(result.passed.values()) == 1


CONTROLLER = """
gpuResourcesEnabledOverride: true
controller:
  nodeSelector: {%s}
"""


def test_a_controller_sent_only_to_a_tainted_pool_is_an_error(tmp_path: Path) -> None:
    lab = yaml.safe_load(LAB.read_text(encoding="utf-8"))
    clusters = lab["config"]["dra-fleet:fleet"]["clusters"]
    name, settings = next(iter(clusters.items()))
    pool = next(iter(settings["pools"].values()))
    pool["taints"] = [{"key": "example.com/gpus", "effect": "NoSchedule"}]
    label = ", ".join(f"{key}: {value}" for key, value in pool["nodeSelector"].items())
    stack = tmp_path / "tainted.yaml"
    stack.write_text(yaml.safe_dump(lab), encoding="utf-8")
    found_there = value_findings(CONTROLLER % label, stack)
    assert name
    assert any(
        "sends the controller only to pools whose taints it does not tolerate" in text for text in found_there
    )
