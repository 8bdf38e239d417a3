"""The commands that pages show are commands of the program; those that need nothing are run as they stand.

Those of guides and concepts are run by `tests/test_task_examples.py`, which compares their output.
"""

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer._click.exceptions import MissingParameter, UsageError
from typer.main import get_command

from dra_fleet.cli.main import app
from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *{*ROOT.glob("*.md")} - {ROOT / "CHANGELOG.md"},
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "templates").rglob("*.md"),
    ]
)
FENCED = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHELLS = {"", "sh", "bash", "console"}
INLINE = re.compile(r"`((?:\.venv/bin/)?dra-fleet [^`]+)`")
NEED_NOTHING = (("machines", "drivers", "explain", "completion"), ("prove",))
"""Commands that can be run here: without a stack, and with one."""
COMMANDS: Any = get_command(app)


def commands(text: str) -> Iterator[str]:
    """The words after `dra-fleet` of each command that a page shows; comments and usage lines are none."""
    blocks = [
        line
        for language, block in FENCED.findall(text)
        if language in SHELLS
        for line in block.replace("\\\n", " ").splitlines()
    ]
    for line in (*blocks, *INLINE.findall(text.replace("\n", " "))):
        for found in re.findall(
            r"(?:^|[(/&|$] ?)dra-fleet ([a-z][^)|&;<>`]*)", line.partition("#")[0].strip()
        ):
            if "[OPTIONS]" not in found:
                yield " ".join(found.partition("…")[0].split())


SHOWN = {
    page.relative_to(ROOT).as_posix(): sorted(set(commands(page.read_text(encoding="utf-8"))))
    for page in PAGES
}


def is_whole(command: str) -> bool:
    """Return True if the command needs nothing and the stack that it names is here."""
    first, *words = command.split()
    stacks = [word for word in words if word == "dev" or (ROOT / word).is_file()]
    return first in NEED_NOTHING[bool(stacks)] and not re.search(
        r"[A-Z]{3}|nodes\.json|prove\.sarif|--outdated", command
    )


RUN = sorted(
    {
        command
        for page, found in SHOWN.items()
        if not page.startswith(("docs/guides/", "docs/concepts/"))
        for command in found
        if is_whole(command)
    }
)


def parse(words: list[str]) -> None:
    """Read a command as the command line does; an argument may be missing, where a page only names it.

    Raises:
        UsageError: it has a word that the command line does not take.
    """
    command = COMMANDS
    while hasattr(command, "commands"):
        if not words:
            return
        found = command.commands.get(words[0])
        if found is None:
            raise UsageError(f"there is no command {words[0]}")
        command, words = found, words[1:]
    with contextlib.suppress(MissingParameter):
        command.make_context("dra-fleet", words)


@pytest.mark.parametrize("page", [page for page, found in SHOWN.items() if found])
def test_the_commands_of_a_page_are_commands_that_there_are(page: str) -> None:
    for command in SHOWN[page]:
        parse(shlex.split(command))


def test_a_misspelt_option_or_command_would_be_found() -> None:
    with pytest.raises(UsageError, match="--slicse"):
        parse(["prove", "dev", "--slicse", "nodes.json"])
    with pytest.raises(UsageError, match="there is no command prov"):
        parse(["prov", "dev"])


@pytest.mark.slow
@pytest.mark.parametrize("command", RUN)
def test_a_command_that_needs_nothing_runs_as_it_stands(
    command: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    code, out, err = run(*shlex.split(command))
    assert (code, bool(out)) == (0, True), err
