"""Golden texts, which change only by intent. A pytest plugin; `make generate` writes them again."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from textwrap import indent

import pytest

Golden = Callable[[str, str], None]
FOLDER = Path(__file__).parent / "golden"
_WRITE = "--write-golden"
_FIXTURES = {"golden", "golden_console"}
_CONSOLE = re.compile(r"^( *)```console\n(.*?)^ *```", re.DOTALL | re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that `make generate` gives."""
    parser.addoption(_WRITE, action="store_true", help="write the golden files again; run no other test")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all other tests if the files are written."""
    if config.getoption(_WRITE):
        items[:] = [item for item in items if _FIXTURES & {*getattr(item, "fixturenames", ())}]


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    """Hold a text to the golden file of a name; where it is to be written, write it first."""
    return partial(_hold, write=bool(pytestconfig.getoption(_WRITE)))


@pytest.fixture
def golden_console(pytestconfig: pytest.Config) -> Callable[[Path, Callable[[str], str]], None]:
    """Compare the output of each command in a page's console blocks with a run of the command."""
    return partial(_play, write=bool(pytestconfig.getoption(_WRITE)))


def _play(page: Path, run: Callable[[str], str], *, write: bool) -> None:
    text = page.read_text(encoding="utf-8")
    played = _CONSOLE.sub(lambda found: _played(found[1], found[2], run), text)
    if write:
        page.write_text(played, encoding="utf-8")
        text = played
    assert text == played, f"{page} shows another output; if meant: make generate"


def _played(margin: str, block: str, run: Callable[[str], str]) -> str:
    commands = re.findall(r"^ *\$ (.*)$", block, re.MULTILINE)
    lines = "\n".join(f"$ {command}\n{run(command)}" for command in commands)
    return indent(f"```console\n{lines}```", margin)


def _hold(name: str, text: str, *, write: bool) -> None:
    if write:
        (FOLDER / name).write_text(text, encoding="utf-8")
    assert text == (FOLDER / name).read_text(encoding="utf-8"), f"{name} is another; if meant: make generate"
