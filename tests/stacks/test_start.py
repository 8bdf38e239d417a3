import gc
import sys
import traceback
from collections.abc import Iterator

import pytest

from stacks.start import CALLS, quick_start


@pytest.fixture(autouse=True)
def nothing_spared() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_inside_and_again_after() -> None:
    with quick_start():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_turns_collection_on_again() -> None:
    with pytest.raises(ValueError, match="broken"), quick_start():
        raise ValueError("broken")
    assert gc.isenabled()


def test_collection_that_was_off_stays_off() -> None:
    gc.disable()
    with quick_start():
        pass
    assert not gc.isenabled()


def test_objects_made_inside_are_skipped_in_later_rounds() -> None:
    before = gc.get_freeze_count()
    with quick_start():
        made: list[object] = [[] for _ in range(1000)]
    assert gc.get_freeze_count() >= before + len(made)


def deep(calls: int) -> list[str]:
    """The functions on the stack below so many calls."""
    return deep(calls - 1) if calls else [frame.name for frame in traceback.extract_stack()]


def test_inside_a_stack_is_reported_by_its_last_calls() -> None:
    with quick_start():
        assert deep(2 * CALLS) == ["deep"] * CALLS
    assert len(deep(2 * CALLS)) > 2 * CALLS


def test_an_error_from_inside_is_reported_whole() -> None:
    def fail(calls: int) -> None:
        if not calls:
            raise ValueError("broken")
        fail(calls - 1)

    with pytest.raises(ValueError, match="broken") as caught, quick_start():
        fail(2 * CALLS)
    output = traceback.extract_tb(caught.tb)
    assert [frame.name for frame in output].count("fail") == 2 * CALLS + 1
    assert not hasattr(sys, "tracebacklimit")
