"""Reads one `/metrics` page of vLLM: page bytes in, counters out. Pure; the first step of a measurement.

    pods.PodReader (fetches pages)  ->  exposition.parse  ->  windows (differences of two pages)

A page of vLLM has about 650 lines and 50 KB, of which some thirty lines matter here, so the lines are picked
by exact name first, in one search of the text, and only those go through prometheus_client's parser. Both the
Prometheus text format and the OpenMetrics text of vLLM's Rust front end are read: `# EOF`, exemplars and
missing `_created` series do no harm. `_created` series are never picked, they are no counts.

Counters stay apart by `engine` label (vLLM's data-parallel index) until they are subtracted. A sum over
engines would hide that one engine started again, and the decoding batch of a pod is a figure per engine: the
speed of a step depends on how many requests one scheduler holds, not on how many share the pod. The HTTP
series have no such label: one front end stands before all engines.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample as Line

from specdeploy.metrics.counters import Counters, EngineCounters, HttpCounters

MAX_LINE_CHARS = 4 * 1024
MAX_PICKED_CHARS = 256 * 1024
"""A real line has at most about 1,200 characters and one engine about 6,000 in all. The parser is slow, above
all on long lines, and nothing else runs meanwhile; a page beyond these limits is garbage."""

REQUIRED = {
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:time_to_first_token_seconds_count": "first_tokens",
    "vllm:inter_token_latency_seconds_sum": "itl_seconds",
}
OPTIONAL = {
    "vllm:inter_token_latency_seconds_count": "itl_count",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:time_to_first_token_seconds_sum": "ttft_seconds",
    "vllm:request_success_total": "finished_requests",
    "vllm:request_generation_tokens_sum": "finished_tokens",
    "vllm:request_params_max_tokens_sum": "max_tokens",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:prefix_cache_queries_total": "prefix_queries",
    "vllm:prefix_cache_hits_total": "prefix_hits",
    "vllm:num_requests_running": "requests_running",
    "vllm:num_requests_waiting": "requests_waiting",
    "vllm:kv_cache_usage_perc": "kv_usage",
}
SPECULATION = {
    "vllm:spec_decode_num_drafts_total": "drafts",
    "vllm:spec_decode_num_draft_tokens_total": "draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "accepted_tokens",
}
POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
PROCESS_START = "process_start_time_seconds"

HTTP = "http_requests_total"
CACHE_CONFIG = "vllm:cache_config_info"
FINISHED = "vllm:request_success_total"

_FIELDS = REQUIRED | OPTIONAL | SPECULATION
_ENDED_BADLY = {"abort": "aborted_requests", "error": "errored_requests", "repetition": "errored_requests"}
# Names are told apart after their common prefix: an alternation of whole names takes four times as long.
_ENGINE_SERIES = "|".join(
    re.escape(name.removeprefix("vllm:")) for name in (*_FIELDS, POSITIONS, CACHE_CONFIG)
)
_PICKED = re.compile(rf"\n((?:vllm:(?:{_ENGINE_SERIES})|{HTTP}|{PROCESS_START})[{{ \t].*)")
_CACHE_LABEL = re.compile(r'[{,](engine|kv_cache_size_tokens|num_gpu_blocks|block_size)="([^"\\]*)"')
_INFERENCE = "/v1/"
_NO_INFERENCE = frozenset({"/v1/models"})
"""Asked for by health checks and by this operator; a missing API key there is no client's failure."""


class UnreadablePageError(ValueError):
    """The page gives no counters; the subclass says why, the message what was seen."""


class GarbageError(UnreadablePageError):
    """Not a metrics page, or one that is broken or cut off."""


class NotVllmError(UnreadablePageError):
    """A readable page without any series of vLLM."""


class SeriesMissingError(UnreadablePageError):
    """A page of vLLM that lacks one of the series that every measurement needs."""


def parse(page: bytes) -> Counters:
    """Read a page. Whatever the bytes, all it raises is GarbageError, NotVllmError or SeriesMissingError."""
    picked = _picked_lines(_text(page))
    lines = _samples(line for line in picked if not line.startswith(CACHE_CONFIG))
    _require_series({line.name for line in lines})
    return Counters(
        engines=_engines(lines, _kv_tokens(line for line in picked if line.startswith(CACHE_CONFIG))),
        process_start=next((float(line.value) for line in lines if line.name == PROCESS_START), None),
        http=_http([line for line in lines if line.name == HTTP]),
    )


def _text(page: bytes) -> str:
    try:
        text = page.decode()
    except UnicodeDecodeError as error:
        raise GarbageError(f"the page is not UTF-8 text (byte {error.start})") from None
    if "\0" in text:
        raise GarbageError("the page is binary")
    if text and not text.endswith(("\n", "# EOF")):
        # A connection closed half-way can leave `12` of `12345`: a number, but not what was counted.
        raise GarbageError("the page ends in the middle of a line")
    return text


def _picked_lines(text: str) -> list[str]:
    picked: list[str] = _PICKED.findall(f"\n{text}")
    if any(len(line) > MAX_LINE_CHARS for line in picked):
        raise GarbageError(f"a line is longer than {MAX_LINE_CHARS} characters")
    if sum(map(len, picked)) > MAX_PICKED_CHARS:
        raise GarbageError(f"the needed series fill more than {MAX_PICKED_CHARS} characters")
    return picked


def _samples(picked: Iterable[str]) -> list[Line]:
    try:
        families = text_string_to_metric_families("\n".join(picked))
        lines = [line for family in families for line in family.samples]
        _check_values(lines)
    except (ValueError, IndexError, OverflowError) as error:
        # IndexError: the parser's answer to an empty label name.
        raise GarbageError(f"a line can't be read: {_excerpt(error)}") from None
    return lines


def _check_values(lines: Iterable[Line]) -> None:
    seen: set[tuple[str, frozenset[tuple[str, str]]]] = set()
    for line in lines:
        key = (line.name, frozenset(line.labels.items()))
        if key in seen:
            raise ValueError(f"{line.name} is there twice with the same labels")
        seen.add(key)
        if not 0 <= float(line.value) < math.inf:
            raise ValueError(f"{line.name} is {line.value}")
        if line.name == POSITIONS:
            _position(line)


def _excerpt(error: Exception) -> str:
    return ascii(str(error))[:160]


def _require_series(names: set[str]) -> None:
    if not names - {PROCESS_START, HTTP}:
        raise NotVllmError("no series of vLLM: another server, --disable-log-stats, or nothing served yet")
    absent = [name for name in REQUIRED if name not in names]
    if absent:
        raise SeriesMissingError(f"no {', '.join(absent)}")


def _engines(lines: Iterable[Line], kv_tokens: Mapping[str, float]) -> dict[str, EngineCounters]:
    by_engine: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.name not in (PROCESS_START, HTTP):
            by_engine[line.labels.get("engine", "")].append(line)
    return {engine: _engine(by_engine[engine], kv_tokens.get(engine)) for engine in sorted(by_engine)}


def _engine(lines: list[Line], kv_tokens: float | None) -> EngineCounters:
    """Sum the lines of one engine: request_success has one for each reason a request ended with."""
    sums: defaultdict[str, float] = defaultdict(float)
    positions: defaultdict[int, float] = defaultdict(float)
    for line in lines:
        value = float(line.value)
        if line.name == POSITIONS:
            positions[_position(line)] += value
            continue
        sums[_FIELDS[line.name]] += value
        if line.name == FINISHED:
            # Where one reason is counted all are: one that has no line yet has not happened.
            for reason, field in _ENDED_BADLY.items():
                sums[field] += value * (line.labels.get("finished_reason") == reason)
    return EngineCounters(
        **sums,
        accepted_by_position=tuple(positions[position] for position in sorted(positions)),
        kv_tokens=kv_tokens,
    )


def _http(lines: Iterable[Line]) -> HttpCounters | None:
    """The answers of the inference routes by the first digit of their status (`4xx`, or `404`)."""
    by_class: defaultdict[str, float] = defaultdict(float)
    for line in lines:
        handler = line.labels.get("handler", "")
        if handler.startswith(_INFERENCE) and handler not in _NO_INFERENCE:
            by_class[line.labels.get("status", "")[:1]] += float(line.value)
    if not by_class:
        return None
    return HttpCounters(
        requests=math.fsum(by_class.values()), client_errors=by_class["4"], server_errors=by_class["5"]
    )


def _kv_tokens(lines: Iterable[str]) -> dict[str, float]:
    """The room of each engine's KV cache, where its labels tell.

    The one long line of the page: its forty labels would cost the parser as much as a third of all the rest.
    """
    rooms: dict[str, float] = {}
    for line in lines:
        labels = dict(_CACHE_LABEL.findall(line))
        tokens = _count(labels.get("kv_cache_size_tokens"))
        if tokens is None:  # not every version sums it up
            blocks, size = _count(labels.get("num_gpu_blocks")), _count(labels.get("block_size"))
            tokens = blocks * size if blocks is not None and size is not None else None
        if tokens is not None:
            rooms[labels.get("engine", "")] = tokens
    return rooms


def _count(text: str | None) -> float | None:
    """A label that is a whole number of a sane length; engines write `None` for what they don't know."""
    return float(text) if text is not None and re.fullmatch(r"[0-9]{1,15}", text) else None


def _position(line: Line) -> int:
    return int(line.labels.get("position", ""))
