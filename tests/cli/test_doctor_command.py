import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.clouds.ack.ack_fleets import a10
from tests.clouds.aks.aks_fleets import vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.gke.gke_fleets import l4

FLEETS = {"az": vgpu, "aws": h100, "gcloud": l4, "aliyun": a10}
ANSWERS = {
    "expired": (
        "echo 'ERROR: AADSTS700082: expired; gcloud auth login; ExpiredToken' >&2; exit 1",
        "log in with {}",
    ),
    "page": ("echo '<!DOCTYPE html>'", "run it yourself: {}"),
    "killed": ("kill -9 $$", "run it yourself: {}"),
}


@pytest.mark.slow
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("tool", FLEETS)
def test_an_account_that_does_not_answer_is_a_warning_and_whole_json(
    tool: str, answer: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, fix = ANSWERS[answer]
    (tmp_path / tool).write_text(f"#!/bin/sh\n{text}\n")
    (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    stack = tmp_path / "Pulumi.asked.yaml"
    stack.write_text(json.dumps({"config": {"dra-fleet:fleet": FLEETS[tool]()}}))
    code, out, err = run("doctor", str(stack), "--json")
    (found,) = json.loads(out).values()
    asked = [item for item in found if item["subject"] != "kubeconfig"]
    assert (code, err, {item["level"] for item in asked}) == (3, "", {"unchecked"})
    assert [item for item in asked if not item["fix"].startswith(fix.format(tool))] == []


def test_a_kubeconfig_that_is_not_there_is_a_problem_with_its_fix(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    code, out, _ = run("doctor", "tests/data/stacks/lab.yaml", "--json")
    (found,) = json.loads(out).values()
    assert code == 1
    assert found == [
        {
            "level": "problem",
            "subject": "kubeconfig",
            "message": f"kubeconfig {tmp_path}/none cannot be used: no such file",
            "fix": "check the cluster's kubeconfig in the stack file, and KUBECONFIG",
        }
    ]
