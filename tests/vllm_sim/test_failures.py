"""What a running server does when it breaks on demand."""

import asyncio

import pytest

from tests.vllm_sim.test_scheduler import engine
from vllm_sim.faults import Faults
from vllm_sim.knobs import Knobs
from vllm_sim.loop import EngineLoop

BODY = {"model": "m", "prompt": "hello", "max_tokens": 5000, "stream": True}
SLOW = {"VLLM_SIM_BASE_MS": "20"}


async def test_a_dead_engine_is_500_for_clients_503_for_health_and_exit_code_0(simulate):
    async with simulate(**SLOW) as sim, sim.client.post("/v1/completions", json=BODY) as response:
        await response.content.readline()
        await sim.post("/sim/knobs", {"fail": "engine-death"})
        rest = (await response.content.read()).decode()
        assert "EngineCore encountered an issue" in rest
        assert rest.endswith("data: [DONE]\n\n")
        status, answer = await sim.post("/v1/completions", {**BODY, "stream": False})
        assert (status, "EngineCore" in answer["error"]["message"]) == (500, True)
        assert (await sim.get("/health"))[0] == 503
        async with asyncio.timeout(60):
            assert await sim.running.faults.done == 0


async def test_a_crash_ends_with_code_1(simulate, capsys):
    async with simulate(VLLM_SIM_FAIL="crash", VLLM_SIM_FAIL_AFTER="0.05") as sim:
        async with asyncio.timeout(60):
            assert await sim.running.faults.done == 1
    assert "illegal memory access" in capsys.readouterr().err


async def test_a_hung_engine_is_healthy_and_makes_no_step_until_it_goes_on(simulate):
    running = 'vllm:num_requests_running{engine="0",model_name="m"}'
    async with simulate(**SLOW) as sim, sim.client.post("/v1/completions", json=BODY) as response:
        await response.content.readline()
        await sim.post("/sim/knobs", {"fail": "hang"})
        hung = await steps_once(sim, lambda now, before: now == before)
        assert (await sim.values())[running] == 1
        assert (await sim.get("/health"))[0] == 200
        await sim.post("/sim/knobs", {"fail": ""})
        assert await steps_once(sim, lambda now, before: now > before) > hung


async def steps_once(sim, comparison):
    """How many steps were made, once that compares so with what it was 0.2 s ago: ten steps of an engine that
    is well."""
    steps = 'vllm:iteration_tokens_total_count{engine="0",model_name="m"}'
    now = (await sim.values())[steps]
    async with asyncio.timeout(60):
        while True:
            await asyncio.sleep(0.2)
            now, before = (await sim.values())[steps], now
            if comparison(now, before):
                return now


@pytest.mark.looptime
@pytest.mark.parametrize("taken_back", [False, True])
async def test_a_failure_that_was_taken_back_does_not_happen(taken_back):
    faults = Faults(EngineLoop(engine(Knobs())))
    faults.apply(Knobs(fail="crash", fail_after=5))
    await asyncio.sleep(4)
    if taken_back:
        faults.apply(Knobs())
    await asyncio.sleep(60)
    assert faults.done.done() is not taken_back


@pytest.mark.parametrize(
    ("mode", "status", "text"),
    [("error", 500, "Internal Server Error"), ("garbage", 200, "<html>"), ("binary", 200, None)],
)
async def test_metrics_pages_that_end(simulate, mode, status, text):
    async with simulate(VLLM_SIM_METRICS=mode) as sim, sim.client.get("/metrics") as response:
        page = await response.read()
        assert response.status == status
        assert text is None or text in page.decode()
        assert len(page) > 20


@pytest.mark.parametrize(("mode", "enough", "most_a_second"), [("slow", 1, 1), ("endless", 20_000, 10**9)])
async def test_metrics_pages_without_end(simulate, mode, enough, most_a_second):
    clock = asyncio.get_running_loop()
    async with simulate(VLLM_SIM_METRICS=mode) as sim:
        begun = clock.time()
        async with sim.client.get("/metrics") as response:

            async def read_to_the_end():
                while await response.content.readany():
                    pass

            got = 0
            async with asyncio.timeout(60):
                while got < enough:
                    got += len(await response.content.readany())
            assert got <= 1 + most_a_second * (clock.time() - begun)

            with pytest.raises(TimeoutError):
                await asyncio.wait_for(read_to_the_end(), 0.3)
            response.close()
