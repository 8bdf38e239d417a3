"""Examples by task, rehearsed: their manifests get devices as `prove` says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SECONDS = 120
PHASES = "kubectl get pods --namespace gpu-workloads --output jsonpath='{.items[*].status.phase}'"


@pytest.mark.parametrize(
    ("example", "manifest", "running"),
    [
        ("mixed-mig", "jobs.yaml", 8),
        pytest.param("inference-vllm", "deployment.yaml", 7, marks=pytest.mark.full),
    ],
)
def test_all_pods_of_an_example_run_once_its_pools_have_grown(
    example: str, manifest: str, running: int, own_rehearsed: Rehearsed
) -> None:
    own_rehearsed.up(EXAMPLES / example / "stack.yaml")
    applied = own_rehearsed.shell(f"kubectl apply -f {EXAMPLES / example / manifest}")
    assert applied.code == 0, applied.err
    requested = ["Running"] * running
    deadline = time.monotonic() + SECONDS
    phases: list[str] = []
    while phases != requested and time.monotonic() < deadline:
        phases = sorted(own_rehearsed.shell(PHASES).out.split())
    assert phases == requested
