import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from dra_fleet.cli import main
from dra_fleet.cli.schemas import PUBLISHED, PublishedSchema
from dra_fleet.clusters.allocation import (
    ClusterAllocation,
    HeldDevice,
    PodDevices,
    PoolDevices,
    WorkloadAllocation,
)
from dra_fleet.fleet import read_stack_file
from dra_fleet.rehearsal.status import ClusterStatus, StackStatus

ROOT = Path(__file__).parents[2]
STACKS = ROOT / "tests" / "data" / "stacks"
RECIPES = ROOT / "tests" / "data" / "recipes"
VERDICTS = ["error", "guaranteed", "never", "possible", "unknown"]


def problems(name: str, content: Any) -> list[str]:
    """Return the errors of the committed schema in an output; the validator's types are incomplete."""
    schema = json.loads((ROOT / "schema" / f"{name}.schema.json").read_text(encoding="utf-8"))
    validator: Any = jsonschema.Draft202012Validator(schema)
    return [error.message for error in validator.iter_errors(content)]


def printed(*arguments: str) -> tuple[int, Any]:
    result = CliRunner().invoke(main.app, [*arguments, "--json"])
    return result.exit_code, json.loads(result.stdout)


def models(schema: Any) -> list[Any]:
    return [model for model in schema["$defs"].values() if model["type"] == "object"]


@pytest.mark.parametrize("published", PUBLISHED, ids=lambda published: published.file)
def test_the_published_schema_is_exact(published: PublishedSchema) -> None:
    assert {model["additionalProperties"] for model in models(json.loads(published.text()))} == {False}


def test_a_proof_that_fits_keeps_to_the_schema() -> None:
    code, output = printed("prove", "dev")
    assert (code, output["fits"]) == (0, True)
    assert problems("prove", output) == []


def test_a_proof_with_every_verdict_keeps_to_the_schema() -> None:
    code, output = printed("prove", str(STACKS / "verdicts.yaml"))
    assert (code, output["fits"]) == (1, False)
    assert {item["name"]: item["word"] for item in output["workloads"]} == {word: word for word in VERDICTS}
    assert problems("prove", output) == []


def test_the_findings_of_a_check_keep_to_the_schema() -> None:
    files = [str(RECIPES / "s6" / name) for name in ("published.yaml", "stack.yaml")]
    code, output = printed("check", files[0], "--stack", files[1])
    assert (code, output["errors"]) == (1, 1)
    assert problems("check", output) == []


def test_a_check_that_finds_nothing_keeps_to_the_schema() -> None:
    files = [str(RECIPES / "s6" / name) for name in ("corrected.yaml", "stack.yaml")]
    code, output = printed("check", files[0], "--stack", files[1])
    assert (code, output["findings"]) == (0, [])
    assert problems("check", output) == []


@pytest.mark.parametrize("name", ["prove", "check"])
def test_a_stack_that_is_wrong_is_reported_within_the_schema(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stack = tmp_path / "wrong.yaml"
    stack.write_text("config: {'dra-fleet:fleet': {owner: 1}}")
    arguments = ["prove", str(stack)] if name == "prove" else ["check", __file__, "--stack", str(stack)]
    monkeypatch.setattr(sys, "argv", ["dra-fleet", *arguments, "--json"])
    with pytest.raises(SystemExit) as ended:
        main.run()
    output = json.loads(capsys.readouterr().out)
    assert (ended.value.code, list(output)) == (1, ["error"])
    assert problems(name, output) == []


def test_the_status_of_a_rehearsed_stack_matches_the_schema() -> None:
    pods = (
        PodDevices(name="train-0", node="n1", devices=(HeldDevice("d", "n1", "gpu-0"),), running=True),
        PodDevices(name="train-1", node=None, devices=(), running=False),
    )
    allocation = ClusterAllocation(
        pools={"a": PoolDevices(nodes=1, devices=2, held=1, claims=1, node_names=("n1",))},
        workloads={
            "train": WorkloadAllocation(name="train", namespace="ns", requested=2, pods=pods, reason=None)
        },
    )
    status = StackStatus(clusters={"lab": ClusterStatus(kubernetes="v1.36.3", allocation=allocation)})
    output = json.loads(json.dumps(status.as_json()))
    assert output["all_allocated"] is False
    assert problems("rehearse-status", output) == []


@pytest.mark.parametrize("path", [(), ("workloads", 0), ("claims", 0, "pools", 0), ("classes", 0)])
def test_a_key_that_is_not_published_is_refused(path: tuple[str | int, ...]) -> None:
    output = printed("prove", "dev")[1]
    place = output
    for step in path:
        place = place[step]
    place["more"] = 1
    assert len(problems("prove", output)) == 1


def test_the_stack_with_every_verdict_is_itself_a_valid_stack_file() -> None:
    assert sorted(read_stack_file(STACKS / "verdicts.yaml").settings.workloads) == VERDICTS
