"""What the operator's reader makes of a simulated pod, over a real socket: the page and the reader fit."""

import asyncio
import time

import pytest

from specdeploy.judge import PodWindow
from specdeploy.metrics.difference import difference
from specdeploy.metrics.pods import Target
from specdeploy.metrics.pulse import Reply
from specdeploy.metrics.sample import Sample
from tests.metrics.network import patient_reader

EAGLE3 = ("-sc", '{"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}')


async def window_of(sim, traffic) -> PodWindow:
    """One pod's window around `traffic`."""
    target = Target("a", "127.0.0.1", sim.running.port)
    reader = patient_reader(time.monotonic)
    before = (await reader.read([target]))["a"]
    await traffic()
    after = (await reader.read([target]))["a"]
    await reader.close()
    assert isinstance(before, Sample)
    assert isinstance(after, Sample)
    window = difference(before, after, pod="p")
    assert isinstance(window, PodWindow)
    return window


async def test_a_window_tells_what_was_asked_answered_and_refused(simulate):
    async def traffic() -> None:
        for body in (
            {"prompt": [1] * 40, "max_tokens": 20},
            {"prompt": [2] * 60, "max_tokens": 30},
            {"prompt": [3] * 60, "max_tokens": 30, "min_p": 0.1},
            {"prompt": [3] * 60, "max_tokens": 5000},
        ):
            await sim.post("/v1/completions", body)

    async with simulate(*EAGLE3, VLLM_SIM_PREFIX_HITS="0.5", VLLM_SIM_DRAFT_MAX_MODEL_LEN="4096") as sim:
        window = await window_of(sim, traffic)

    assert (window.first_tokens, window.generation_tokens) == (2, 50)
    assert (window.prompt_tokens, window.prefix_queries, window.prefix_hits) == (100, 100, 50)
    assert (window.finished_requests, window.finished_tokens, window.max_tokens) == (2, 50, 50)
    assert (window.aborted_requests, window.errored_requests, window.preemptions) == (0, 0, 0)
    assert (window.http_requests, window.client_errors, window.server_errors) == (4, 2, 0)
    assert window.max_model_len == 4096
    assert window.ttft_seconds
    assert window.drafts


async def test_errors_of_the_engine_are_errored_requests_and_server_errors(simulate):
    async def traffic() -> None:
        for _ in range(3):
            await sim.post("/v1/completions", {"prompt": "hi", "max_tokens": 20})

    async with simulate(VLLM_SIM_ERROR_SHARE="1") as sim:
        window = await window_of(sim, traffic)

    assert (window.finished_requests, window.errored_requests, window.server_errors) == (3, 3, 3)


async def test_a_drafter_that_takes_memory_has_less_room(simulate):
    async def traffic() -> None: ...

    async with simulate() as sim:
        plain = await window_of(sim, traffic)
    async with simulate(*EAGLE3, VLLM_SIM_KV_LOSS="0.25") as sim:
        drafting = await window_of(sim, traffic)

    assert plain.kv_tokens == 8192 * 16
    assert drafting.kv_tokens == 0.75 * 8192 * 16
    assert (plain.http_requests, plain.max_model_len) == (None, 8192)


async def test_behind_an_api_key_everything_is_told_but_the_longest_context(simulate):
    headers = {"Authorization": "Bearer secret"}

    async def traffic() -> None:
        await sim.post("/v1/completions", {"prompt": "hi", "max_tokens": 20}, headers=headers)

    async with simulate("--api-key", "secret") as sim:
        window = await window_of(sim, traffic)

    assert window.max_model_len is None
    assert (window.http_requests, window.client_errors) == (1, 0)


@pytest.mark.parametrize(
    ("knobs", "argv", "reply"),
    [
        ({}, (), Reply.TOKEN),
        ({"fail": "hang"}, (), None),
        ({}, ("--api-key", "secret"), Reply.REFUSED),
    ],
    ids=["well", "hung", "behind an API key"],
)
async def test_an_engine_that_hangs_while_it_is_idle_shows_it_only_to_who_asks(simulate, knobs, argv, reply):
    async with simulate(*argv) as sim:
        if knobs:
            await sim.post("/sim/knobs", knobs)
        target = Target("a", "127.0.0.1", sim.running.port)
        reader = patient_reader(time.monotonic)
        question = reader.question(target, "m")
        assert question is not None
        done, _ = await asyncio.wait([question], timeout=120 if reply else 1)
        assert [each.result() for each in done] == ([reply] if reply else [])
        page = (await reader.read([target]))["a"]
        await reader.close()
        assert question.done(), "no question is left behind"
    assert isinstance(page, Sample)
    engine = page.counters.engines["0"]
    assert (engine.requests_running, engine.requests_waiting) == (0, 0)
    assert engine.generation_tokens == (1 if reply is Reply.TOKEN else 0)


async def test_an_acceptance_lowered_while_it_serves_shows_in_the_next_window(simulate):
    async def traffic() -> None:
        await sim.post("/v1/completions", {"prompt": "hi", "max_tokens": 300})

    accepted = []
    async with simulate(*EAGLE3, VLLM_SIM_STICKY="0") as sim:
        for q1 in (0.9, 0.1):
            await sim.post("/sim/knobs", {"q1": q1})
            window = await window_of(sim, traffic)
            accepted.append(window.accepted_tokens / window.drafts)

    assert accepted[0] > 1.5
    assert accepted[1] < 0.5
