"""`dra-fleet doctor` asks the simulated accounts by the command lines that a rehearsal puts on PATH."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.clouds.ack.ack_fleets import a10
from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.gke.gke_fleets import l4
from tests.engine.rehearsed import COMMAND, PROJECT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("fleet", "quota"),
    [
        (vgpu, "standardNVADSA10v5Family"),
        (h100, '"Running On-Demand P instances"'),
        (l4, "NVIDIA_L4_GPUS"),
        (a10, "pay-as-you-go instances"),
    ],
)
def test_each_account_answers_its_cloud_s_own_command_line(
    rehearsal_simulator: RehearsalWorld, tmp_path: Path, fleet: Callable[[], dict[str, Any]], quota: str
) -> None:
    stack = tmp_path / "Pulumi.asked.yaml"
    stack.write_text(json.dumps({"config": {"dra-fleet:fleet": fleet()}}))

    done = subprocess.run(
        [str(COMMAND), "doctor", str(stack), "-o", "json"],
        cwd=PROJECT,
        env={**os.environ, "PATH": f"{rehearsal_simulator.home.bin}:{os.defpath}", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout, done.stderr
    (found,) = json.loads(done.stdout).values()
    asked = [item for item in found if item["subject"] != "kubeconfig"]
    assert {item["level"] for item in asked} == {"ok"}, asked
    assert {"quota", "machines", "permissions", "versions"} <= {item["subject"] for item in asked}
    assert any(quota in item["message"] for item in asked if item["subject"] == "quota")
