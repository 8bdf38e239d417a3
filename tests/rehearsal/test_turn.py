import shutil
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.reporting import Silent, Step
from dra_fleet.rehearsal.session import own_turn


class Reported(Silent):
    """Remembers the steps it was reported, and signals each."""

    def __init__(self) -> None:
        self.titles: list[str] = []
        self.reported = threading.Event()

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        self.titles.append(title)
        self.reported.set()
        with super().step(title) as step:
            yield step


def test_a_free_home_is_had_at_once_and_again(tmp_path: Path) -> None:
    home, reporter = Home.at(tmp_path / "home"), Reported()
    for _ in range(2):
        with own_turn(home, reporter):
            assert home.turn.stat().st_mode & 0o777 == 0o600
    assert reporter.titles == []


def test_a_second_run_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    home, waiting = Home.at(tmp_path / "home"), Reported()
    order: list[str] = []

    def second() -> None:
        with own_turn(home, waiting):
            order.append("second")

    with own_turn(home, Reported()):
        thread = threading.Thread(target=second)
        thread.start()
        assert waiting.reported.wait(timeout=120)
        order.append("first")
    thread.join(timeout=120)

    assert order == ["first", "second"]
    assert waiting.titles == [f"waiting for another `rehearse up` that is at work in {home.root}"]


def test_a_home_that_was_removed_while_a_run_waited_is_made_again(tmp_path: Path) -> None:
    home, waiting = Home.at(tmp_path / "home"), Reported()

    def second() -> bool:
        with own_turn(home, waiting):
            return home.clusters.is_dir()

    with ThreadPoolExecutor(max_workers=1) as pool:
        with own_turn(home, Reported()):
            made = pool.submit(second)
            assert waiting.reported.wait(timeout=120)
            shutil.rmtree(home.root.rename(tmp_path / "gone"))  # at once: who waits looks into it
        assert made.result(timeout=120)
