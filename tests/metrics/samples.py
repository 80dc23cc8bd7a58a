"""Samples built by hand, for what needs no page."""

from dataclasses import replace

from specdeploy.metrics.counters import Counters, EngineCounters, HttpCounters
from specdeploy.metrics.sample import Sample

PLAIN = EngineCounters(
    generation_tokens=10_000,
    first_tokens=100,
    itl_seconds=200.0,
    itl_count=9_900,
    prompt_tokens=5_000,
    ttft_seconds=20.0,
    finished_requests=90,
    aborted_requests=0,
    errored_requests=0,
    finished_tokens=9_000,
    max_tokens=18_000,
    preemptions=0,
    prefix_queries=5_000,
    prefix_hits=1_000,
    kv_tokens=32_768,
    requests_running=4,
    requests_waiting=1,
)
SPECULATING = replace(
    PLAIN,
    itl_count=4_000,
    drafts=4_000,
    draft_tokens=12_000,
    accepted_tokens=6_000,
    accepted_by_position=(3_000.0, 2_000.0, 1_000.0),
)


def sample(
    time: float,
    *engines: EngineCounters,
    process_start: float | None = 1000.0,
    http: HttpCounters | None = None,
) -> Sample:
    labelled = {str(label): engine for label, engine in enumerate(engines)}
    return Sample(Counters(labelled, process_start, http), time)


def busy(
    engine: EngineCounters, *, tokens: float = 6_100, requests: float = 100, decoding: float = 300.0
) -> EngineCounters:
    """The engine after a window in which it gave `tokens` tokens to `requests` requests."""
    return replace(
        engine,
        generation_tokens=engine.generation_tokens + tokens,
        first_tokens=engine.first_tokens + requests,
        itl_seconds=engine.itl_seconds + decoding,
        finished_requests=(engine.finished_requests or 0) + requests,
    )
