"""Distribution of the tests among pytest-xdist's workers, and their garbage collection. A pytest plugin.

A file's tests stay together, because they share rehearsals and clusters. The files that take longest begin
first, so that no worker starts one of them when the others are done.
"""

import gc
import os

import pytest
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs]
from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs]

LONGEST_FIRST = (
    "tests/faults/test_faults.py",
    "tests/engine/test_dev_stack.py",
    "tests/engine/test_aks_situations.py",
    "tests/engine/test_changed_stacks.py",
    "tests/test_platforms.py",
    "tests/review/page/test_review_browser.py",
    "tests/engine/test_review_on_engine.py",
    "tests/engine/test_examples.py",
    "tests/engine/test_gke_situations.py",
    "tests/policy/test_gate_on_engine.py",
    "tests/package/test_wheel.py",
    "tests/test_quality.py",
)
"""Files that take a minute and more; after them those with the marker `engine`, then all others."""
APART = frozenset(
    {
        "tests/engine/test_aks_situations.py",
        "tests/engine/test_examples.py",
        "tests/engine/test_gke_situations.py",
        "tests/test_quality.py",
    }
)
"""Files whose tests share nothing: each may run on any worker."""
TOGETHER = ("tests/rehearsal/agent",)
"""Folders whose files share a cluster."""


_NEW_OBJECTS = 50_000
"""Made between two looks for garbage in cycles; Python's own 700 suit a heap without the clouds' SDKs."""


def pytest_configure() -> None:
    """A quarter of a test that declares resources was the search for garbage that is not there."""
    gc.set_threshold(_NEW_OBJECTS)


def pytest_collection_finish() -> None:
    """Keep the objects that are loaded by now."""
    gc.freeze()


class LongestFirst(LoadFileScheduling):
    """Hands out units in the order in which the tests were collected."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


@pytest.hookimpl(optionalhook=True)  # unknown where xdist is switched off
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Two workers a processor with `-n auto`: tests on the engine wait for half of their time."""
    return 2 * (os.cpu_count() or 1) if config.option.numprocesses == "auto" else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LongestFirst:
    """Take the place of xdist's own ways."""
    config.option.loadscopereorder = False
    return LongestFirst(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sort the long ones to the front on a worker; within a file and among short ones the order is random."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid, engine=item.get_closest_marker("engine") is not None))


def unit(nodeid: str) -> str:
    """Return the unit that a test must stay with: its folder, its file, or itself."""
    file = _file(nodeid)
    if file in APART:
        return nodeid
    return next((folder for folder in TOGETHER if file.startswith(f"{folder}/")), file)


def rank(nodeid: str, *, engine: bool) -> int:
    """When a test's unit begins: low is early."""
    file = _file(nodeid)
    return LONGEST_FIRST.index(file) if file in LONGEST_FIRST else len(LONGEST_FIRST) + (not engine)


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]
