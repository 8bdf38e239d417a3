"""The charts' CRDs and the typed ComputeDomain: what is written is known, what is required is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.drivers.nvidia.objects import (
    ChannelTemplate,
    ComputeDomainChannel,
    ComputeDomainSpec,
)
from dra_fleet.rehearsal.charts import stand_ins

if TYPE_CHECKING:
    from pathlib import Path

CHARTS = [
    stand_ins()["dra-driver-nvidia-gpu", "0.5.0"],
    stand_ins()["nvidia-dra-driver-gpu", "25.8.1"],
]


def spec_schema(chart: Path) -> dict[str, Any]:
    text = (chart / "crds" / "resource.nvidia.com_computedomains.yaml").read_text()
    (version,) = yaml.safe_load(text)["spec"]["versions"]
    return version["schema"]["openAPIV3Schema"]["properties"]["spec"]


def faults(value: Any, schema: dict[str, Any], path: str = "spec") -> list[str]:
    """Fields that the schema does not know, or requires and does not get."""
    if schema["type"] != "object":
        allowed = schema.get("enum")
        return [] if allowed is None or value in allowed else [f"{path}: {value} is not in {allowed}"]
    found = [f"{path}.{key}: required" for key in schema.get("required", []) if key not in value]
    for key, item in value.items():
        below = schema["properties"].get(key)
        found += [f"{path}.{key}: unknown"] if below is None else faults(item, below, f"{path}.{key}")
    return found


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
@pytest.mark.parametrize("mode", ["Single", "All", None])
def test_a_typed_compute_domain_is_one_that_the_chart_s_definition_takes(chart: Path, mode: Any) -> None:
    channel = ComputeDomainChannel(
        resource_claim_template=ChannelTemplate(name="channel"), allocation_mode=mode
    )
    assert faults(ComputeDomainSpec(channel=channel).to_object(), spec_schema(chart)) == []


def test_a_field_that_is_missing_or_unknown_would_be_seen() -> None:
    schema = spec_schema(CHARTS[1])
    assert faults({"channel": {"resourceClaimTemplate": {"nam": "x"}}}, schema) == [
        "spec.numNodes: required",
        "spec.channel.resourceClaimTemplate.name: required",
        "spec.channel.resourceClaimTemplate.nam: unknown",
    ]


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart.name)
def test_the_spec_cannot_change(chart: Path) -> None:
    assert spec_schema(chart)["x-kubernetes-validations"] == [
        {"rule": "self == oldSelf", "message": "A computeDomain.spec is immutable"}
    ]
