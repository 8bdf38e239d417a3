from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from dra_fleet.cli import progress

if TYPE_CHECKING:
    from collections.abc import Callable

    Reported = Callable[[int, float], str]


@pytest.fixture
def text(monkeypatch: pytest.MonkeyPatch) -> Reported:
    """Return the last line of a step when so many of 100 are done after so many seconds."""

    def text(done: int, seconds: float) -> str:
        now = [0.0]
        monkeypatch.setattr("time.monotonic", lambda: now[0])
        output = io.StringIO()
        with progress.PlainReporter(Console(file=output, width=200)).step("Helm v4") as step:
            now[0] = seconds
            step.update("compiling net/http", done=done, total=100)
            return output.getvalue().splitlines()[-1]

    return text


@pytest.mark.parametrize(
    ("done", "seconds", "line"),
    [
        (25, 60.0, "Helm v4: compiling net/http (25 of 100, about 3 min left)"),
        (99, 60.0, "Helm v4: compiling net/http (99 of 100, less than a minute left)"),
        (0, 60.0, "Helm v4: compiling net/http (0 of 100)"),
        (1, 15.0, "Helm v4: compiling net/http (1 of 100)"),
        (25, 1.0, "Helm v4 ..."),
    ],
)
def test_a_counted_step_says_how_long_the_rest_will_take_as_far_as_it_knows(
    text: Reported, done: int, seconds: float, line: str
) -> None:
    assert text(done, seconds) == line


def test_a_result_is_reported_at_once() -> None:
    output = io.StringIO()
    reporter = progress.PlainReporter(Console(file=output, width=200))
    reporter.say("proof of workloads: 3 guaranteed")
    assert output.getvalue() == "proof of workloads: 3 guaranteed\n"
