"""The series of vLLM's `/metrics` by release, and what takes them away.

Read from vLLM's released sources (`vllm/v1/metrics`), every minor release from 0.18.0 to 0.33.0: names
without the `_total`, `_sum`, `_count` and `_bucket` of the wire. `metrics.exposition` reads the series; a
test fails when it needs one that a release which can be used does not have. `docs/versions.md` is printed
from here.
"""

from specdeploy.engine.versions import timeline

_OLDEST = """
    vllm:cache_config_info vllm:corrupted_requests vllm:e2e_request_latency_seconds vllm:engine_sleep_state
    vllm:generation_tokens vllm:inter_token_latency_seconds vllm:iteration_tokens_total
    vllm:kv_cache_usage_perc vllm:num_preemptions vllm:num_requests_running vllm:num_requests_waiting
    vllm:prefix_cache_hits vllm:prefix_cache_queries vllm:prompt_tokens vllm:prompt_tokens_by_source
    vllm:prompt_tokens_cached vllm:prompt_tokens_recomputed vllm:request_decode_time_seconds
    vllm:request_generation_tokens vllm:request_inference_time_seconds
    vllm:request_max_num_generation_tokens vllm:request_params_max_tokens vllm:request_params_n
    vllm:request_prefill_kv_computed_tokens vllm:request_prefill_time_seconds vllm:request_prompt_tokens
    vllm:request_queue_time_seconds vllm:request_success vllm:request_time_per_output_token_seconds
    vllm:spec_decode_num_accepted_tokens vllm:spec_decode_num_accepted_tokens_per_pos
    vllm:spec_decode_num_draft_tokens vllm:spec_decode_num_drafts vllm:time_to_first_token_seconds
"""

# Release: what it brought.
_ADDED: dict[str, str] = {
    "0.20": "vllm:num_requests_waiting_by_reason",
    "0.30": "vllm:request_num_preemptions",
    "0.32": "vllm:admission_rejections vllm:prompt_tokens_cached_by_source",
}

# Release: what it no longer has.
_GONE: dict[str, str] = {
    "0.20": "vllm:prompt_tokens_recomputed",
}

SPANS = timeline(_OLDEST, _ADDED, _GONE)

# Flag or variable: what is missing with it.
TAKEN_AWAY: dict[str, str] = {
    "--disable-log-stats": "all series",
    "--api-server-count above 1, and data parallelism without it": "`process_*`, `python_*`",
    "VLLM_USE_RUST_FRONTEND=1": "`vllm:cache_config_info`, `vllm:engine_sleep_state`, "
    "`vllm:admission_rejections`, `process_*`; other series until their first sample",
    "no speculation": "`vllm:spec_decode_*`",
}
