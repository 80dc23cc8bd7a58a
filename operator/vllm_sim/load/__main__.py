"""`python -m vllm_sim.load --url http://host:port --model NAME ...`: send load and report in JSON.

One line per interval and a summary at the end. SIGTERM and SIGINT end the run early: what is in flight is
finished, and the summary is printed. The exit code is 1 if any request failed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import aiohttp

from vllm_sim.load import prompts
from vllm_sim.load.client import Target, send
from vllm_sim.load.driver import Driver, Plan
from vllm_sim.load.report import IntervalLine


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vllm_sim.load", description=__doc__.split("\n")[0])
    parser.add_argument("--url", required=True, help="http://host:port of the server or Service")
    parser.add_argument("--model", required=True, help="the served model name")
    parser.add_argument("--concurrency", type=int, default=16, help="clients that each wait for their answer")
    parser.add_argument("--rate", type=float, help="requests a second instead, whatever comes back")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long new requests are sent")
    parser.add_argument("--requests", type=int, help="send at most so many")
    parser.add_argument("--max-tokens", type=int, default=128)
    parser.add_argument("--spread", type=float, default=0.5, help="answers are up to this share shorter")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--ignore-eos", action="store_true", help="answers always have --max-tokens tokens")
    parser.add_argument("--extra", type=json.loads, default={}, help="JSON object put into every request")
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for one request")
    parser.add_argument("--mode", choices=("chat", "completions"), default="chat")
    parser.add_argument("--prompts", choices=prompts.NAMES, default="varied")
    parser.add_argument("--pooled", action="store_true", help="reuse connections (default: one per request)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--interval", type=float, default=10.0, help="seconds between lines; 0: none")
    parser.add_argument("--api-key", default=os.environ.get("VLLM_API_KEY"))
    return parser.parse_args(argv)


async def run(args: argparse.Namespace) -> dict[str, Any]:
    """The summary of one run; lines for the intervals are printed on the way."""
    target = Target(
        url=args.url,
        model=args.model,
        max_tokens=args.max_tokens,
        spread=args.spread,
        temperature=args.temperature,
        chat=args.mode == "chat",
        ignore_eos=args.ignore_eos,
        timeout_seconds=args.timeout,
        extra=args.extra,
    )
    plan = Plan(
        concurrency=args.concurrency,
        seconds=args.seconds,
        rate=args.rate,
        requests=args.requests,
        seed=args.seed,
    )
    clock = asyncio.get_running_loop()
    began = clock.time()
    headers = {"Authorization": f"Bearer {args.api_key}"} if args.api_key else {}
    connector = aiohttp.TCPConnector(limit=0, force_close=not args.pooled)
    no_timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=no_timeout) as session:
        driver = Driver(
            plan, prompts.stream(args.prompts, args.seed), lambda prompt: send(session, target, prompt)
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            clock.add_signal_handler(number, driver.stop)
        lines = asyncio.create_task(_print_lines(driver, args.interval))
        tally = await driver.run()
        lines.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await lines
    return tally.summary(clock.time() - began)


async def _print_lines(driver: Driver, seconds: float) -> None:
    clock = asyncio.get_running_loop()
    began = clock.time()
    line = IntervalLine()
    while seconds > 0:
        await asyncio.sleep(seconds)
        elapsed = clock.time() - began
        show(line.next(driver.tally, elapsed=elapsed, seconds=seconds, in_flight=driver.in_flight))


def show(line: dict[str, Any]) -> None:
    print(json.dumps(line), flush=True)


def main(argv: Sequence[str]) -> int:
    summary = asyncio.run(run(parse(argv)))
    show(summary)
    return 1 if summary["failed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
