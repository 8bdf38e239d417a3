import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from dra_fleet.cli.main import run
from dra_fleet.clusters import holders
from dra_fleet.clusters.credentials import KubeconfigError
from dra_fleet.clusters.holders import ClusterAnswers
from dra_fleet.model.plan import ClusterPlan, FleetPlan
from tests.review.samples import DATA

ENGINE: Final = f"""#!{sys.executable}
import os, pathlib, sys, time
here = pathlib.Path(__file__).parent
(here / "engine.pid").write_text(str(os.getpid()))
until = time.monotonic() + 60
while not (here / "asked").exists():
    if time.monotonic() > until:
        sys.exit("no one asked the clusters in the meantime")
    time.sleep(0.01)
if (here / "broken").exists():
    sys.exit("the backend does not answer")
print((here / "events.jsonl").read_text())
"""
"""Continue when the clusters were asked."""


PERSON: Final = 10
EVENTS: Final = (DATA / "same.jsonl").read_text(encoding="utf-8")


@pytest.fixture
def review(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[], tuple[int, str]]:
    """Runs `dra-fleet review dev --running clusters` with a made-up engine: exit code and stderr."""
    engine = tmp_path / "pulumi"
    engine.write_text(ENGINE, encoding="utf-8")
    engine.chmod(0o700)
    untold = [line for line in EVENTS.splitlines() if "preludeEvent" not in line]  # which names the fleet
    (tmp_path / "events.jsonl").write_text("\n".join(untold), encoding="utf-8")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def call() -> tuple[int, str]:
        words = ["review", "dev", "--running", "clusters", "--out", str(tmp_path / "out")]
        monkeypatch.setattr("sys.argv", ["dra-fleet", *words])
        with pytest.raises(SystemExit) as ended:
            run()
        return int(ended.value.code or 0), capsys.readouterr().err

    return call


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the clusters that were asked, by question; all answer that they have nothing."""
    questions: list[str] = []

    async def ask(cluster: ClusterPlan, stack: str) -> None:
        assert stack == "dev"
        questions.append(cluster.name)
        (tmp_path / "asked").touch()

    monkeypatch.setattr(holders, "_ask", ask)
    return questions


def test_clusters_are_asked_once_while_the_engine_works(
    review: Callable[[], tuple[int, str]], asked: list[str]
) -> None:
    code, said = review()
    assert code == PERSON, said  # nothing of the fleet is in those events
    assert sorted(asked) == ["asia", "lab", "render", "studio", "train"]


def test_they_are_asked_again_where_the_engine_was_given_another_fleet(
    review: Callable[[], tuple[int, str]], asked: list[str], tmp_path: Path
) -> None:
    (tmp_path / "events.jsonl").write_text(EVENTS, encoding="utf-8")
    code, said = review()
    assert code == 0, said
    assert (asked.count("asia"), asked.count("lab")) == (1, 2)


def test_a_preview_that_fails_is_reported_and_not_what_clusters_said(
    review: Callable[[], tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refuse(monkeypatch, tmp_path)
    (tmp_path / "broken").touch()
    code, said = review()
    assert code == 1
    assert "error: the preview could not be made: the backend does not answer" in said
    assert "lab is gone" not in said


def test_a_cluster_that_does_not_answer_is_reported_after_the_preview(
    review: Callable[[], tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refuse(monkeypatch, tmp_path)
    code, said = review()
    assert code == 1
    assert said.index("preview: done") < said.index("clusters ...") < said.index("error: lab is gone")


def test_an_interrupt_ends_the_engine_too(
    review: Callable[[], tuple[int, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = tmp_path / "engine.pid"

    def interrupt() -> None:
        while not engine.exists() or not engine.read_text(encoding="utf-8"):
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr("dra_fleet.review.gathering.compile_templates", interrupt)
    monkeypatch.setattr(holders, "read_clusters", _never)
    code, _ = review()
    assert code == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int(engine.read_text(encoding="utf-8")), 0)


def refuse(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No cluster answers."""

    async def ask(*_: object) -> ClusterAnswers:
        (folder / "asked").touch()
        raise KubeconfigError("lab is gone")

    monkeypatch.setattr(holders, "read_clusters", ask)


async def _never(plans: Sequence[FleetPlan], stack: str) -> None:
    del plans, stack
    await asyncio.Event().wait()
