import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from dra_fleet.cli.main import run
from dra_fleet.policy.gate.errors import NO_ENGINE
from dra_fleet.review.drift import RELEASE, drifts
from dra_fleet.review.events import ReviewError
from tests.review.samples import DATA

EVENTS: Final = (DATA / "drift.jsonl").read_text(encoding="utf-8").splitlines()
FORCED: Final = "PULUMI_K8S_ENABLE_PATCH_FORCE=true pulumi up --refresh --stack small"
ENGINE: Final = f"""#!{sys.executable}
import pathlib, sys
here = pathlib.Path(__file__).parent
(here / "arguments").write_text(" ".join(sys.argv[1:]))
print((here / "events.jsonl").read_text())
"""


@pytest.fixture
def drift(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run `dra-fleet drift dev` with an engine that prints the given events."""
    engine = tmp_path / "pulumi"
    engine.write_text(ENGINE, encoding="utf-8")
    engine.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def call(events: list[str], *options: str) -> tuple[int, str, str]:
        (tmp_path / "events.jsonl").write_text("\n".join(events), encoding="utf-8")
        monkeypatch.setattr("sys.argv", ["dra-fleet", "drift", "dev", *options])
        code = 0
        try:
            run()
        except SystemExit as ended:
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_class_a_template_a_namespace_and_a_release_changed_by_hand_are_found() -> None:
    found = {(item.owner.kind, item.owner.name): item for item in drifts(EVENTS)}

    assert {key: item.change for key, item in found.items()} == {
        ("class", "at-least-20g"): "changed",
        ("template", "single-gpu"): "deleted",
        ("namespace", "dra-driver-nvidia-gpu"): "changed",
        ("driver", "dra-driver-nvidia-gpu"): "changed",
    }
    assert {item.owner.cluster for item in found.values()} == {"lab"}
    (selector,) = found["class", "at-least-20g"].properties
    assert selector[0] == "spec.selectors[0].cel.expression"
    assert selector[2] == "device.driver == 'gpu.nvidia.com'"


def test_a_value_set_with_helm_is_found_although_the_engine_reports_no_change() -> None:
    release = next(item for item in drifts(EVENTS) if item.owner.kind == "driver")
    assert release.properties == (("values.logVerbosity", "", "7"),)
    assert release.undo == "helm rollback dra-driver-nvidia-gpu 1 --namespace dra-driver-nvidia-gpu"


def test_a_failed_refresh_is_an_error_and_not_the_absence_of_drift() -> None:
    failed = {"sequence": 9, "diagnosticEvent": {"severity": "error", "message": "cluster unreachable"}}
    with pytest.raises(ReviewError, match=r"^cluster unreachable$"):
        drifts([*EVENTS, json.dumps(failed)])


def test_a_refresh_that_ends_early_is_an_error() -> None:
    with pytest.raises(ReviewError, match=r"^the refresh printed no result$"):
        drifts([line for line in EVENTS if "summaryEvent" not in line])


@pytest.mark.parametrize(("count", "found"), [(3, []), (9, [("count", "1", "9")])])
def test_the_number_of_nodes_within_the_bounds_of_an_autoscaler_is_no_drift(
    count: int, found: list[tuple[str, str, str]]
) -> None:
    bounds = {"enableAutoScaling": True, "minCount": 1, "maxCount": 4}
    events = [json.loads(line) for line in EVENTS]
    for event in events:
        metadata = event.get("resOutputsEvent", {}).get("metadata", {})
        if metadata.get("urn", "").endswith("::lab-at-least-20g"):
            metadata["detailedDiff"] = {"count": {"diffKind": "update"}}
            metadata["old"] = {**metadata["old"], "outputs": {**bounds, "count": 1}}
            metadata["new"] = {**metadata["new"], "outputs": {**bounds, "count": count}}
    drifted = [item for item in drifts(map(json.dumps, events)) if item.owner.kind == "class"]
    assert [one for item in drifted for one in item.properties] == found


def test_the_command_exits_with_7_and_asks_the_engine_for_a_preview_only(
    drift: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    code, out, _ = drift(EVENTS)

    assert code == 7
    assert (tmp_path / "arguments").read_text().startswith("refresh --preview-only --stack dev ")
    assert "stack dev: 4 resources changed by hand" in out
    assert f"undo: {FORCED}\n" in out
    assert "undo: helm rollback dra-driver-nvidia-gpu 1 --namespace dra-driver-nvidia-gpu\n" in out


def test_the_data_for_scripts_names_each_resource(drift: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = drift(EVENTS, "-o", "json")
    answer: dict[str, Any] = json.loads(out)
    assert (code, answer["stack"], len(answer["drift"])) == (7, "dev", 4)
    template = next(item for item in answer["drift"] if item["kind"] == "template")
    assert template == {
        "cluster": "lab",
        "kind": "template",
        "name": "single-gpu",
        "change": "deleted",
        "urn": template["urn"],
        "undo": FORCED,
        "properties": [],
    }


def test_a_stack_without_drift_exits_with_0(drift: Callable[..., tuple[int, str, str]]) -> None:
    unchanged = [
        line for line in EVENTS if "summaryEvent" in line or ('"op": "same"' in line and RELEASE not in line)
    ]
    assert drift(unchanged)[:2] == (0, "stack dev: no drift\n")


def test_no_events_at_all_are_an_error(drift: Callable[..., tuple[int, str, str]]) -> None:
    code, out, err = drift([])
    assert (code, out) == (1, "")
    assert "error: the stack was not compared: the refresh printed no result" in err


def test_a_missing_engine_is_one_message(
    drift: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    code, _, error = drift([])
    assert (code, error.splitlines()[-1]) == (1, f"error: {NO_ENGINE}")
