"""The settings of a stack of one cluster, changed a little, and its plan."""

import copy
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import FleetPlan, make_plan
from dra_fleet.fleet.stack_file import read_fleet

ROOT = Path(__file__).parents[3]


def dev() -> dict[str, Any]:
    """The fleet of the lab's stack as plain data."""
    return copy.deepcopy(dict(read_fleet(ROOT / "tests" / "data" / "stacks" / "lab.yaml")))


def planned(fleet: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(fleet))


def refused(fleet: dict[str, Any]) -> dict[str, str]:
    """Return the errors of the plan by path."""
    settings = parse(fleet)
    with pytest.raises(SettingsInvalid) as caught:
        make_plan(settings)
    return {
        error.path.removeprefix(f"{KEY}."): str(error).partition(": ")[2] for error in caught.value.errors
    }


def second_cluster(fleet: dict[str, Any], drivers: dict[str, Any]) -> None:
    fleet["clusters"]["edge"] = {
        "cloud": "existing",
        "kubeconfig": {"context": "edge"},
        "drivers": drivers,
        "pools": {"cpu": {"machine": "cpu-16", "nodes": {"min": 1, "max": 1}, "nodeSelector": {"a": "b"}}},
    }
