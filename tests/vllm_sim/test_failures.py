"""What a running server does when it breaks on demand."""

import asyncio

import pytest

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
        async with asyncio.timeout(5):
            assert await sim.running.faults.done == 0


async def test_a_crash_ends_with_code_1(simulate, capsys):
    async with simulate(VLLM_SIM_FAIL="crash", VLLM_SIM_FAIL_AFTER="0.05") as sim:
        async with asyncio.timeout(5):
            assert await sim.running.faults.done == 1
    assert "illegal memory access" in capsys.readouterr().err


async def test_a_hung_engine_is_healthy_and_makes_no_step_until_it_goes_on(simulate):
    steps = 'vllm:iteration_tokens_total_count{engine="0",model_name="m"}'
    running = 'vllm:num_requests_running{engine="0",model_name="m"}'
    async with simulate(**SLOW) as sim, sim.client.post("/v1/completions", json=BODY) as response:
        await response.content.readline()
        await sim.post("/sim/knobs", {"fail": "hang"})
        await asyncio.sleep(0.05)
        before = await sim.values()
        await asyncio.sleep(0.2)
        after = await sim.values()
        assert (after[steps], after[running]) == (before[steps], 1)
        assert (await sim.get("/health"))[0] == 200
        await sim.post("/sim/knobs", {"fail": ""})
        await asyncio.sleep(0.1)
        assert (await sim.values())[steps] > before[steps]


async def test_a_failure_that_was_taken_back_does_not_happen(simulate):
    async with simulate(VLLM_SIM_FAIL="crash", VLLM_SIM_FAIL_AFTER="0.1") as sim:
        await sim.post("/sim/knobs", {"fail": ""})
        await asyncio.sleep(0.2)
        assert not sim.running.faults.done.done()


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


@pytest.mark.parametrize(("mode", "least", "most"), [("slow", 1, 2), ("endless", 20_000, 10**9)])
async def test_metrics_pages_without_end(simulate, mode, least, most):
    async with simulate(VLLM_SIM_METRICS=mode) as sim, sim.client.get("/metrics") as response:
        pages = bytearray()

        async def read_all() -> None:
            while chunk := await response.content.readany():
                pages.extend(chunk)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read_all(), 0.3)
        assert least <= len(pages) <= most
        response.close()
