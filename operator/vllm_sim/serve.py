"""The life of one server: load, listen, drain, exit. Returns the exit code of the process.

0 after SIGTERM, also at the end of a drain that ran out of time; 0 as well after an engine death, as in vLLM;
1 after a failure; 2 for flags; 130 for SIGTERM while loading.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import pathlib
import signal
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from vllm_sim import arm as arms
from vllm_sim import control, failures, flags
from vllm_sim.arm import Arm
from vllm_sim.failures import StartFailure
from vllm_sim.faults import Faults
from vllm_sim.loop import EngineLoop
from vllm_sim.scheduler import Scheduler
from vllm_sim.server import Server
from vllm_sim.stats import Stats

DEFAULT_VERSION = "0.33.0"
_INTERRUPTED = 130
_POLL_SECONDS = 0.05
_LAST_ANSWERS_SECONDS = 1.0


def main(argv: Sequence[str], environ: Mapping[str, str]) -> int:
    """`argv` is what follows `vllm serve`."""
    args = flags.parse(argv)
    try:
        arm = arms.build(args, environ, start=_count_start(environ))
        return asyncio.run(_run(args, arm, environ))
    except StartFailure as failure:
        failures.log(*failure.lines)
        return failure.exit_code


async def _run(args: argparse.Namespace, arm: Arm, environ: Mapping[str, str]) -> int:
    terminated = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, terminated.set)
    failures.log(f"vLLM API server version {_version(environ)}", f"non-default args: {_shown(args)}")
    if await _load(args, arm, terminated):
        failures.log("KeyboardInterrupt: terminated")
        return _INTERRUPTED
    async with listening(args, arm, environ) as running:
        failures.log(f"Starting vLLM API server 0 on http://{args.host or '0.0.0.0'}:{running.port}")
        return await _until_the_end(running, args.shutdown_timeout, terminated)


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers on `port`, and its parts."""

    server: Server
    loop: EngineLoop
    faults: Faults
    engine: asyncio.Task[None]
    port: int


@contextlib.asynccontextmanager
async def listening(args: argparse.Namespace, arm: Arm, environ: Mapping[str, str]) -> AsyncIterator[Running]:
    """Serve inside the running event loop; at the end, answers under way get a moment to finish."""
    loop = EngineLoop(_scheduler(arm))
    faults = Faults(loop)
    api_key = args.api_key or environ.get("VLLM_API_KEY")
    server = Server(arm, loop, faults=faults, version=_version(environ), api_key=api_key)
    runner = web.AppRunner(
        server.app(), handler_cancellation=True, access_log=None, shutdown_timeout=_LAST_ANSWERS_SECONDS
    )
    await runner.setup()
    await web.TCPSite(runner, args.host, args.port, backlog=2048).start()
    engine = asyncio.create_task(loop.run())
    faults.apply(arm.knobs)
    try:
        yield Running(server, loop, faults, engine, port=runner.addresses[0][1])
    finally:
        engine.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await engine
        await runner.cleanup()


async def _load(args: argparse.Namespace, arm: Arm, terminated: asyncio.Event) -> bool:
    """Load; True if the process was told to stop meanwhile. Raises StartFailure."""
    failure = arms.loading_failure(arm, args.gpu_memory_utilization)
    seconds = arm.knobs.startup_seconds / 2 if failure else arm.knobs.startup_seconds
    failures.log(f"Initializing a V1 LLM engine with config: model={arm.model!r}", process="EngineCore")
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(terminated.wait(), seconds)
        return True
    if failure:
        raise failure
    return False


async def _until_the_end(running: Running, drain_seconds: float, terminated: asyncio.Event) -> int:
    server, loop, faults = running.server, running.loop, running.faults
    signalled = asyncio.create_task(terminated.wait())
    ends: set[asyncio.Future[Any]] = {signalled, faults.done, running.engine}
    await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    signalled.cancel()
    if running.engine.done():
        await running.engine  # a bug in the simulation itself: raise it
    server.draining = True
    deadline = asyncio.get_running_loop().time() + drain_seconds
    while not faults.done.done() and server.open_answers and asyncio.get_running_loop().time() < deadline:
        await asyncio.sleep(_POLL_SECONDS)
    if faults.done.done():
        return faults.done.result()
    if drain_seconds > 0:
        loop.kill()
    else:
        loop.abort_all()
    return 0


def _scheduler(arm: Arm) -> Scheduler:
    return Scheduler(
        knobs=arm.knobs,
        limits=arm.limits,
        stats=Stats(max_model_len=arm.max_model_len, speculative_tokens=arm.speculative_tokens),
        rng=arm.random(),
        clock=asyncio.get_running_loop().time(),
        speculative_tokens=arm.speculative_tokens,
    )


def _count_start(environ: Mapping[str, str]) -> int:
    """Which start this is, from 1: counted in VLLM_SIM_STATE_DIR, a volume that outlives the container."""
    folder = environ.get("VLLM_SIM_STATE_DIR")
    if not folder:
        return 1
    path = pathlib.Path(folder, "starts")
    starts = int(path.read_text()) + 1 if path.exists() else 1
    path.write_text(str(starts))
    return starts


def _version(environ: Mapping[str, str]) -> str:
    return environ.get("VLLM_SIM_VERSION") or DEFAULT_VERSION


def _shown(args: argparse.Namespace) -> dict[str, object]:
    defaults = vars(flags.parse([]))
    return {
        name: "***" if name in ("api_key", "hf_token") else value
        for name, value in vars(args).items()
        if value != defaults[name]
    }


def command(argv: Sequence[str]) -> int:
    """What `vllm` does: `serve ...` or `--version`; and `set`, which is the simulation's own."""
    if argv[:1] in (["--version"], ["-v"]):
        print(_version(os.environ))
        return 0
    if argv[:1] == ["set"]:
        return control.command(argv[1:])
    if argv[:1] != ["serve"]:
        failures.log("vllm: error: the simulated engine knows the commands `serve` and `set` only")
        return 2
    return main(argv[1:], os.environ)
