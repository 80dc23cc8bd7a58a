"""`exposition.parse`: what is picked from a page, what is summed, and how every bad page ends."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from specdeploy.metrics.counters import EngineCounters, HttpCounters
from specdeploy.metrics.exposition import (
    MAX_LINE_CHARS,
    MAX_PICKED_CHARS,
    GarbageError,
    NotVllmError,
    SeriesMissingError,
    UnreadablePageError,
    parse,
)
from tests.metrics.pages import ENGINE, SPECULATION, START, engine_lines, page

RECORDINGS = sorted((Path(__file__).parents[1] / "data" / "vllm_metrics").glob("*.txt"))


def test_a_page_gives_the_counters_of_its_engine() -> None:
    counters = parse(page(engine_lines(ENGINE | SPECULATION)))

    assert counters.process_start == START
    assert counters.engines == {
        "0": EngineCounters(
            generation_tokens=1000,
            first_tokens=10,
            itl_seconds=9.9,
            itl_count=990,
            prompt_tokens=400,
            preemptions=1,
            requests_running=3,
            requests_waiting=2,
            drafts=300,
            draft_tokens=900,
            accepted_tokens=600,
        )
    }


def test_optional_series_that_are_absent_are_none_not_zero() -> None:
    counters = parse(page(engine_lines(ENGINE), start=None))

    assert counters.process_start is None
    assert counters.engines["0"].drafts is None
    assert counters.engines["0"].finished_requests is None


def test_series_whose_names_only_begin_like_ours_are_not_picked() -> None:
    decoys = (
        'vllm:generation_tokens_created{engine="0"} 1.7e9\n'
        'vllm:generation_tokens_total_by_tenant{engine="0"} 7\n'
        'vllm:prompt_tokens_total_created{engine="0"} 7\n'
        'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 99\n'
        'vllm:inter_token_latency_seconds_bucket{engine="0",le="0.01"} 5\n'
        'xvllm:generation_tokens_total{engine="0"} 5\n'
        "process_start_time_seconds_total 3\n"
    )

    assert parse(page(decoys, engine_lines(ENGINE))) == parse(page(engine_lines(ENGINE)))


def reasons(**counts: int) -> str:
    line = 'vllm:request_success_total{{engine="0",finished_reason="{}"}} {}\n'
    return "".join(line.format(reason, count) for reason, count in counts.items())


@pytest.mark.parametrize(
    ("ended", "finished", "aborted", "errored"),
    [
        ({"stop": 3, "length": 4, "abort": 1, "error": 0, "repetition": 0}, 8, 1, 0),
        ({"stop": 3, "error": 2, "repetition": 5}, 10, 0, 7),
        ({"length": 4}, 4, 0, 0),
        ({"another": 2}, 2, 0, 0),
        ({}, None, None, None),
    ],
)
def test_finished_requests_are_summed_and_those_that_ended_badly_are_told_apart(
    ended: dict[str, int], finished: float | None, aborted: float | None, errored: float | None
) -> None:
    engine = parse(page(engine_lines(ENGINE), reasons(**ended))).engines["0"]

    assert (engine.finished_requests, engine.aborted_requests, engine.errored_requests) == (
        finished,
        aborted,
        errored,
    )


def test_positions_are_kept_in_order() -> None:
    position = 'vllm:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="{}"}} {}\n'
    positions = "".join(position.format(i, 100 - i) for i in (10, 0, 2, 1))

    assert parse(page(engine_lines(ENGINE), positions)).engines["0"].accepted_by_position == (100, 99, 98, 90)


def http(handler: str, status: str, count: float, method: str = "POST") -> str:
    return f'http_requests_total{{handler="{handler}",method="{method}",status="{status}"}} {count}\n'


CHAT = "/v1/chat/completions"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([http(CHAT, "2xx", 9)], HttpCounters(requests=9)),
        (
            [http(CHAT, "2xx", 9), http(CHAT, "4xx", 3), http("/v1/completions", "5xx", 2)],
            HttpCounters(requests=14, client_errors=3, server_errors=2),
        ),
        (
            [http(CHAT, "200", 9), http(CHAT, "404", 3), http(CHAT, "503", 2)],
            HttpCounters(requests=14, client_errors=3, server_errors=2),
        ),
        ([http(CHAT, "4xx", 3), http(CHAT, "4xx", 1, "GET")], HttpCounters(requests=4, client_errors=4)),
        ([http("/v1/models", "4xx", 5, "GET"), http(CHAT, "2xx", 1)], HttpCounters(requests=1)),
        ([http("none", "4xx", 5), http("/health", "5xx", 5), http("/v1/models", "2xx", 1)], None),
        (["http_requests_total 5\n", 'http_requests_total{a="/v1/"} 5\n'], None),
        ([], None),
    ],
)
def test_http_answers_count_on_inference_routes_only(lines: list[str], expected: HttpCounters | None) -> None:
    counters = parse(page(*lines, engine_lines(ENGINE), engine_lines(ENGINE, engine="1")))

    assert counters.http == expected
    assert set(counters.engines) == {"0", "1"}


def test_http_answers_alone_are_no_page_of_vllm() -> None:
    with pytest.raises(NotVllmError):
        parse(page(http(CHAT, "2xx", 9)))


@pytest.mark.parametrize(
    ("labels", "tokens"),
    [
        ('block_size="16",engine="0",kv_cache_size_tokens="32768",num_gpu_blocks="100"', 32768),
        ('engine="0",block_size="16",num_gpu_blocks="100"', 1600),
        ('block_size="16",engine="0",kv_cache_size_tokens="None",num_gpu_blocks="100"', 1600),
        ('block_size="16",engine="0",num_gpu_blocks="None"', None),
        ('block_size="16",engine="0",num_gpu_blocks_override="100"', None),
        ('engine="0",kv_cache_size_tokens="-5"', None),
        ('engine="0",kv_cache_size_tokens="1e9"', None),
        ('engine="0",kv_cache_size_tokens="' + "9" * 400 + '"', None),
        ('engine="0",kv_cache_size_tokens="5', None),
        ('engine="7",kv_cache_size_tokens="32768"', None),
    ],
)
def test_the_room_of_the_kv_cache_is_read_from_labels(labels: str, tokens: float | None) -> None:
    engines = parse(page(engine_lines(ENGINE), f"vllm:cache_config_info{{{labels}}} 1.0\n")).engines

    assert engines["0"].kv_tokens == tokens
    assert set(engines) == {"0"}


def test_engines_stay_apart() -> None:
    other = ENGINE | {"vllm:generation_tokens_total": 5.0}

    engines = parse(page(engine_lines(ENGINE, engine="0"), engine_lines(other, engine="1"))).engines

    assert {label: engine.generation_tokens for label, engine in engines.items()} == {"0": 1000, "1": 5}


def test_an_engine_that_has_served_nothing_yet_counts_zero_beside_one_that_has() -> None:
    idle = 'vllm:num_requests_running{engine="1"} 0\n'

    engines = parse(page(engine_lines(ENGINE), idle)).engines

    assert engines["1"].generation_tokens == 0
    assert engines["1"].prompt_tokens is None


@pytest.mark.parametrize(
    "line",
    [
        'vllm:prompt_tokens_total{engine="0"} 7 # {trace_id="a } \\" b"} 1.0 1700000000.5\n',
        'vllm:prompt_tokens_total{engine="0"} 7 1700000000000\n',
        'vllm:prompt_tokens_total{engine="0",model_name="a \\"quoted\\" # {name}"} 7\n',
        'vllm:prompt_tokens_total{engine="0",} 7\r\n',
        'vllm:prompt_tokens_total{engine="0"} 7\n# EOF\n',
        'vllm:prompt_tokens_total{engine="0"} 7\n# EOF',
    ],
    ids=[
        "exemplar",
        "timestamp",
        "escaped label",
        "carriage return",
        "OpenMetrics end",
        "end without newline",
    ],
)
def test_every_form_of_a_line_that_is_in_use_is_read(line: str) -> None:
    without = {name: value for name, value in ENGINE.items() if name != "vllm:prompt_tokens_total"}

    counters = parse(page(engine_lines(without)) + line.encode())

    assert counters.engines["0"].prompt_tokens == 7


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", NotVllmError),
        (b"<html>404</html>\n", NotVllmError),
        (b"process_start_time_seconds 5\n", NotVllmError),
        (b"# EOF\n", NotVllmError),
        (b'vllm:num_requests_running{engine="0"} 1\n', SeriesMissingError),
        (b"\xff\xfe\x00", GarbageError),
        (b"vllm:generation_tokens_total 1\n\0\n", GarbageError),
        (page(engine_lines(ENGINE))[:-4], GarbageError),
    ],
    ids=["empty", "html", "other server", "idle", "incomplete", "not UTF-8", "binary", "cut off"],
)
def test_a_page_without_the_needed_series_is_a_finding(body: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse(body)


@pytest.mark.parametrize(
    "line",
    [
        "vllm:prompt_tokens_total\t\n",
        "vllm:prompt_tokens_total{ 5\n",
        'vllm:prompt_tokens_total{engine="0} 5\n',
        "vllm:prompt_tokens_total{engine=0} 5\n",
        'vllm:prompt_tokens_total{ ="0"} 5\n',
        'vllm:prompt_tokens_total{engine="0"} 5_0\n',
        'vllm:prompt_tokens_total{engine="0"} NaN\n',
        'vllm:prompt_tokens_total{engine="0"} +Inf\n',
        'vllm:prompt_tokens_total{engine="0"} -1\n',
        'vllm:prompt_tokens_total{engine="0"} 1' + "0" * 400 + "\n",
        'vllm:prompt_tokens_total{engine="0",model_name="m"} 400\n',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0"} 4\n',
        'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="x"} 4\n',
        'vllm:prompt_tokens_total{a="' + "x" * MAX_LINE_CHARS + '"} 5\n',
        "".join(f'vllm:request_success_total{{x="{i}"}} 5\n' for i in range(MAX_PICKED_CHARS // 32)),
    ],
    ids=range(15),
)
def test_a_needed_line_that_is_broken_makes_the_page_garbage(line: str) -> None:
    with pytest.raises(GarbageError) as caught:
        parse(page(engine_lines(ENGINE), line))
    assert len(str(caught.value)) < 250
    assert str(caught.value).isprintable()


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*ENGINE, *SPECULATION, "vllm:cache_config_info", "process_start_time_seconds"]),
            st.text(alphabet='{}",=\\# \t1e-+.xN_é', max_size=30),
        ),
        max_size=5,
    )
)
def test_no_text_behind_our_names_gives_anything_but_counters_or_a_finding(
    tails: list[tuple[str, str]],
) -> None:
    body = page(engine_lines(ENGINE), *(f"{name}{{{tail}\n" for name, tail in tails))
    try:
        assert parse(body).engines
    except UnreadablePageError as error:
        assert str(error)  # noqa: PT017 (both ends are allowed; that nothing else is raised is the point)


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_give_anything_but_a_finding(body: bytes) -> None:
    with pytest.raises(UnreadablePageError):
        parse(body)


COUNTS = st.floats(min_value=0, max_value=1e15)


@settings(deadline=None)
@given(
    st.lists(st.fixed_dictionaries(dict.fromkeys((*ENGINE, *SPECULATION), COUNTS)), min_size=1, max_size=4)
)
def test_what_is_written_is_what_is_read(engines: list[dict[str, float]]) -> None:
    body = page(*(engine_lines(values, engine=str(label)) for label, values in enumerate(engines)))

    read = parse(body).engines

    for label, values in enumerate(engines):
        assert read[str(label)].generation_tokens == values["vllm:generation_tokens_total"]
        assert read[str(label)].itl_seconds == values["vllm:inter_token_latency_seconds_sum"]
        assert read[str(label)].accepted_tokens == values["vllm:spec_decode_num_accepted_tokens_total"]
        assert read[str(label)].requests_waiting == values["vllm:num_requests_waiting"]


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=40))
def test_lines_of_other_series_change_nothing(copies: int) -> None:
    decoys = 'vllm:request_prompt_tokens_bucket{engine="0",le="1"} 3\nhttp_requests_created{a="b"} 2\n'
    noise = decoys * copies

    assert parse(page(noise, engine_lines(ENGINE), noise)) == parse(page(engine_lines(ENGINE)))


def realistic_page() -> bytes:
    """About 50 KB, as vLLM's: a few needed lines among many buckets."""
    bucket = 'vllm:request_{}_seconds_bucket{{engine="0",le="{}",model_name="m"}} 3.0\n'
    buckets = "".join(bucket.format(name, le) for name in range(25) for le in range(25))
    return page(buckets, engine_lines(ENGINE | SPECULATION))


def best_of(runs: int, call: Callable[..., object], *arguments: object) -> float:
    """Seconds of CPU time: the rest of the machine may be busy."""
    durations = []
    for _ in range(runs):
        begin = time.process_time()
        call(*arguments)
        durations.append(time.process_time() - begin)
    return min(durations)


def test_picking_lines_first_costs_a_fraction_of_parsing_the_whole_page() -> None:
    body = realistic_page()
    assert parse(body) == parse(page(engine_lines(ENGINE | SPECULATION)))

    picked = best_of(10, parse, body)
    whole = best_of(3, lambda: list(text_string_to_metric_families(body.decode())))

    assert picked < whole / 5


HOSTILE_LABELS = {
    "many labels": "".join(f',l{number}=""' for number in range(400)),
    "many quotes": ',x="' + '\\"' * 1900 + '"',
    "many backslashes": ',x="' + "\\\\" * 1900 + '"',
}


@pytest.mark.parametrize("labels", HOSTILE_LABELS.values(), ids=HOSTILE_LABELS)
def test_the_worst_page_within_the_limits_does_not_hold_up_the_operator(labels: str) -> None:
    line = 'vllm:request_success_total{{finished_reason="{}"{}}} 5\n'
    worst = "".join(line.format(number, labels) for number in range(MAX_PICKED_CHARS // len(labels) // 2))
    body = page(engine_lines(ENGINE), worst)

    assert parse(body).engines[""].finished_requests
    assert best_of(3, parse, body) < 2


@pytest.mark.parametrize(
    "generate",
    [generate_latest, partial(openmetrics.generate_latest, escaping="allow-utf-8")],
    ids=["text", "OpenMetrics"],
)
def test_what_prometheus_client_writes_in_either_format_is_read(
    generate: Callable[[CollectorRegistry], bytes],
) -> None:
    registry = CollectorRegistry()
    labels = {"engine": "0", "model_name": 'a "model" \\ of {mine}'}
    tokens = Counter("vllm:generation_tokens", "Tokens.", [*labels], registry=registry)
    tokens.labels(**labels).inc(1234)
    running = Gauge("vllm:num_requests_running", "Now.", [*labels], registry=registry)
    running.labels(**labels).set(7)
    first = Histogram("vllm:time_to_first_token_seconds", "First.", [*labels], registry=registry)
    latency = Histogram("vllm:inter_token_latency_seconds", "Between.", [*labels], registry=registry)
    first.labels(**labels).observe(0.25)
    for seconds in (0.5, 0.25):
        latency.labels(**labels).observe(seconds, exemplar={"trace_id": "4bf9"})

    engine = parse(generate(registry)).engines["0"]

    assert engine == EngineCounters(
        generation_tokens=1234,
        first_tokens=1,
        itl_seconds=0.75,
        itl_count=2,
        ttft_seconds=0.25,
        requests_running=7,
    )


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_page_holds_the_identities_of_its_counters(recording: Path) -> None:
    counters = parse(recording.read_bytes())

    assert counters.engines
    for engine in counters.engines.values():
        assert engine.itl_count is not None
        assert engine.itl_count <= engine.generation_tokens - engine.first_tokens
        if engine.drafts is None:
            assert engine.itl_count == engine.generation_tokens - engine.first_tokens
        else:
            assert sum(engine.accepted_by_position) == engine.accepted_tokens
        assert engine.finished_tokens is not None
        assert engine.max_tokens is not None
        assert engine.finished_tokens <= min(engine.max_tokens, engine.generation_tokens)
        assert engine.prefix_queries == engine.prompt_tokens
        assert engine.ttft_seconds
        assert engine.kv_tokens == {"eagle3": 26_112}.get(recording.stem, 32_768)
        assert (engine.aborted_requests, engine.errored_requests) == (0, 0)
