"""`dra-fleet drift` on a rehearsed stack: changes by hand, and none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.engine.rehearsed import Rehearsed

pytestmark = pytest.mark.engine

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "s10-capacity.yaml"
DRIFT = 10
PATCH = '[{"op": "replace", "path": "/spec/selectors/0/cel/expression", "value": "true"}]'


def test_drift_names_what_was_changed_and_deleted_by_hand_and_changes_nothing(
    own_rehearsed: Rehearsed,
) -> None:
    own_rehearsed.up(EXAMPLE)
    fresh = own_rehearsed.shell("dra-fleet drift s10-capacity")
    assert (fresh.code, fresh.out) == (0, "no drift in stack s10-capacity\n")
    state = own_rehearsed.state("s10-capacity")

    by_hand = own_rehearsed.shell(
        f"kubectl patch deviceclass at-least-20g --type=json -p '{PATCH}'"
        " && kubectl delete jobs --namespace gpu-workloads --all"
    )
    assert by_hand.code == 0, by_hand.err
    drift = own_rehearsed.shell("dra-fleet drift s10-capacity -o json")

    assert drift.code == DRIFT, drift.err
    found = {item["type"].rpartition(":")[2]: item for item in json.loads(drift.out)["drifted"]}
    assert {kind: item["change"] for kind, item in found.items()} == {
        "DeviceClass": "changed",
        "Job": "deleted",
    }
    (difference,) = found["DeviceClass"]["differences"]
    assert (difference["path"], difference["found"]) == ("spec.selectors[0].cel.expression", "true")
    assert difference["declared"].startswith("device.driver == 'gpu.nvidia.com'")
    assert own_rehearsed.state("s10-capacity") == state
    shown = own_rehearsed.shell("kubectl get deviceclass at-least-20g --output jsonpath={..expression}")
    assert shown.out == "true"


def test_drift_that_cannot_reach_a_cluster_fails_and_claims_nothing(own_rehearsed: Rehearsed) -> None:
    own_rehearsed.up(EXAMPLE)
    done = own_rehearsed.shell("dra-fleet rehearse down >/dev/null; dra-fleet drift s10-capacity")
    assert (done.code, done.out) == (1, "")
    assert "error: cannot compare the stack: " in done.err
