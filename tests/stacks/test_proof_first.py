import json
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest

from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet.stack_file import read_fleet
from stacks.removal import CREATED_HOOK, HOOK, JOB_HOOK
from tests.clouds.aks.aks_fleets import vgpu

ROOT = Path(__file__).parents[2]


def too_large() -> dict[str, Any]:
    fleet = json.loads(json.dumps(read_fleet(ROOT / "tests" / "data" / "stacks" / "lab.yaml")))
    fleet["workloads"]["train"]["copies"] = 9
    return fleet


@pytest.mark.parametrize(
    ("fleet", "output"),
    [
        pytest.param(too_large(), "9 x 1 devices are requested, and 8 can match", id="too large"),
        pytest.param(
            {**vgpu(), "budget": {"perHour": 0.01}},
            r"budget\.perHour: is less than the fleet costs at its maximum",
            id="too dear",
        ),
    ],
)
def test_a_fleet_that_cannot_be_stops_the_program_before_any_resource(
    fleet: dict[str, Any], output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulumi.runtime.set_all_config({KEY: json.dumps(fleet)})
    declared: list[object] = []

    def _declare(*given: object) -> None:
        declared.append(given)

    def _register(name: str, hook: object) -> None:
        assert name in {HOOK, JOB_HOOK, CREATED_HOOK}
        assert callable(hook)

    monkeypatch.setattr("components.fleet.build", _declare)
    monkeypatch.setattr(pulumi, "ResourceHook", _register)
    try:
        with pytest.raises(pulumi.RunError, match=output):
            runpy.run_path(str(ROOT / "__main__.py"))
    finally:
        pulumi.runtime.set_all_config({})
    assert declared == []
