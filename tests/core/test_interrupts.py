import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dra_fleet.core.interrupts import heeding_interrupts
from dra_fleet.policy.gate import running as gate
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.rehearsal import engine_run
from dra_fleet.review.events import ReviewError
from dra_fleet.review.previewing import PreviewCommand, RunningPreview

ENGINE = f"""#!{sys.executable}
import pathlib, signal
pathlib.Path(__file__).with_name("handler").write_text(str(signal.getsignal(signal.SIGINT)))
"""


@contextmanager
def with_answer(answer: signal.Handlers | Callable[..., object]) -> Generator[None]:
    before = signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def ignoring() -> Generator[None]:
    """This process ignores interrupts, as one that a script put behind it."""
    with with_answer(signal.SIG_IGN):
        yield


def review(engine: Path) -> None:
    command = PreviewCommand(
        pulumi=str(engine),
        stack="dev",
        directory=engine.parent,
        config_file=None,
        plan=engine.with_name("plan.json"),
        policy_packs=(),
        environment={},
    )
    with RunningPreview(command, lambda _: None) as started, pytest.raises(ReviewError):
        started.result()


def check(engine: Path) -> None:
    with pytest.raises(GateError):
        gate.preview("dev", directory=engine.parent, config={})


def rehearse(engine: Path) -> None:
    with engine.with_name("output.txt").open("w", encoding="utf-8") as output:
        started = engine_run.start(
            [str(engine)],
            directory=engine.parent,
            environment=os.environ,
            output=output,
            record=engine.with_name("session"),
        )
        started.wait()


@pytest.mark.usefixtures("ignoring")
@pytest.mark.parametrize("start", [review, check, rehearse])
def test_an_engine_heeds_interrupts(
    start: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = tmp_path / "pulumi"
    engine.write_text(ENGINE, encoding="utf-8")
    engine.chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    start(engine)
    assert (tmp_path / "handler").read_text(encoding="utf-8") == str(signal.default_int_handler)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("ignoring")
def test_an_interrupt_in_the_meantime_is_ignored_too() -> None:
    with heeding_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_interrupt_handlers_also_run_during_a_wait() -> None:
    with with_answer(signal.default_int_handler), heeding_interrupts():
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
