import asyncio
import threading

import pytest

from dra_fleet.clusters.meanwhile import in_background


async def _answer() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


async def _refusal() -> None:
    await asyncio.sleep(0)
    raise LookupError("no one is there")


def test_another_thread_asks() -> None:
    with in_background(_answer()) as answer:
        assert answer.result() not in ("", threading.current_thread().name)


def test_a_refusal_is_raised_where_the_answer_is_asked_for() -> None:
    with in_background(_refusal()) as answer, pytest.raises(LookupError, match="no one is there"):
        answer.result()


def test_cancels_an_unused_request_which_cleans_up() -> None:
    begun, ended = threading.Event(), threading.Event()

    async def ask() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # such as closing a connection
            ended.set()

    before = threading.active_count()
    with in_background(ask()):
        begun.wait()
    assert ended.is_set()
    assert threading.active_count() == before
