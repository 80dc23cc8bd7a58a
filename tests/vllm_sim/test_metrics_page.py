"""`/metrics` has the series of a real vLLM: `series_*.txt` are the names and label keys of recorded pages."""

import asyncio
import pathlib
import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

HERE = pathlib.Path(__file__).parent
EAGLE3 = ("-sc", '{"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}')
SPECULATION = "vllm:spec_decode"


def recorded(name: str) -> set[str]:
    return set((HERE / f"series_{name}.txt").read_text().split())


def series(values: dict[str, float]) -> set[str]:
    """Names with their label keys, as in the recorded lists."""
    found = set()
    for sample in values:
        name, _, labels = sample.partition("{")
        keys = ",".join(re.findall(r'(\w+)="', labels))
        found.add(f"{name}{{{keys}}}")
    return found


async def some_traffic(sim) -> None:
    await sim.post("/v1/completions", {"model": "m", "prompt": "hello there", "max_tokens": 5})
    messages = [{"role": "user", "content": "hello"}]
    await sim.post("/v1/chat/completions", {"model": "m", "messages": messages, "max_tokens": 5})


@pytest.mark.parametrize(
    ("argv", "lists"), [((), ("baseline",)), (EAGLE3, ("baseline", "speculation"))], ids=["plain", "eagle3"]
)
async def test_the_page_has_exactly_the_series_of_a_real_page(simulate, argv, lists):
    async with simulate(*argv) as sim:
        await some_traffic(sim)
        assert series(await sim.values()) == set().union(*map(recorded, lists))


async def test_a_baseline_has_no_speculation_series_at_all(simulate):
    async with simulate() as sim:
        assert not [name for name in await sim.values() if name.startswith(SPECULATION)]


async def test_every_position_is_there_before_the_first_request(simulate):
    async with simulate(*EAGLE3) as sim:
        values = await sim.values()
        name = SPECULATION + '_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="%d"}'
        assert [values.get(name % position) for position in range(4)] == [0.0, 0.0, 0.0, None]


async def test_the_page_is_labelled_with_the_first_served_name_and_engine_0(simulate):
    async with simulate("--served-model-name", "alias", "other") as sim:
        values = await sim.values()
    assert 'vllm:generation_tokens_total{engine="0",model_name="alias"}' in values
    assert not [name for name in values if 'model_name="other"' in name]


@pytest.mark.parametrize(
    ("histogram", "bounds"),
    [
        (
            "inter_token_latency_seconds",
            "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1.0 2.5 5.0 7.5",
        ),
        ("time_to_first_token_seconds", "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0"),
        ("iteration_tokens_total", "1.0 8.0 16.0 32.0 64.0 128.0 256.0 512.0 1024.0 2048.0"),
        ("request_prompt_tokens", "1.0 2.0 5.0 10.0 20.0 50.0 100.0 200.0 500.0 +Inf"),
        ("e2e_request_latency_seconds", "0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0"),
    ],
)
async def test_histograms_have_the_real_bounds(simulate, histogram, bounds):
    async with simulate("--max-model-len", "512") as sim:
        names = [name for name in await sim.values() if name.startswith(f"vllm:{histogram}_bucket")]
    found = [re.findall(r'le="([^"]+)"', name)[0] for name in names]
    assert found[: len(bounds.split())] == bounds.split()


async def test_the_page_parses_and_counters_agree_with_the_answers(simulate):
    async with simulate() as sim:
        await some_traffic(sim)
        _, page = await sim.get("/metrics")
        values = await sim.values()
    assert len(list(text_string_to_metric_families(page))) > 60
    labels = '{engine="0",model_name="m"}'
    assert values[f"vllm:generation_tokens_total{labels}"] == 10
    assert values[f"vllm:time_to_first_token_seconds_count{labels}"] == 2
    assert values[f"vllm:inter_token_latency_seconds_count{labels}"] == 8
    success = 'vllm:request_success_total{engine="0",finished_reason="length",model_name="m"}'
    assert values[success] == 2


async def test_counters_move_while_a_request_runs_not_only_when_it_ends(simulate):
    async with simulate(VLLM_SIM_BASE_MS="50") as sim:
        body = {"model": "m", "prompt": "hello", "max_tokens": 500, "stream": True}
        async with sim.client.post("/v1/completions", json=body) as response:
            await response.content.readline()
            values = await sim.values()
    labels = '{engine="0",model_name="m"}'
    assert values[f"vllm:generation_tokens_total{labels}"] >= 1
    assert values[f"vllm:num_requests_running{labels}"] == 1
    assert values[f"vllm:e2e_request_latency_seconds_count{labels}"] == 0


async def test_a_drafter_with_weights_of_its_own_has_fewer_kv_blocks(simulate):
    def blocks(values):
        info = next(name for name in values if name.startswith("vllm:cache_config_info"))
        return int(re.findall(r'num_gpu_blocks="(\d+)"', info)[0])

    async with simulate() as plain, simulate(*EAGLE3) as drafting:
        assert blocks(await drafting.values()) < blocks(await plain.values())


async def test_without_log_stats_nothing_is_said_of_the_engine(simulate):
    async with simulate("--disable-log-stats") as sim:
        assert not [name for name in await sim.values() if name.startswith("vllm:")]


async def test_sums_of_finished_requests_and_of_the_prefix_cache_are_on_the_page(simulate):
    async with simulate(VLLM_SIM_PREFIX_HITS="0.5") as sim:
        for prompt, tokens in (([1] * 40, 5), ([2] * 60, 7)):
            await sim.post("/v1/completions", {"prompt": prompt, "max_tokens": tokens})
        values = await sim.values()
    labels = '{engine="0",model_name="m"}'
    cached = '{engine="0",model_name="m",source="device"}'
    expected = {
        f"vllm:request_params_max_tokens_sum{labels}": 12,
        f"vllm:request_generation_tokens_sum{labels}": 12,
        f"vllm:prompt_tokens_total{labels}": 100,
        f"vllm:prefix_cache_queries_total{labels}": 100,
        f"vllm:prefix_cache_hits_total{labels}": 50,
        f"vllm:prompt_tokens_cached_total{labels}": 50,
        f"vllm:prompt_tokens_cached_by_source_total{cached}": 50,
        f"vllm:request_prefill_kv_computed_tokens_sum{labels}": 50,
        f"vllm:num_preemptions_total{labels}": 0,
        f"vllm:request_num_preemptions_count{labels}": 2,
    }
    assert {name: values[name] for name in expected} == expected


async def test_a_kv_cache_of_a_given_size_preempts_and_says_so(simulate):
    async with simulate("--num-gpu-blocks-override", "8", VLLM_SIM_BASE_MS="0.5") as sim:
        body = {"prompt": [1] * 16, "max_tokens": 80}
        answers = await asyncio.gather(*(sim.post("/v1/completions", body) for _ in range(4)))
        values = await sim.values()
    assert [status for status, _ in answers] == [200] * 4
    assert values['vllm:num_preemptions_total{engine="0",model_name="m"}'] > 0
    [info] = [name for name in values if name.startswith("vllm:cache_config_info")]
    for label in ('kv_cache_size_tokens="128"', 'num_gpu_blocks="8"', 'num_gpu_blocks_override="8"'):
        assert label in info
