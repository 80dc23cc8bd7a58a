"""Reads one `/metrics` page of vLLM: page bytes in, counters out. Pure; the first step of a measurement.

    pods.PodReader (fetches pages)  ->  exposition.parse  ->  windows (differences of two pages)

A page of vLLM has about 650 lines and 50 KB, of which some twenty lines matter here, so the lines are picked
by exact name first and only those go through prometheus_client's parser. Both the Prometheus text format and
the OpenMetrics text of vLLM's Rust front end are read: `# EOF`, exemplars and missing `_created` series do no
harm. `_created` series are never picked, they are no counts.

Counters stay apart by `engine` label (vLLM's data-parallel index) until they are subtracted. A sum over
engines would hide that one engine started again, and the decoding batch of a pod is a figure per engine: the
speed of a step depends on how many requests one scheduler holds, not on how many share the pod.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample as Line

MAX_LINE_CHARS = 4 * 1024
MAX_PICKED_CHARS = 256 * 1024
"""A real line has at most about 1,200 characters and one engine about 4,000 in all. The parser is slow, above
all on long lines, and nothing else runs meanwhile; a page beyond these limits is garbage."""

REQUIRED = {
    "vllm:generation_tokens_total": "generation_tokens",
    "vllm:time_to_first_token_seconds_count": "first_tokens",
    "vllm:inter_token_latency_seconds_sum": "itl_seconds",
}
OPTIONAL = {
    "vllm:inter_token_latency_seconds_count": "itl_count",
    "vllm:prompt_tokens_total": "prompt_tokens",
    "vllm:request_success_total": "finished_requests",
    "vllm:num_preemptions_total": "preemptions",
    "vllm:num_requests_running": "requests_running",
    "vllm:num_requests_waiting": "requests_waiting",
}
SPECULATION = {
    "vllm:spec_decode_num_drafts_total": "drafts",
    "vllm:spec_decode_num_draft_tokens_total": "draft_tokens",
    "vllm:spec_decode_num_accepted_tokens_total": "accepted_tokens",
}
POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
PROCESS_START = "process_start_time_seconds"

_FIELDS = REQUIRED | OPTIONAL | SPECULATION
_PICKED = re.compile("(?:" + "|".join(map(re.escape, (*_FIELDS, POSITIONS, PROCESS_START))) + r")(?=[{ \t])")


class UnreadablePageError(ValueError):
    """The page gives no counters; the subclass says why, the message what was seen."""


class GarbageError(UnreadablePageError):
    """Not a metrics page, or one that is broken or cut off."""


class NotVllmError(UnreadablePageError):
    """A readable page without any series of vLLM."""


class SeriesMissingError(UnreadablePageError):
    """A page of vLLM that lacks one of the series that every measurement needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCounters:
    """What one engine has counted since its process started.

    Every value is finite and at least 0. `itl_seconds` is request-decode-seconds, the rest are counts. A
    field is None (or empty) when the page has no such series: without a drafter there are no speculation
    counters.
    """

    generation_tokens: float = 0.0
    first_tokens: float = 0.0
    itl_seconds: float = 0.0
    itl_count: float | None = None
    prompt_tokens: float | None = None
    finished_requests: float | None = None
    preemptions: float | None = None
    drafts: float | None = None
    draft_tokens: float | None = None
    accepted_tokens: float | None = None
    accepted_by_position: tuple[float, ...] = ()
    """Drafts whose first i+1 tokens were all accepted; as long as the number of speculative tokens."""
    requests_running: float | None = None
    """A gauge: now, not since the start."""
    requests_waiting: float | None = None
    """A gauge: now, not since the start."""


@dataclass(frozen=True, slots=True)
class Counters:
    """One page: its engines by label (at least one), and when the process started (Unix seconds, where it
    tells)."""

    engines: Mapping[str, EngineCounters]
    process_start: float | None


def parse(page: bytes) -> Counters:
    """Read a page. Whatever the bytes, all it raises is GarbageError, NotVllmError or SeriesMissingError."""
    lines = _samples(_picked_lines(_text(page)))
    _require_series({line.name for line in lines})
    return Counters(
        engines=_engines(lines),
        process_start=next((float(line.value) for line in lines if line.name == PROCESS_START), None),
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
    picked = [line for line in text.split("\n") if _PICKED.match(line)]
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
    if not names - {PROCESS_START}:
        raise NotVllmError("no series of vLLM: another server, --disable-log-stats, or nothing served yet")
    absent = [name for name in REQUIRED if name not in names]
    if absent:
        raise SeriesMissingError(f"no {', '.join(absent)}")


def _engines(lines: Iterable[Line]) -> dict[str, EngineCounters]:
    by_engine: defaultdict[str, list[Line]] = defaultdict(list)
    for line in lines:
        if line.name != PROCESS_START:
            by_engine[line.labels.get("engine", "")].append(line)
    return {engine: _engine(by_engine[engine]) for engine in sorted(by_engine)}


def _engine(lines: list[Line]) -> EngineCounters:
    """Sum the lines of one engine: request_success has one for each reason a request ended with."""
    sums: dict[str, float] = {}
    positions: defaultdict[int, float] = defaultdict(float)
    for line in lines:
        if line.name in _FIELDS:
            field = _FIELDS[line.name]
            sums[field] = sums.get(field, 0.0) + float(line.value)
        elif line.name == POSITIONS:
            positions[_position(line)] += float(line.value)
    return EngineCounters(
        **sums,
        accepted_by_position=tuple(positions[position] for position in sorted(positions)),
    )


def _position(line: Line) -> int:
    return int(line.labels.get("position", ""))
