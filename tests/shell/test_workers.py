"""Workers: one object's trouble is never another's. Under virtual time."""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest

from specdeploy.cluster import Conflict, Forbidden, NotFound, Unavailable
from specdeploy.telemetry import Telemetry
from specdeploy.workers import PASS_SECONDS, STUCK_SECONDS, Key, Workers
from specdeploy.workqueue import WorkQueue

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

A, B = ("ns", "a"), ("ns", "b")


class Looks:
    """A pass that notes when it was made, and does for each key what it is told."""

    def __init__(self, **doing: Callable[[], Awaitable[float | None]]) -> None:
        self.doing = doing
        self.times: dict[str, list[float]] = {}

    async def __call__(self, key: Key) -> float | None:
        self.times.setdefault(key[1], []).append(asyncio.get_running_loop().time())
        return await self.doing[key[1]]() if key[1] in self.doing else 3600.0


def failing(error: Exception) -> Callable[[], Awaitable[float | None]]:
    async def fail() -> float | None:
        raise error

    return fail


async def hanging() -> float | None:
    await asyncio.sleep(1e6)
    return None


@asynccontextmanager
async def working(looks: Looks, count: int = 2) -> AsyncIterator[tuple[WorkQueue[Key], Telemetry]]:
    queue: WorkQueue[Key] = WorkQueue(random.Random(1))
    telemetry = Telemetry()
    async with running(Workers(queue, looks, telemetry, count)):
        yield queue, telemetry


@asynccontextmanager
async def running(workers: Workers) -> AsyncIterator[None]:
    task = asyncio.create_task(workers.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def shown(telemetry: Telemetry, name: str) -> float | None:
    return telemetry.registry.get_sample_value(f"specdeploy_{name}")


def counted(telemetry: Telemetry, result: str) -> float:
    return telemetry.registry.get_sample_value("specdeploy_reconciles_total", {"result": result}) or 0.0


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Forbidden("GET /apis/apps/v1/deployments: 403: may not list"), "error"),
        (Unavailable("GET /: TimeoutError"), "error"),
        (ValueError("a bug of ours"), "failure"),
        (Conflict("somebody wrote in between"), "conflict"),
        (NotFound("somebody deleted it in between"), "conflict"),
    ],
)
async def test_a_key_that_fails_backs_off_and_the_other_is_looked_at_in_time(
    error: Exception, result: str
) -> None:
    async def soon() -> float | None:
        return 10.0

    looks = Looks(a=failing(error), b=soon)
    async with working(looks) as (queue, telemetry):
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(1000)
        assert 18 <= len(looks.times["a"]) <= 28  # soon at first, then once a minute
        gaps = [
            later - earlier for earlier, later in zip(looks.times["a"], looks.times["a"][1:], strict=False)
        ]
        assert gaps[-1] > 40 > gaps[0]
        assert len(looks.times["b"]) == 100
        assert counted(telemetry, result) == len(looks.times["a"])


async def test_a_conflict_is_looked_at_again_within_a_moment() -> None:
    looks = Looks(a=failing(Conflict("")))
    async with working(looks) as (queue, _):
        queue.add(A)
        await asyncio.sleep(0.3)
        assert len(looks.times["a"]) == 2


async def test_missing_rights_are_one_clear_line(caplog: pytest.LogCaptureFixture) -> None:
    error = Forbidden('POST /apis/apps/v1/namespaces/ns/deployments: 403: User "x" cannot create deployments')
    async with working(Looks(a=failing(error))) as (queue, _):
        with caplog.at_level(logging.INFO):
            queue.add(A)
            await asyncio.sleep(0.1)
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert "ns/a: POST" in caplog.text
    assert 'User "x" cannot create deployments; again in 1 s' in caplog.text


async def test_a_hanging_pass_is_ended_and_named_and_its_worker_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    looks = Looks(a=hanging)
    async with working(looks, count=1) as (queue, _):
        queue.add(A)
        queue.add(B)
        await asyncio.sleep(PASS_SECONDS + 1)
        assert looks.times["b"] == [PASS_SECONDS]
    assert "ns/a: a pass took longer than 60 s" in caplog.text


async def test_an_object_that_is_gone_is_not_looked_at_again() -> None:
    async def gone() -> float | None:
        return None

    looks = Looks(a=gone)
    async with working(looks) as (queue, _):
        queue.add(A)
        await asyncio.sleep(1000)
        assert len(looks.times["a"]) == 1


async def test_no_more_passes_run_at_once_than_there_are_workers() -> None:
    running, most = 0, 0

    async def busy() -> float | None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1)
        running -= 1
        return 3600.0

    keys = [f"k{number}" for number in range(20)]
    async with working(Looks(**dict.fromkeys(keys, busy)), count=3) as (queue, telemetry):
        for key in keys:
            queue.add(("ns", key))
        await asyncio.sleep(30)
        assert counted(telemetry, "done") == 20
    assert most == 3


async def test_the_workers_stop_at_once_in_the_middle_of_a_pass() -> None:
    loop = asyncio.get_running_loop()
    async with working(Looks(a=hanging)) as (queue, _):
        queue.add(A)
        await asyncio.sleep(1)
        before = loop.time()
    assert loop.time() == before


async def test_the_depth_of_the_queue_is_told_while_every_worker_is_busy() -> None:
    async with working(Looks(a=hanging), count=1) as (queue, telemetry):
        queue.add(A)
        await asyncio.sleep(1)
        queue.add(B)
        queue.add(("ns", "c"))
        assert shown(telemetry, "queue_depth") == 2


async def test_the_age_of_the_oldest_pass_is_told_and_is_0_when_none_runs() -> None:
    async with working(Looks(a=hanging)) as (queue, telemetry):
        queue.add(A)
        await asyncio.sleep(20)
        queue.add(B)
        await asyncio.sleep(5)
        assert shown(telemetry, "oldest_pass_seconds") == 25
        await asyncio.sleep(PASS_SECONDS - 24.5)
        assert shown(telemetry, "oldest_pass_seconds") == 0


@pytest.mark.parametrize("stuck", [1, 2])
async def test_the_process_is_at_fault_only_when_every_worker_is_stuck_in_one_pass(stuck: int) -> None:
    async def deaf() -> float | None:
        """Swallows its time-out, as code that catches too much does."""
        while not over.is_set():
            with suppress(asyncio.CancelledError):
                await over.wait()
        return None

    over = asyncio.Event()
    queue: WorkQueue[Key] = WorkQueue(random.Random(1))
    release = dict(zip("ab", [deaf] * stuck, strict=False))
    workers = Workers(queue, Looks(**release), Telemetry(), 2)
    async with running(workers):
        for name in "abc":
            queue.add(("ns", name))
        await asyncio.sleep(STUCK_SECONDS - 1)
        assert workers.fault() is None
        await asyncio.sleep(2)
        fault = workers.fault()
        assert (fault is not None) is (stuck == 2)
        assert fault is None or "ns/a, ns/b" in fault
        over.set()
        await asyncio.sleep(1)
        assert workers.fault() is None
