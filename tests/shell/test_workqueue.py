"""The work queue, under virtual time."""

import asyncio
import random

import pytest

from specdeploy.workqueue import LONGEST_BACKOFF, WorkQueue

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


def queue() -> WorkQueue[str]:
    return WorkQueue(random.Random(1))


async def taken(q: WorkQueue[str], within: float) -> list[tuple[float, str]]:
    """What a worker gets within so many seconds, and when."""
    loop, found = asyncio.get_running_loop(), []
    start = loop.time()
    try:
        async with asyncio.timeout(within):
            while True:
                key = await q.get()
                found.append((round(loop.time() - start, 3), key))
                q.done(key)
    except TimeoutError:
        return found


async def test_a_hundred_events_about_one_object_are_one_look() -> None:
    q = queue()
    for _ in range(100):
        q.add("a")
    assert len(q) == 1
    assert await taken(q, 1) == [(0, "a")]


async def test_keys_are_taken_in_the_order_in_which_they_came() -> None:
    q = queue()
    for key in "cabca":
        q.add(key)
    assert [key for _, key in await taken(q, 1)] == ["c", "a", "b"]


async def test_an_event_while_a_worker_looks_makes_one_more_look_and_never_two_at_once() -> None:
    q = queue()
    q.add("a")
    key = await q.get()
    q.add("a")
    q.add("a")
    assert await taken(q, 5) == []  # a second worker waits
    q.done(key)
    assert await taken(q, 5) == [(0, "a")]


@pytest.mark.parametrize(("wishes", "when"), [((30, 10), 10), ((10, 30), 10), ((-5,), 0)])
async def test_of_several_wishes_the_earliest_counts(wishes: tuple[float, ...], when: float) -> None:
    q = queue()
    for seconds in wishes:
        q.add_after("a", seconds)
    assert await taken(q, 100) == [(when, "a")]


async def test_a_look_for_another_reason_takes_the_place_of_the_one_that_was_wished_for() -> None:
    q = queue()
    q.add_after("a", 10)
    q.add("a")
    assert await taken(q, 100) == [(0, "a")]


async def test_failures_back_off_by_doubling_up_to_a_minute_and_success_forgets_them() -> None:
    q = queue()
    delays = []
    for _ in range(12):
        delays.append(q.retry("a"))
        await q.get()
        q.done("a")
    for number, delay in enumerate(delays):
        wanted = min(LONGEST_BACKOFF, 2.0**number)
        assert 0.75 * wanted <= delay <= 1.25 * wanted
    q.succeeded("a")
    assert q.retry("a") <= 1.25


async def test_the_failures_of_one_key_do_not_slow_another() -> None:
    q = queue()
    for _ in range(8):
        q.retry("bad")
        await q.get()
        q.done("bad")
    q.retry("bad")
    q.add("good")
    assert await taken(q, 10) == [(0, "good")]


async def test_a_forgotten_key_has_no_timer_left() -> None:
    q = queue()
    q.add_after("a", 10)
    q.forget("a")
    assert await taken(q, 100) == []


async def test_an_object_made_anew_while_its_namesake_was_forgotten_is_looked_at() -> None:
    q = queue()
    q.add("a")
    key = await q.get()  # finds that the object is gone ...
    q.add("a")  # ... while a new one of its name is made
    q.forget(key)
    q.done(key)
    assert await taken(q, 1) == [(0, "a")]


async def test_every_waiting_worker_gets_a_key() -> None:
    q = queue()
    workers = [asyncio.create_task(q.get()) for _ in range(3)]
    await asyncio.sleep(1)
    for key in "abc":
        q.add(key)
    async with asyncio.timeout(1):
        assert sorted(await asyncio.gather(*workers)) == ["a", "b", "c"]
