"""The dev stack's plan, and files given as text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.checking import ManifestFile, ValuesFile, check
from fleet.plan import make_plan
from fleet.settings import read_stack_file

if TYPE_CHECKING:
    from fleet.plan.model import FleetPlan

ROOT = Path(__file__).parents[3]
RECIPES = ROOT / "tests" / "data" / "recipes"


@cache
def plan_of(path: Path = ROOT / "Pulumi.dev.yaml") -> FleetPlan:
    return make_plan(read_stack_file(path).settings)


def findings(text: str | bytes, stack: Path = ROOT / "Pulumi.dev.yaml") -> list[str]:
    """What is found in one file called f.yaml."""
    data = text.encode() if isinstance(text, str) else text
    found = check(plan_of(stack), [ManifestFile(name="f.yaml", data=data)])
    return [str(finding).removeprefix("f.yaml:") for finding in found]


def value_findings(
    text: str, stack: Path = ROOT / "Pulumi.dev.yaml", chart: str = "dra-driver-nvidia-gpu@0.5.0"
) -> list[str]:
    """What is found in a values file called v.yaml."""
    name, version = chart.split("@")
    values = ValuesFile(chart=name, version=version, name="v.yaml", data=text.encode())
    return [str(finding).removeprefix("v.yaml:") for finding in check(plan_of(stack), [], [values])]
