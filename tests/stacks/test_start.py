from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from stacks.start import quick_start

if TYPE_CHECKING:
    from collections.abc import Iterator


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


def test_what_was_made_inside_is_spared_from_later_rounds() -> None:
    before = gc.get_freeze_count()
    with quick_start():
        made: list[object] = [[] for _ in range(1000)]
    assert gc.get_freeze_count() >= before + len(made)
