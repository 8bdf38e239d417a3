import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.rehearsal.engine_run import EngineResult, run_engine
from dra_fleet.rehearsal.simulator.processes import ProcessId

URN = "urn:pulumi:dev::dra-fleet::kubernetes:core/v1:Namespace::lab-namespace"
FINISHED = {"resOutputsEvent": {"metadata": {"op": "create", "urn": URN}}}
SUMMARY = {"summaryEvent": {"resourceChanges": {"create": 2, "same": 5, "replace": 1}}}
PROGRAM = """
import json, sys
log = sys.argv[sys.argv.index("--event-log") + 1]
pieces, code = json.loads(sys.argv[1])
print("printed by the engine")
print("printed on stderr", file=sys.stderr)
for piece in pieces:
    with open(log, "a") as stream:
        stream.write(piece)
sys.exit(code)
"""


def run(
    directory: Path, *events: dict[str, Any], code: int = 0
) -> tuple[EngineResult, list[tuple[int, str]]]:
    return run_pieces(directory, [json.dumps(event) + "\n" for event in events], code=code)


def run_pieces(
    directory: Path, pieces: list[str], *, code: int = 0
) -> tuple[EngineResult, list[tuple[int, str]]]:
    steps: list[tuple[int, str]] = []
    result = run_engine(
        [sys.executable, "-c", PROGRAM, json.dumps([pieces, code])],
        directory=directory,
        environment=dict(os.environ),
        log=directory / "events.jsonl",
        on_step=lambda count, name: steps.append((count, name)),
    )
    return result, steps


def test_a_run_is_divided_at_its_first_and_its_last_resource(tmp_path: Path) -> None:
    result, _ = run(tmp_path, FINISHED, SUMMARY)
    parts = result.parts()
    assert list(parts) == ["until the first resource", "resources", "after the last resource"]
    assert sum(parts.values()) == pytest.approx(result.seconds)


def test_a_run_without_a_resource_is_one_part(tmp_path: Path) -> None:
    result, _ = run(tmp_path, SUMMARY)
    assert result.parts() == {"without a resource": result.seconds}


def test_changes_are_all_that_did_not_stay_the_same(tmp_path: Path) -> None:
    result, _ = run(tmp_path, SUMMARY)
    assert result.operations == {"create": 2, "same": 5, "replace": 1}
    assert result.changes == 3


def test_each_finished_resource_is_reported_with_its_name(tmp_path: Path) -> None:
    _, steps = run(tmp_path, FINISHED, SUMMARY, FINISHED)
    assert steps == [(1, "lab-namespace"), (2, "lab-namespace")]


def test_findings_and_rules_are_taken_from_the_policy_events(tmp_path: Path) -> None:
    violation = {
        "policyName": "floor",
        "enforcementLevel": "mandatory",
        "message": " too old \n",
        "resourceUrn": URN,
    }
    result, _ = run(
        tmp_path,
        {"policyEvent": violation},
        {"policyAnalyzeSummaryEvent": {"passed": ["other"], "failed": ["floor"]}},
        {"policyAnalyzeSummaryEvent": {"passed": None}},
    )
    (found,) = result.findings
    assert (found.rule, found.level, found.message, found.urn) == ("floor", "mandatory", "too old", URN)
    assert result.rules == {"floor", "other"}


def test_only_errors_are_taken_from_the_diagnostics(tmp_path: Path) -> None:
    said = [{"diagnosticEvent": {"severity": level, "message": f"{level}\n"}} for level in ("info", "error")]
    result, _ = run(tmp_path, *said)
    assert result.errors == ["error"]


@pytest.mark.parametrize("code", [0, 255])
def test_exit_code_and_printed_text_are_kept(tmp_path: Path, code: int) -> None:
    result, _ = run(tmp_path, code=code)
    assert result.exit_code == code
    assert sorted(result.text.splitlines()) == ["printed by the engine", "printed on stderr"]


def test_an_event_that_is_written_in_parts_is_read_whole(tmp_path: Path) -> None:
    text = json.dumps(SUMMARY) + "\n"
    result, _ = run_pieces(tmp_path, [text[:10], text[10:40], text[40:]])
    assert result.operations["create"] == 2


def test_an_event_that_was_cut_off_by_a_kill_is_omitted(tmp_path: Path) -> None:
    result, _ = run_pieces(tmp_path, [json.dumps(SUMMARY) + "\n", '{"summaryEvent": {"res'], code=137)
    assert (result.exit_code, result.operations["create"]) == (137, 2)


def test_the_log_of_an_earlier_run_is_forgotten(tmp_path: Path) -> None:
    run(tmp_path, SUMMARY)
    result, _ = run(tmp_path)
    assert result.changes == 0
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o777 == 0o600


STUBBORN = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
pathlib.Path("engine.pid").write_text(str(os.getpid()))
with open(sys.argv[sys.argv.index("--event-log") + 1], "a") as stream:
    stream.write(sys.argv[1])
time.sleep(600)
"""


def test_an_engine_that_does_not_heed_ctrl_c_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int, __: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dra_fleet.rehearsal.engine_run.CANCEL_SECONDS", 0.1)
    with pytest.raises(KeyboardInterrupt):
        run_engine(
            [sys.executable, "-c", STUBBORN, json.dumps(FINISHED) + "\n"],
            directory=tmp_path,
            environment=dict(os.environ),
            log=tmp_path / "events.jsonl",
            on_step=interrupt,
        )
    engine = ProcessId.of(int((tmp_path / "engine.pid").read_text()))
    assert engine is None or not engine.running()
