"""Every `vllm:` series of vLLM 0.32's page, in its order, with its help text and where its value comes from.

Names, texts and labels are the engine's interface, so they are written as the engine writes them. Series
that a simulation has nothing to say about (multi-modal and external caches) stand at 0, as
they do there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vllm_sim.stats import CHOICES, Distribution, Stats

Value = float | Mapping[str, float] | Distribution


@dataclass(frozen=True, slots=True)
class Family:
    """`read` gives a number, a number per value of `label`, or a distribution."""

    kind: str
    name: str
    text: str
    read: Callable[[Stats], Value]
    label: str = ""


def _zero(_: Stats) -> float:
    return 0.0


def _zeros(*names: str) -> Callable[[Stats], Mapping[str, float]]:
    return lambda _: dict.fromkeys(names, 0.0)


def _each_request(bounds: tuple[int, ...], value: float) -> Callable[[Stats], Distribution]:
    def read(stats: Stats) -> Distribution:
        distribution = Distribution(bounds)
        distribution.observe(value, stats.request_max_tokens.count)
        return distribution

    return read


_MFU = "(for Model Flops Utilization calculations)."
_QUERIED = "in terms of number of queried tokens."
_CACHED = "in terms of number of cached tokens."
_EXTERNAL = "from KV connector cross-instance cache sharing"

SPECULATION = (
    Family("counter", "spec_decode_num_drafts", "Number of spec decoding drafts.", lambda s: s.drafts),
    Family("counter", "spec_decode_num_draft_tokens", "Number of draft tokens.", lambda s: s.drafted_tokens),
    Family(
        "counter",
        "spec_decode_num_accepted_tokens",
        "Number of accepted tokens.",
        lambda s: sum(s.accepted_per_position()),
    ),
    Family(
        "counter",
        "spec_decode_num_accepted_tokens_per_pos",
        "Accepted tokens per draft position.",
        lambda s: {str(position): count for position, count in enumerate(s.accepted_per_position())},
        "position",
    ),
)

_ESTIMATES = (
    Family(
        "counter",
        "estimated_flops_per_gpu",
        f"Estimated number of floating point operations per GPU {_MFU}",
        _zero,
    ),
    Family(
        "counter",
        "estimated_read_bytes_per_gpu",
        f"Estimated number of bytes read from memory per GPU {_MFU}",
        _zero,
    ),
    Family(
        "counter",
        "estimated_write_bytes_per_gpu",
        f"Estimated number of bytes written to memory per GPU {_MFU}",
        _zero,
    ),
)

_STATE = (
    Family(
        "gauge",
        "num_requests_running",
        "Number of requests in model execution batches.",
        lambda s: s.running,
    ),
    Family(
        "gauge",
        "num_requests_waiting",
        "Number of requests waiting to be processed.",
        lambda s: s.waiting,
    ),
    Family(
        "gauge",
        "num_requests_waiting_by_reason",
        "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity;"
        " 'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). Sum of"
        " all reasons equals vllm:num_requests_waiting.",
        lambda s: {"capacity": s.waiting, "deferred": 0},
        "reason",
    ),
    Family(
        "gauge",
        "engine_sleep_state",
        "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; "
        "weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
        lambda _: {"awake": 1, "weights_offloaded": 0, "discard_all": 0},
        "sleep_state",
    ),
    Family(
        "gauge", "kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", lambda s: s.kv_usage
    ),
)

_CACHES = (
    Family(
        "counter", "prefix_cache_queries", f"Prefix cache queries, {_QUERIED}", lambda s: s.prefix_queries
    ),
    Family("counter", "prefix_cache_hits", f"Prefix cache hits, {_CACHED}", lambda s: s.prefix_hits),
    Family(
        "counter",
        "external_prefix_cache_queries",
        f"External prefix cache queries {_EXTERNAL}, {_QUERIED}",
        _zero,
    ),
    Family(
        "counter",
        "external_prefix_cache_hits",
        f"External prefix cache hits {_EXTERNAL}, {_CACHED}",
        _zero,
    ),
    Family(
        "counter",
        "mm_cache_queries",
        "Multi-modal cache queries, in terms of number of queried items.",
        _zero,
    ),
    Family("counter", "mm_cache_hits", "Multi-modal cache hits, in terms of number of cached items.", _zero),
)

_TOKENS = (
    Family(
        "counter",
        "num_preemptions",
        "Cumulative number of preemption from the engine.",
        lambda s: s.preemptions,
    ),
    Family("counter", "prompt_tokens", "Number of prefill tokens processed.", lambda s: s.prompt_tokens),
    Family(
        "counter",
        "prompt_tokens_by_source",
        "Number of prompt tokens by source.",
        lambda s: {
            "local_compute": s.prompt_tokens - s.prefix_hits,
            "local_cache_hit": s.prefix_hits,
            "external_kv_transfer": 0,
        },
        "source",
    ),
    Family(
        "counter",
        "prompt_tokens_cached",
        "Number of cached prompt tokens (local + external).",
        lambda s: s.prefix_hits,
    ),
    Family(
        "counter",
        "prompt_tokens_cached_by_source",
        "Prefix-cache hit tokens by the cache tier that supplied them: device (local HBM), host (offloaded "
        "to DRAM), disk, p2p (transferred from another vLLM instance) or external_unspecified. Counted at "
        "admission; sums to vllm:prefix_cache_hits + vllm:external_prefix_cache_hits.",
        lambda s: {"device": s.prefix_hits, "host": 0, "p2p": 0, "disk": 0, "external_unspecified": 0},
        "source",
    ),
    Family(
        "counter",
        "generation_tokens",
        "Number of generation tokens processed.",
        lambda s: s.generation_tokens,
    ),
    Family(
        "counter",
        "request_success",
        "Count of successfully processed requests.",
        lambda s: s.finished,
        "finished_reason",
    ),
    Family(
        "counter",
        "admission_rejections",
        "Number of admission attempts rejected by a queue limit, by reason.",
        _zeros("max_num_queued_reqs", "max_num_queued_tokens"),
        "reason",
    ),
)


def _histogram(name: str, text: str, read: Callable[[Stats], Distribution]) -> Family:
    return Family("histogram", name, text, read)


_SIZES = (
    _histogram(
        "request_prompt_tokens", "Number of prefill tokens processed.", lambda s: s.request_prompt_tokens
    ),
    _histogram(
        "request_generation_tokens",
        "Number of generation tokens processed.",
        lambda s: s.request_generation_tokens,
    ),
    _histogram(
        "iteration_tokens_total",
        "Histogram of number of tokens per engine_step.",
        lambda s: s.iteration_tokens,
    ),
    _histogram(
        "request_max_num_generation_tokens",
        "Histogram of maximum number of requested generation tokens.",
        lambda s: s.request_generation_tokens,
    ),
    _histogram("request_params_n", "Histogram of the n request parameter.", _each_request(CHOICES, 1)),
    _histogram(
        "request_params_max_tokens",
        "Histogram of the max_tokens request parameter.",
        lambda s: s.request_max_tokens,
    ),
)

_TIMES = (
    _histogram(
        "time_to_first_token_seconds", "Histogram of time to first token in seconds.", lambda s: s.ttft
    ),
    _histogram(
        "inter_token_latency_seconds",
        "Histogram of inter-token latency in seconds.",
        lambda s: s.inter_token_latency,
    ),
    _histogram(
        "request_time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        lambda s: s.time_per_output_token,
    ),
    _histogram(
        "e2e_request_latency_seconds",
        "Histogram of e2e request latency in seconds.",
        lambda s: s.e2e,
    ),
    _histogram(
        "request_queue_time_seconds",
        "Histogram of time spent in WAITING phase for request.",
        lambda s: s.queue_time,
    ),
    _histogram(
        "request_inference_time_seconds",
        "Histogram of time spent in RUNNING phase for request.",
        lambda s: s.inference_time,
    ),
    _histogram(
        "request_prefill_time_seconds",
        "Histogram of time spent in PREFILL phase for request.",
        lambda s: s.prefill_time,
    ),
    _histogram(
        "request_decode_time_seconds",
        "Histogram of time spent in DECODE phase for request.",
        lambda s: s.decode_time,
    ),
    _histogram(
        "request_num_preemptions",
        "Histogram of the number of times a request was preempted.",
        lambda s: s.request_preemptions,
    ),
    _histogram(
        "request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        lambda s: s.request_computed_tokens,
    ),
)

BASE = (*_ESTIMATES, *_STATE, *_CACHES, *_TOKENS, *_SIZES, *_TIMES)
NOT_BY_ENGINE = frozenset({"admission_rejections"})
