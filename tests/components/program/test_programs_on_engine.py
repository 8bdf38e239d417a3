import json
from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import Toolset
from tests.components.program.running import Program
from tests.engine_support import RehearsalWorld

pytestmark = pytest.mark.engine


@pytest.fixture
def example() -> str:
    return "existing"


@pytest.fixture
def program(tmp_path: Path, rehearsal_simulator: RehearsalWorld, tools: Toolset, example: str) -> Program:
    """An example's project with a new stack."""
    return Program(tmp_path, rehearsal_simulator, tools, example)


FINDINGS: dict[str, list[str]] = {}


FULL = pytest.mark.full
EXAMPLES = [
    "aks",
    *(
        pytest.param(name, marks=FULL)
        for name in ("ack", "azure-native", "eks", "existing", "gke", "pulumi-eks")
    ),
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_program_is_gated_deployed_unchanged_and_deleted(example: str, program: Program) -> None:
    if example == "existing":
        program.enter()
    first = program.gate()
    assert first["passed"] is True
    # A created cluster has no address yet.
    assert {finding["rule"] for finding in first["findings"]} <= {"unknown-report-unjudged"}
    made = program.run("up", "--yes", "--skip-preview")
    assert made.returncode == 0, made.stdout
    assert "kubernetes:apps/v1:Deployment" in program.types()
    again = program.run("up", "--yes", "--skip-preview", "--expect-no-changes")
    assert again.returncode == 0, again.stdout
    second = program.gate()
    assert (second["passed"], second["findings"]) == (True, [])
    deleted = program.run("destroy", "--yes", "--skip-preview")
    assert deleted.returncode == 0, deleted.stdout
    assert program.types() == set()


def test_name_that_the_engine_makes_is_followed_by_gate_and_review(program: Program) -> None:
    program.replace('metadata={"name": "ml"}, ', "")
    program.configure("apiVersion: v1\nkind: Config\n")
    events = program.folder / "events.jsonl"
    verdict = program.gate("--save-events", str(events))
    assert (verdict["passed"], verdict["findings"]) == (True, [])
    review = program.review(events)
    assert (program.folder / "build" / "review" / "dev" / "index.html").is_file()
    changed = json.dumps(review)
    assert "ResourceClaimTemplate" in changed
    assert "Traceback" not in changed


WRONG = {
    "nine replicas on eight devices": (
        ("REPLICAS = 8", "REPLICAS = 9"),
        "error: Demand single-gpu: on cluster lab, never: single-gpu: 9 x 1 devices are requested, and 8 can",
    ),
    "four replicas on three devices": (
        (
            '"machine": "hgx-h100-8", "min": 1, "max": 1',
            '"machine": "p5.4xlarge", "min": 1, "max": 3',
            "REPLICAS = 8",
            "REPLICAS = 4",
        ),
        "error: Demand single-gpu: on cluster lab, never: single-gpu: 4 x 1 devices are requested, and 3 can",
    ),
    "claim that fits nowhere": (
        ('{"device_class": large}', '{"device_class": large, "count": 9}'),
        "request gpu (class at-least-40g) requests 9 devices of one node, and 8 of its 8 match",
    ),
    "class that matches nothing": (
        ('{"min": "40Gi"}', '{"min": "1Ti"}'),
        "error: DeviceClass at-least-40g: class at-least-40g matches 0 of 8 devices of a node of pool",
    ),
    "wrong CEL": (
        ('memory={"min": "40Gi"}', "cel=[\"device.drver == 'gpu.nvidia.com'\"]"),
        "error: DeviceClass at-least-40g: selector 1 is rejected by the API server of Kubernetes 1.36: com",
    ),
    "unknown argument": (
        ('type="gpu"', 'typ="gpu"'),
        "error: DeviceClass at-least-40g: typ is not an argument; allowed: type; 14 are known",
    ),
}


@pytest.mark.parametrize(("texts", "message"), WRONG.values(), ids=WRONG)
def test_wrong_program_stops_its_preview_with_one_sentence(
    texts: tuple[str, ...], message: str, program: Program
) -> None:
    for old, new in zip(texts[::2], texts[1::2], strict=True):
        program.replace(old, new)
    program.configure("apiVersion: v1\nkind: Config\n")
    done = program.run("preview")
    assert done.returncode != 0
    assert message in done.stdout, done.stdout
    _, _, diagnostics = done.stdout.partition("Diagnostics:")
    assert diagnostics.count(message) == 1, done.stdout
    assert "Traceback" not in done.stdout
