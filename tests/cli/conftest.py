"""Commands run inside the tests' process; variables that they set for a separate process are reset."""

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dra_fleet.cli import main as cli_main
from dra_fleet.cli.display import Display, set_display

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def process_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what `dra_fleet.cli.main.run` does to its process."""
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    set_display(Display())


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `dra-fleet` in a home where nothing runs; gives exit code, stdout and stderr."""
    monkeypatch.setenv("DRA_FLEET_HOME", str(tmp_path / "home"))

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["dra-fleet", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli_main.run()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return code or 0, printed.out, printed.err

    return run
