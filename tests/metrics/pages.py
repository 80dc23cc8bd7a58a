"""Hand-made `/metrics` pages: a few lines in vLLM's own form, for the cases a recording does not have."""

from collections.abc import Mapping

START = 1_795_977_041.5

ENGINE = {
    "vllm:generation_tokens_total": 1000.0,
    "vllm:time_to_first_token_seconds_count": 10.0,
    "vllm:inter_token_latency_seconds_sum": 9.9,
    "vllm:inter_token_latency_seconds_count": 990.0,
    "vllm:prompt_tokens_total": 400.0,
    "vllm:num_preemptions_total": 1.0,
    "vllm:num_requests_running": 3.0,
    "vllm:num_requests_waiting": 2.0,
}
SPECULATION = {
    "vllm:spec_decode_num_drafts_total": 300.0,
    "vllm:spec_decode_num_draft_tokens_total": 900.0,
    "vllm:spec_decode_num_accepted_tokens_total": 600.0,
}


def engine_lines(values: Mapping[str, float], *, engine: str = "0") -> str:
    return "".join(f'{name}{{engine="{engine}",model_name="m"}} {value}\n' for name, value in values.items())


def page(*parts: str, start: float | None = START) -> bytes:
    tail = "" if start is None else f"process_start_time_seconds {start}\n"
    return ("".join(parts) + tail).encode()
