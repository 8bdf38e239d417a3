import json
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import yaml
from typer.main import get_command

from dra_fleet.cli.command import VARIABLE
from dra_fleet.cli.main import app
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
LAB = str(ROOT / "tests" / "data" / "stacks" / "lab.yaml")
TOP: dict[str, Any] = cast("Any", get_command(app)).commands
GROUPS: dict[str, Any] = {name: item.commands for name, item in TOP.items() if hasattr(item, "commands")}
COMMANDS = sorted(
    {*TOP, *(f"{group} {name}" for group, names in GROUPS.items() for name in names)} - GROUPS.keys()
)
WITHOUT_DATA = {"completion"}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_the_common_options_and_no_word_of_python_in_its_help(
    run: Run, command: str
) -> None:
    code, output, _ = run(*command.split(), "--help")
    assert code == 0
    assert "-q, --quiet" in output
    assert "-v, --verbose" in output
    assert ("-o, --output table|json|yaml" in output) is (command not in WITHOUT_DATA)
    usage, _, rest = output.partition("Examples:")[0].partition("Options:")
    assert [word for word in ("<", "{", "list[", "Path") if word in usage + rest] == []


def test_all_commands_with_data_print_the_same_as_json_and_as_yaml(run: Run) -> None:
    _, as_json, _ = run("prove", LAB, "--json")
    assert run("prove", LAB, "-o", "json")[1] == as_json
    assert yaml.safe_load(run("prove", LAB, "-o", "yaml")[1]) == json.loads(as_json)


def test_an_error_is_reported_in_the_form_that_was_asked_for(run: Run) -> None:
    code, out, err = run("prove", "nosuch", "-o", "yaml")
    output = yaml.safe_load(out)["error"]
    assert (code, err) == (1, f"error: {output}\n")


def test_quiet_leaves_results_and_errors(run: Run, tmp_path: Path) -> None:
    events = tmp_path / "none.jsonl"
    events.write_text("")
    code, out, err = run("review", LAB, "--events", str(events), "-q")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert " ...\n" not in err


def test_verbose_says_which_files_are_read(run: Run) -> None:
    code, _, err = run("prove", LAB, "-v")
    assert (code, err) == (0, f"reads {LAB}\n")
    assert run("prove", LAB)[2] == ""


def test_verbose_says_which_programs_are_started(tmp_path: Path) -> None:
    program = (
        "import subprocess, sys\n"
        "from dra_fleet.cli.display import Display, set_display\n"
        "set_display(Display(verbose=True))\n"
        "subprocess.run(['true', 'a b'], check=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stderr == "starts true 'a b'\n"


def test_quiet_and_verbose_exclude_each_other(run: Run) -> None:
    code, _, err = run("prove", LAB, "-qv")
    assert code == 2
    assert err.splitlines()[-1].endswith("for --quiet: cannot be combined with --verbose")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_printed_for_each_shell(run: Run, shell: str) -> None:
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert f"{VARIABLE}=complete_{shell}" in out


def test_another_shell_is_refused_with_the_known_ones(run: Run) -> None:
    code, out, err = run("completion", "csh")
    assert (code, out) == (2, "")
    assert ": 'csh' is not one of 'bash', 'zsh', 'fish'" in err
    assert "Value error" not in err


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("dra-fleet pro", ["prove"]),
        ("dra-fleet prove ", ["dev"]),
        ("dra-fleet rehearse st", ["status"]),
        ("dra-fleet prove --sa", ["--sarif"]),
        ("dra-fleet check --stack d", ["dev"]),
        ("dra-fleet gate --preset p", ["production"]),
    ],
)
def test_a_shell_completes_commands_and_options(
    run: Run, monkeypatch: pytest.MonkeyPatch, typed: str, offered: list[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv(VARIABLE, "complete_bash")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" ")) - 1))
    code, out, err = run()
    assert (code, out.split(), err) == (0, offered, "")
