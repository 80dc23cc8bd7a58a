"""What one `/metrics` page of vLLM says, as plain values. `exposition` makes them, `difference` subtracts."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounters:
    """What one engine has counted since its process started.

    Every value is finite and at least 0. A field is None (or empty) when the page has no such series: without
    a drafter there are no speculation counters. `itl_seconds` is request-decode-seconds, `ttft_seconds` the
    sum of times to a first token; the rest are counts of requests, tokens or drafts. `finished_tokens` and
    `max_tokens` are sums over finished requests: what they got, and what they had asked for at most.
    """

    generation_tokens: float = 0.0
    first_tokens: float = 0.0
    itl_seconds: float = 0.0
    itl_count: float | None = None
    ttft_seconds: float | None = None
    prompt_tokens: float | None = None
    finished_requests: float | None = None
    """However they ended; `aborted_requests` and `errored_requests` are among them."""
    aborted_requests: float | None = None
    errored_requests: float | None = None
    """Ended by an error of the engine, or by its detector of repetition."""
    finished_tokens: float | None = None
    max_tokens: float | None = None
    preemptions: float | None = None
    prefix_queries: float | None = None
    """Prompt tokens that were looked up in the prefix cache; `prefix_hits` of them were there."""
    prefix_hits: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_by_position: tuple[float, ...] = ()
    """Drafts whose first i+1 tokens were all accepted; as long as the number of speculative tokens."""
    requests_running: float | None = None
    """A gauge: now, not since the start."""
    requests_waiting: float | None = None
    """A gauge: now, not since the start."""
    kv_usage: float | None = None
    """A gauge: the share of the KV cache that is taken."""
    kv_tokens: float | None = None
    """Tokens that the KV cache has room for; fixed when the engine starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCounters:
    """Answers of the inference routes since the process started, whichever engine gave them.

    A request that the front end refuses never reaches an engine, so it is counted only here.
    """

    requests: float = 0.0
    client_errors: float = 0.0
    """Status 4xx."""
    server_errors: float = 0.0
    """Status 5xx."""


@dataclass(frozen=True, slots=True)
class Counters:
    """One page: its engines by label (at least one), when the process started (Unix seconds, where it tells),
    and its HTTP answers (None: none yet, or the front end does not count them)."""

    engines: Mapping[str, EngineCounters]
    process_start: float | None
    http: HttpCounters | None = None
