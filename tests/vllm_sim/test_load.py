"""The load generator: what it counts as failed, when it sends, and what it reports."""

import asyncio
import json
import signal
import sys

import aiohttp
import pytest
from aiohttp import web

from tests.vllm_sim.test_process import OPERATOR
from vllm_sim.load import prompts
from vllm_sim.load.__main__ import main, parse, run
from vllm_sim.load.client import Outcome, Target, send
from vllm_sim.load.driver import Driver, Plan
from vllm_sim.load.report import Tally


def target(url: str, *, timeout_seconds: float = 120.0, max_tokens: int = 8) -> Target:
    return Target(
        url=url,
        model="m",
        max_tokens=max_tokens,
        spread=0,
        temperature=0,
        chat=True,
        ignore_eos=False,
        timeout_seconds=timeout_seconds,
    )


def event(**choice) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, **choice}]}).encode() + b"\n\n"


TEXT = event(delta={"content": " word"}, finish_reason=None)
LAST = event(delta={"content": " end"}, finish_reason="length")
DONE = b"data: [DONE]\n\n"
ERROR = b'data: {"error": {"message": "EngineCore encountered an issue", "code": 500}}\n\n'

MEASUREMENTS = 5
CASES = [
    ([TEXT, LAST, DONE], None),
    ([TEXT, LAST], "no_done"),
    ([TEXT, DONE], "no_finish_reason"),
    ([TEXT, event(delta={}, finish_reason="abort"), DONE], "abort"),
    ([TEXT, ERROR, DONE], "error_event"),
    ([TEXT, b"data: {nonsense\n\n"], "broken_stream"),
    ([TEXT, "cut"], "broken_stream"),
    ([TEXT, "wait"], "timeout"),
    (500, "http_500"),
    (404, "http_404"),
]


async def serve_script(script) -> tuple[web.AppRunner, str]:
    """A server that answers every request with the given status, or the given pieces of a stream."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if isinstance(script, int):
            return web.Response(status=script)
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in script:
            if piece == "cut":
                request.transport.close()
            elif piece == "wait":
                await asyncio.sleep(3600)
            else:
                await response.write(piece)
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}"


@pytest.mark.parametrize(("script", "failure"), CASES, ids=[str(failure) for _, failure in CASES])
async def test_every_way_to_fail_has_its_name(script, failure):
    runner, url = await serve_script(script)
    async with aiohttp.ClientSession() as session:
        outcome = await send(
            session, target(url, timeout_seconds=0.5 if failure == "timeout" else 120), "hello"
        )
    await runner.cleanup()
    assert outcome.failure == failure


async def test_a_server_that_is_not_there_is_a_failure_to_connect():
    runner, url = await serve_script(200)
    await runner.cleanup()
    async with aiohttp.ClientSession() as session:
        assert (await send(session, target(url), "hello")).failure == "connect"


async def test_an_answer_is_measured_from_its_first_text_on(simulate):
    """Against the engine's own times, which no busy machine makes longer; so one of several is to agree."""
    engine = 'vllm:{}_seconds_sum{{engine="0",model_name="m"}}'
    first, decode = engine.format("time_to_first_token"), engine.format("inter_token_latency")
    clock = asyncio.get_running_loop()
    async with simulate(VLLM_SIM_BASE_MS="20", VLLM_SIM_NOISE="0", VLLM_SIM_DRIFT="0") as sim:
        for _ in range(MEASUREMENTS):
            before, begun = await sim.values(), clock.time()
            outcome = await send(sim.client, target(sim.url, max_tokens=40), "hello")
            took, after = clock.time() - begun, await sim.values()
            assert (outcome.failure, outcome.tokens) == (None, 40)
            assert after[first] - before[first] < outcome.ttft < took - outcome.decode_seconds
            speed = 39 / (after[decode] - before[decode])
            if outcome.decode_speed == pytest.approx(speed, rel=0.4):
                return
    pytest.fail(f"{outcome} although the engine made {speed} tokens/s")


@pytest.mark.parametrize(
    "argv", [["--mode", "chat"], ["--mode", "completions"], ["--pooled"], ["--rate", "40"]]
)
async def test_a_run_against_a_healthy_server_has_no_failure(simulate, argv):
    options = [
        "--model",
        "m",
        "--seconds",
        "600",
        "--requests",
        "12",
        "--max-tokens",
        "10",
        "--interval",
        "0",
    ]
    async with simulate() as sim:
        summary = await run(parse(["--url", sim.url, *options, *argv]))
    assert (summary["requests"], summary["failed"], summary["failures"]) == (12, 0, {})
    assert summary["tokens"] > 50
    assert summary["ttft_p95"] >= summary["ttft_p50"] > 0


@pytest.mark.parametrize("pooled", [[], ["--pooled"]], ids=["of its own", "pooled"])
async def test_each_request_has_a_connection_of_its_own_unless_pooled(pooled):
    peers = set()

    async def answer(request: web.Request) -> web.StreamResponse:
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(body=TEXT + LAST + DONE)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    options = ["--url", url, "--model", "m", "--requests", "6", "--concurrency", "1", "--interval", "0"]
    summary = await run(parse([*options, *pooled]))
    await runner.cleanup()
    assert (summary["requests"], summary["failed"]) == (6, 0)
    # An idle one is not kept for ever, so a machine that pauses may need more than one.
    assert len(peers) < 6 if pooled else len(peers) == 6


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("plan", "least", "most"),
    [
        (Plan(concurrency=4, seconds=0.5), 8, 44),
        (Plan(concurrency=4, seconds=60, requests=7), 7, 7),
        (Plan(concurrency=1, seconds=0.5, rate=60), 5, 60),
        (Plan(concurrency=1, seconds=60, rate=1000, requests=9), 9, 9),
    ],
    ids=["closed, by time", "closed, by number", "open, by time", "open, by number"],
)
async def test_a_run_is_bounded(plan, least, most):
    async def answer(_: str) -> Outcome:
        await asyncio.sleep(0.05)
        return Outcome(failure=None, tokens=1, ttft=0.01)

    tally = await Driver(plan, prompts.stream("varied", 0), answer).run()
    assert least <= tally.requests <= most


@pytest.mark.looptime
async def test_a_run_that_is_stopped_finishes_what_is_under_way():
    async def answer(_: str) -> Outcome:
        await asyncio.sleep(0.1)
        return Outcome(failure=None, tokens=1)

    driver = Driver(Plan(concurrency=3, seconds=60), prompts.stream("varied", 0), answer)
    asyncio.get_running_loop().call_later(0.05, driver.stop)
    assert (await driver.run()).requests == 3


@pytest.mark.looptime
async def test_a_server_that_refuses_at_once_is_not_hammered():
    async def answer(_: str) -> Outcome:
        return Outcome(failure="connect")

    tally = await Driver(Plan(concurrency=2, seconds=0.35), prompts.stream("varied", 0), answer).run()
    assert tally.failed <= 8


@pytest.mark.parametrize(("status", "code"), [(503, 1), (None, 0)])
async def test_the_process_prints_a_summary_and_its_code_tells_of_failures(simulate, status, code):
    async with simulate() as sim:
        url = sim.url if status is None else sim.url + "/nowhere"
        options = ("--url", url, "--model", "m", "--max-tokens", "5", "--seconds", "60", "--interval", "0.2")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "vllm_sim.load", "--concurrency", "2", *options),
            env={"PYTHONPATH": str(OPERATOR)},
            stdout=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(120):
            first = line = json.loads(await process.stdout.readline())
            while not line["requests"]:
                line = json.loads(await process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        rest, _ = await asyncio.wait_for(process.communicate(), 120)
    summary = json.loads(rest.splitlines()[-1])
    assert first["elapsed"] >= 0.2
    assert (process.returncode, summary["summary"], summary["failed"] > 0) == (code, True, code == 1)
    assert summary["requests"] >= line["requests"] > 0


def test_a_summary_of_nothing_is_a_summary():
    assert Tally().summary(0.0) == {
        "summary": True,
        "seconds": 0.0,
        "requests": 0,
        "failed": 0,
        "failures": {},
        "tokens": 0,
        "tokens_per_second": 0.0,
        "ttft_p50": None,
        "ttft_p95": None,
        "decode_tokens_per_second": None,
    }


@pytest.mark.parametrize("name", prompts.NAMES)
def test_prompts_are_varied_and_the_same_for_the_same_seed(name):
    first, again, other = (prompts.stream(name, seed) for seed in (1, 1, 2))
    sample = [next(first) for _ in range(50)]
    assert sample == [next(again) for _ in range(50)]
    assert sample != [next(other) for _ in range(50)]
    assert len(set(sample)) > 25


def test_a_missing_url_is_an_error_of_the_command_line(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--model", "m"])
    assert exit_.value.code == 2
