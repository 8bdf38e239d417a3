from collections import Counter
from typing import Final

import pytest

from dra_fleet import drivers
from dra_fleet.core.transitions import ANY, Transition
from dra_fleet.fleet.queueing import kueue
from dra_fleet.fleet.upgrades import known_minors, transitions

ALL: Final = transitions()
REHEARSED: Final = {
    ("kubernetes", "1.34", "1.35"),
    ("kubernetes", "1.35", "1.36"),
    ("kubernetes", "1.36", "1.37"),
    ("gpu-operator", "v25.10.0", "v26.7.0"),
    ("mig", ANY, ANY),
    ("nvidia", "25.12.0", "0.4.0"),
    ("nvidia", "0.4.0", "0.4.1"),
    ("nvidia", "0.4.1", "0.5.0"),
}
"""The tests are in tests/engine/test_upgrades_on_engine.py."""
NOT_REHEARSED: Final = {
    ("nvidia", "0.4.0", "25.12.0"): "blocked",
    ("nvidia", "0.5.0", "0.5.1"): "neither chart nor module of 0.5.1 could be read",
    ("gpu-operator", "v26.7.0", "v26.7.2"): "the chart of v26.7.2 could not be read",
    ("kueue", "0.19.0", "0.19.11"): "the module of 0.19.11 could not be read",
    ("kueue", "0.19.11", "0.20.5"): "the modules of both could not be read",
    ("amd", "v1.0.0", "v1.0.1"): "the chart of v1.0.1 could not be read",
}


def catalogue(subject: str) -> list[str]:
    """The versions of a subject that the catalogue has; none for layouts."""
    if subject == "kubernetes":
        return known_minors()
    if subject == "kueue":
        return [*kueue.versions()]
    driver = drivers.named(subject)
    if driver is not None:
        return [entry.version for entry in driver.facts.versions]
    operators = (item.resources.operator for item in drivers.known())
    return [
        entry.version for item in operators if item and item.chart == subject for entry in item.versions()
    ]


@pytest.mark.parametrize("item", ALL, ids=lambda item: f"{item.subject}:{item.before}-{item.after}")
def test_a_transition_has_a_public_source_and_a_reason_unless_it_is_safe(item: Transition) -> None:
    assert item.source.startswith("https://")
    assert bool(item.reason) is (item.verdict != "safe")
    assert bool(item.steps) is (item.verdict != "blocked")
    assert (item.before != item.after) is (item.before != ANY)


@pytest.mark.parametrize("item", ALL, ids=lambda item: f"{item.subject}:{item.before}-{item.after}")
def test_a_transition_starts_at_a_version_of_the_catalogue(item: Transition) -> None:
    assert item.before == ANY or item.before in catalogue(item.subject)


def test_a_transition_is_rehearsed_or_has_a_reason() -> None:
    assert {(item.subject, item.before, item.after) for item in ALL} == REHEARSED | NOT_REHEARSED.keys()


def test_no_transition_is_documented_twice() -> None:
    counts = Counter((item.subject, item.before, item.after) for item in ALL)
    assert [key for key, count in counts.items() if count > 1] == []


def test_every_kubernetes_version_but_the_oldest_and_planned_ones_can_be_reached() -> None:
    documented = {(item.before, item.after) for item in ALL if item.subject == "kubernetes"}
    assert documented == {("1.34", "1.35"), ("1.35", "1.36"), ("1.36", "1.37")}
