import pytest

from dra_fleet.rehearsal import engine_run as timings_module
from dra_fleet.rehearsal.engine_run import Timed
from dra_fleet.rehearsal.reporting import Silent


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    moved = Clock()
    monkeypatch.setattr(timings_module, "time", moved)
    return moved


def test_each_part_has_its_seconds_and_its_share_and_the_rest_is_reported(clock: Clock) -> None:
    timed = Timed(Silent())
    with timed.part("plan"):
        clock.now += 1
    with timed.step("simulator"):
        clock.now += 6
    clock.now += 3
    assert [item.as_json() for item in timed.timings()] == [
        {"part": "plan", "seconds": 1.0, "share": 0.1},
        {"part": "simulator", "seconds": 6.0, "share": 0.6},
        {"part": "the rest", "seconds": 3.0, "share": 0.3},
    ]


def test_a_part_that_is_split_adds_up_to_what_it_took(clock: Clock) -> None:
    timed = Timed(Silent())
    with timed.part("pulumi up"):
        clock.now += 10
    timed.split("pulumi up", {"until the first resource": 4.0, "resources": 5.0})
    assert [(item.part, item.seconds) for item in timed.timings()] == [
        ("pulumi up: until the first resource", 4.0),
        ("pulumi up: resources", 5.0),
        ("pulumi up: else", 1.0),
        ("the rest", 0.0),
    ]
