import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
LAB = (ROOT / "tests" / "data" / "stacks" / "lab.yaml").read_text(encoding="utf-8")
RECIPE = ROOT / "tests" / "data" / "recipes" / "s6"
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}


def results(run: Run, folder: Path, text: str) -> list[dict[str, Any]]:
    (folder / "stack.yaml").write_text(text)
    run("prove", "stack.yaml", "--sarif", "prove.sarif")
    log = json.loads((folder / "prove.sarif").read_text())
    assert log["runs"][0]["automationDetails"] == {"id": "dra-fleet-prove/stack/"}
    return log["runs"][0]["results"]


def place(result: dict[str, Any]) -> tuple[str, int]:
    output = result["locations"][0]["physicalLocation"]
    return output["artifactLocation"]["uri"], output["region"]["startLine"]


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_reports_workloads_that_do_not_fit_on_their_line_of_the_stack_file(run: Run, here: Path) -> None:
    text = LAB.replace("memory: {min: 4864Mi}", "memory: {min: 5Gi}")
    line = 1 + next(at for at, output in enumerate(text.splitlines()) if " mig-5g: {" in output)
    found = results(run, here, text)
    assert {(item["ruleId"], item["level"]) for item in found} >= {("does-not-fit", "error")}
    assert ("stack.yaml", line) in [place(item) for item in found]
    assert not any("at: " in item["message"]["text"] for item in found)


def test_a_refused_stack_file_is_a_report_too(run: Run, here: Path) -> None:
    text = LAB.replace("cloud: existing", "cloud: nowhere", 1)
    line = 1 + next(at for at, output in enumerate(text.splitlines()) if "cloud: nowhere" in output)
    (found,) = results(run, here, text)
    assert (found["ruleId"], place(found)) == ("stack-file", ("stack.yaml", line))


def test_reports_problems_of_an_extended_file_in_that_file(run: Run, here: Path) -> None:
    wrong = LAB.replace("cloud: existing", "cloud: nowhere", 1)
    (here / "base.yaml").write_text(wrong)
    line = 1 + next(at for at, output in enumerate(wrong.splitlines()) if "cloud: nowhere" in output)
    (found,) = results(run, here, "config:\n  dra-fleet:fleet: {extends: base.yaml}\n")
    assert place(found) == ("base.yaml", line)


def test_a_proof_without_a_doubt_has_no_result(run: Run, here: Path) -> None:
    assert results(run, here, LAB) == []


@pytest.mark.slow
def test_the_hook_of_check_refuses_a_commit_with_a_wrong_manifest(run: Run) -> None:
    words = shlex.split(HOOKS["dra-fleet-check"]["entry"])
    arguments = [*words[1:], "--stack", str(RECIPE / "stack.yaml")]
    assert words[0] == "dra-fleet"
    assert run(*arguments, str(RECIPE / "published.yaml"))[0] == 1
    assert run(*arguments, str(RECIPE / "corrected.yaml"))[0] == 0


def test_the_hook_of_prove_takes_the_stack_and_no_files(run: Run) -> None:
    hook = HOOKS["dra-fleet-prove"]
    assert hook["pass_filenames"] is False
    assert re.search(hook["files"], "Pulumi.prod.yaml")
    assert run(*shlex.split(hook["entry"])[1:], str(ROOT / "tests/data/stacks/lab.yaml"))[0] == 0
