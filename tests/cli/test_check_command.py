import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.cli.output import STYLED

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "tests" / "data" / "recipes"
RUNNER = CliRunner()


def test_errors_exit_with_one_and_each_is_one_line() -> None:
    file = RECIPES / "s6" / "published.yaml"
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    assert result.exit_code == 1
    first, summary, extent = result.stdout.splitlines()
    assert first.startswith(f"{file}:10:11: error: ResourceClaimTemplate ten-gigabytes ")
    assert summary == "1 error, 0 warnings"
    assert extent == "1 checked, 0 skipped"


def test_warnings_alone_exit_with_zero() -> None:
    values = f"nvidia-dra-driver-gpu@25.8.1={RECIPES / 's1' / 'published-values.yaml'}"
    stack = str(RECIPES / "s1" / "published-stack.yaml")
    result = RUNNER.invoke(app, ["check", "--stack", stack, "--values", values, "--json"])
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    assert (shown["errors"], shown["warnings"]) == (0, 1)
    assert shown["findings"][0]["path"] == "kubeletPlugin.affinity"


def test_a_file_that_cannot_be_read_is_reported() -> None:
    result = RUNNER.invoke(app, ["check", "missing.yaml", "--stack", "dev"])
    assert result.exit_code == 1
    assert "missing.yaml:1:1: error: cannot be read: No such file or directory" in result.stdout


def test_a_cluster_that_the_stack_lacks_is_reported_with_those_it_has() -> None:
    stack = str(RECIPES / "s6" / "stack.yaml")
    file = str(RECIPES / "s6" / "corrected.yaml")
    result = RUNNER.invoke(app, ["check", file, "--stack", stack, "--cluster", "nowhere"])
    assert result.exit_code == 2
    assert "nowhere is not a cluster of this stack" in result.output


def test_reads_the_output_of_another_command_from_stdin() -> None:
    stack = str(RECIPES / "s6" / "stack.yaml")
    text = (RECIPES / "s6" / "published.yaml").read_text("utf-8")
    result = RUNNER.invoke(app, ["check", "-", "--stack", stack], input=text)
    assert result.exit_code == 1
    assert result.stdout.startswith("stdin:")


@pytest.mark.parametrize("nothing", ["", "\n"])
def test_a_command_before_the_pipe_that_wrote_nothing_is_no_success(nothing: str) -> None:
    stack = str(RECIPES / "s6" / "stack.yaml")
    result = RUNNER.invoke(app, ["check", "-", "--stack", stack], input=nothing)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        "stdin:1:1: error: is empty: the command before the pipe wrote nothing [unreadable]"
    )


def test_help_reports_the_exit_codes() -> None:
    result = RUNNER.invoke(app, ["check", "--help"])
    assert "Exit code: 1 errors, 0 none" in " ".join(result.stdout.split())


def test_thousands_of_findings_are_printed_as_plain_lines(tmp_path: Path) -> None:
    count = STYLED + 100
    file = tmp_path / "many.yaml"
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  devices: {}\n"
    file.write_text(head + "".join(f"  key{number}: 1\n" for number in range(count)))
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    *lines, summary, _ = result.stdout.splitlines()
    assert summary == f"{count} errors, 0 warnings"
    assert [line.split(" error: ")[0] for line in lines] == [
        f"{file}:{number + 6}:3:" for number in range(count)
    ]


def test_a_file_that_is_too_large_is_reported_and_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"# " + b"x" * 20_000_000)
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    assert result.exit_code == 1
    assert f"{file}:1:1: error: is larger than 16777216 bytes" in result.stdout


EMPTY = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: a}\nspec: {}\n"
STACK = ("--stack", str(RECIPES / "s6" / "stack.yaml"))


def deployed(folder: Path) -> Path:
    """A folder with an object, chart values and a hidden file."""
    for name, text in {"app/class.yaml": EMPTY, "app/values.yml": "a: 1\n", ".git/x.yaml": EMPTY}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_folder_stands_for_the_files_below_it(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["check", str(deployed(tmp_path)), *STACK])
    assert result.exit_code == 0
    shown, summary, extent = result.stdout.splitlines()
    assert shown.startswith(f"{tmp_path}/app/class.yaml:4:1: warning: DeviceClass a spec: has no selector")
    assert (summary, extent) == ("0 errors, 1 warning", "1 checked, 1 skipped (1 no Kubernetes objects)")


def test_a_folder_without_files_is_reported(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("#")
    result = RUNNER.invoke(app, ["check", str(tmp_path), *STACK])
    assert result.exit_code == 1
    assert f"{tmp_path}:1:1: error: contains no .yaml or .yml file outside hidden folders" in result.stdout


def test_a_pattern_stands_for_the_files_that_match_and_one_without_any_is_reported(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["check", f"{deployed(tmp_path)}/**/class.*", *STACK])
    assert result.stdout.splitlines()[-1] == "1 checked, 0 skipped"
    result = RUNNER.invoke(app, ["check", f"{tmp_path}/*.json", *STACK])
    assert result.exit_code == 1
    assert "*.json:1:1: error: cannot be read: No such file or directory" in result.stdout


def test_a_list_of_what_to_omit_is_a_file(tmp_path: Path) -> None:
    listed = tmp_path / "ignored"
    listed.write_text("*/class.yaml class-without-selector  # for a test\n")
    result = RUNNER.invoke(app, ["check", str(deployed(tmp_path)), *STACK, "--ignore", str(listed)])
    assert result.stdout.splitlines()[0] == "nothing found"
    listed.write_text("* class-without-selectors\n")
    result = RUNNER.invoke(app, ["check", str(deployed(tmp_path)), *STACK, "--ignore", str(listed)])
    assert result.exit_code == 1
    assert f"{listed}:1:1: error: names a rule that does not exist" in result.stdout


def test_a_list_of_what_to_omit_that_is_not_text_is_one_error(tmp_path: Path) -> None:
    listed = tmp_path / "ignored"
    listed.write_bytes(b"\xff\xfe * x\n" * 3)
    result = RUNNER.invoke(app, ["check", str(deployed(tmp_path)), *STACK, "--ignore", str(listed)])
    message = f"{listed}:1:1: error: is not UTF-8 text; fix: save it as UTF-8 [unreadable]"
    assert (result.exit_code, [line for line in result.output.splitlines() if "ignored" in line]) == (
        1,
        [message],
    )


def test_findings_are_annotations_and_sarif_for_code_hosts(tmp_path: Path) -> None:
    file = deployed(tmp_path) / "app" / "class.yaml"
    log = tmp_path / "check.sarif"
    result = RUNNER.invoke(app, ["check", str(file), *STACK, "--format", "github", "--sarif", str(log)])
    assert result.stdout.startswith(f"::warning file={file},line=4,col=1,title=class-without-selector::")
    [run] = json.loads(log.read_text())["runs"]
    assert [item["ruleId"] for item in run["results"]] == ["class-without-selector"]
