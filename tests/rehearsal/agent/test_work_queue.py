import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dra_fleet.clusters.client import ApiError
from dra_fleet.rehearsal.agent import work_queue
from dra_fleet.rehearsal.agent.work_queue import Key, WorkQueue

POD = Key("pod", "ns/p")


async def work_until(queue: WorkQueue, handle: Callable[[Key], Awaitable[None]], done: asyncio.Event) -> None:
    worker = asyncio.create_task(queue.run(handle))
    async with asyncio.timeout(60):
        await done.wait()
    worker.cancel()
    await asyncio.gather(worker, return_exceptions=True)


def test_a_key_asked_for_many_times_is_handled_once() -> None:
    async def scenario() -> list[Key]:
        queue, done, seen = WorkQueue(), asyncio.Event(), list[Key]()
        other = Key("pod", "ns/last")

        async def handle(key: Key) -> None:
            seen.append(key)
            if key == other:
                done.set()

        for key in (POD, POD, POD, other):
            queue.add(key)
        await work_until(queue, handle, done)
        return seen

    assert len(asyncio.run(scenario())) == 2


def test_a_key_asked_for_while_it_is_handled_is_handled_again_afterwards() -> None:
    async def scenario() -> tuple[int, int]:
        queue, done = WorkQueue(), asyncio.Event()
        running = most = times = 0

        async def handle(key: Key) -> None:
            nonlocal running, most, times
            running += 1
            times += 1
            most = max(most, running)
            if times == 1:
                queue.add(key)
                await asyncio.sleep(0)
            else:
                done.set()
            running -= 1

        queue.add(POD)
        await work_until(queue, handle, done)
        return times, most

    assert asyncio.run(scenario()) == (2, 1)


def test_a_key_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_queue, "FIRST_RETRY", 0.0)

    async def scenario() -> int:
        queue, done = WorkQueue(), asyncio.Event()
        times = 0

        async def handle(_: Key) -> None:
            nonlocal times
            times += 1
            if times < 3:
                raise ApiError(409, "Conflict", "changed", {})
            done.set()

        queue.add(POD)
        await work_until(queue, handle, done)
        return times

    assert asyncio.run(scenario()) == 3


def test_of_two_later_times_the_earlier_counts() -> None:
    async def scenario() -> None:
        queue, done = WorkQueue(), asyncio.Event()

        async def handle(_: Key) -> None:
            done.set()

        queue.add_later(POD, 0.0)
        queue.add_later(POD, 60.0)
        await work_until(queue, handle, done)

    asyncio.run(scenario())
