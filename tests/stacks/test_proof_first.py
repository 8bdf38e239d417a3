"""The program proves its plan before it declares anything."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pulumi
import pytest

from dra_fleet.findings.errors import KEY
from dra_fleet.settings.stack_file import read_fleet

ROOT = Path(__file__).parents[2]


def test_a_workload_that_does_not_fit_stops_the_program_before_any_resource(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = json.dumps(read_fleet(ROOT / "tests" / "data" / "stacks" / "lab.yaml"))
    changed = json.loads(text)
    changed["workloads"]["train"]["copies"] = 9
    pulumi.runtime.set_all_config({KEY: json.dumps(changed)})
    declared: list[object] = []

    def _declare(*given: object) -> None:
        declared.append(given)

    monkeypatch.setattr("components.fleet.build", _declare)
    try:
        with pytest.raises(pulumi.RunError, match="9 x 1 devices are asked for and 8 can match"):
            runpy.run_path(str(ROOT / "__main__.py"))
    finally:
        pulumi.runtime.set_all_config({})
    assert declared == []
