"""`difference`: what two samples of one pod say, and every way in which they say nothing."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.judge import PodWindow, Reason
from specdeploy.metrics.counters import EngineCounters, HttpCounters
from specdeploy.metrics.difference import Gap, difference
from tests.metrics.samples import PLAIN, SPECULATING, busy, sample


def test_counters_are_subtracted_and_gauges_are_those_of_the_end() -> None:
    after = replace(
        SPECULATING,
        generation_tokens=16_100,
        first_tokens=200,
        itl_seconds=500.0,
        itl_count=7_000,
        ttft_seconds=45.0,
        prompt_tokens=5_600,
        finished_requests=95,
        aborted_requests=2,
        errored_requests=1,
        finished_tokens=9_700,
        max_tokens=20_000,
        preemptions=3,
        prefix_queries=5_600,
        prefix_hits=1_150,
        drafts=7_000,
        draft_tokens=21_000,
        accepted_tokens=9_000,
        accepted_by_position=(4_500.0, 3_000.0, 1_500.0),
        requests_running=6,
        requests_waiting=0,
    )
    http = (HttpCounters(requests=50, client_errors=4), HttpCounters(requests=60, client_errors=5))

    window = difference(
        sample(10.0, SPECULATING, http=http[0]),
        replace(sample(70.0, after, http=http[1]), max_model_len=8_192),
        pod="p",
        ready_seconds=400.0,
    )

    assert window == PodWindow(
        pod="p",
        seconds=60.0,
        generation_tokens=6_100,
        first_tokens=100,
        itl_seconds=300.0,
        requests_running=6,
        requests_waiting=0,
        finished_since_ready=95,
        ready_seconds=400.0,
        restarts=0,
        drafts=3_000,
        draft_tokens=9_000,
        accepted_tokens=3_000,
        prompt_tokens=600,
        ttft_seconds=25.0,
        finished_requests=5,
        finished_tokens=700,
        max_tokens=2_000,
        aborted_requests=2,
        errored_requests=1,
        http_requests=10,
        client_errors=1,
        server_errors=0,
        preemptions=3,
        prefix_queries=600,
        prefix_hits=150,
        kv_tokens=32_768,
        max_model_len=8_192,
    )


def test_what_a_pod_does_not_count_stays_unknown() -> None:
    bare = EngineCounters(generation_tokens=1, first_tokens=1, itl_seconds=1)

    window = difference(sample(0.0, bare), sample(60.0, bare), pod="p")

    assert isinstance(window, PodWindow)
    told = {"pod", "seconds", "generation_tokens", "first_tokens", "itl_seconds", "restarts", "engines"}
    assert {name for name in PodWindow._fields if getattr(window, name) is not None} == told


@pytest.mark.parametrize("name", ["aborted_requests", "errored_requests", "preemptions", "prefix_hits"])
def test_a_count_of_events_that_appears_rose_from_0(name: str) -> None:
    before, after = replace(PLAIN, **{name: None}), replace(PLAIN, **{name: 7.0})

    window = difference(sample(0.0, before, PLAIN), sample(60.0, after, PLAIN), pod="p")

    assert isinstance(window, PodWindow)
    assert getattr(window, name) == 7.0


@pytest.mark.parametrize(
    ("before", "after", "rise"),
    [
        (None, None, (None, None, None)),
        (None, HttpCounters(requests=5, client_errors=2), (5, 2, 0)),
        (HttpCounters(requests=5), HttpCounters(requests=9, server_errors=3), (4, 0, 3)),
        (HttpCounters(requests=5), HttpCounters(requests=5), (0, 0, 0)),
    ],
)
def test_http_answers_seen_for_the_first_time_rose_from_0(
    before: HttpCounters | None,
    after: HttpCounters | None,
    rise: tuple[float | None, float | None, float | None],
) -> None:
    window = difference(sample(0.0, PLAIN, http=before), sample(60.0, PLAIN, http=after), pod="p")

    assert isinstance(window, PodWindow)
    assert (window.http_requests, window.client_errors, window.server_errors) == rise


@pytest.mark.parametrize(("second", "room"), [(10_000.0, 42_768), (None, None)])
def test_the_room_of_a_pod_is_that_of_all_its_engines_or_unknown(
    second: float | None, room: float | None
) -> None:
    engines = (PLAIN, replace(PLAIN, kv_tokens=second))

    window = difference(sample(0.0, *engines), sample(60.0, *engines), pod="p")

    assert isinstance(window, PodWindow)
    assert window.kv_tokens == room


def test_the_engines_of_a_pod_are_summed() -> None:
    before = sample(0.0, PLAIN, PLAIN)
    after = sample(60.0, busy(PLAIN, tokens=1_000), busy(PLAIN, tokens=500))

    window = difference(before, after, pod="p")

    assert isinstance(window, PodWindow)
    assert window.generation_tokens == 1_500
    assert window.itl_seconds == 600
    assert window.requests_running == 8


def test_a_restart_of_one_engine_is_seen_although_the_sum_over_engines_rises() -> None:
    before = sample(0.0, PLAIN, PLAIN)
    after = sample(60.0, replace(PLAIN, generation_tokens=5.0), busy(PLAIN, tokens=90_000))

    gap = difference(before, after, pod="p")

    assert isinstance(gap, Gap)
    assert gap.reason is Reason.POD_RESTARTED


LATER = busy(SPECULATING)

GAPS = {
    "a counter that goes back": (sample(60.0, replace(LATER, itl_seconds=199.0)), Reason.POD_RESTARTED),
    "one that is not used elsewhere": (
        sample(60.0, replace(LATER, accepted_by_position=(3_000.0, 1_999.0, 1_000.0))),
        Reason.POD_RESTARTED,
    ),
    "fewer HTTP answers": (sample(60.0, LATER, http=HttpCounters(requests=9)), Reason.POD_RESTARTED),
    "HTTP answers that vanished": (sample(60.0, LATER), Reason.POD_RESTARTED),
    "HTTP answers without a number": (
        sample(60.0, LATER, http=HttpCounters(requests=math.nan)),
        Reason.BAD_NUMBERS,
    ),
    "another process": (sample(60.0, LATER, process_start=1001.0), Reason.POD_RESTARTED),
    "a counter that vanished": (sample(60.0, replace(LATER, drafts=None)), Reason.POD_RESTARTED),
    "a position that vanished": (
        sample(60.0, replace(LATER, accepted_by_position=(3_000.0, 2_000.0))),
        Reason.POD_RESTARTED,
    ),
    "an engine that vanished": (sample(60.0), Reason.POD_RESTARTED),
    "an engine that appeared": (sample(60.0, LATER, LATER), Reason.NO_DATA),
    "a position that appeared": (
        sample(60.0, replace(LATER, accepted_by_position=(3_000.0, 2_000.0, 1_000.0, 0.0))),
        Reason.NO_DATA,
    ),
    "not a number": (sample(60.0, replace(LATER, prompt_tokens=math.nan)), Reason.BAD_NUMBERS),
    "infinite": (sample(60.0, replace(LATER, prompt_tokens=math.inf)), Reason.BAD_NUMBERS),
    "negative": (sample(60.0, replace(LATER, prompt_tokens=-1.0)), Reason.BAD_NUMBERS),
    "a clock that stands": (sample(0.0, LATER), Reason.BAD_NUMBERS),
    "a clock that goes back": (sample(-1.0, LATER), Reason.BAD_NUMBERS),
    "a clock without a number": (sample(math.nan, LATER), Reason.BAD_NUMBERS),
}


@pytest.mark.parametrize("what", GAPS)
def test_two_samples_that_do_not_belong_together_are_a_gap(what: str) -> None:
    after, reason = GAPS[what]
    before = sample(0.0, SPECULATING, http=HttpCounters(requests=10) if "HTTP" in what else None)

    gap = difference(before, after, pod="p")

    assert isinstance(gap, Gap)
    assert gap.reason is reason
    assert gap.message


def test_a_counter_that_appears_is_no_restart() -> None:
    before = sample(0.0, replace(PLAIN, finished_requests=None))

    gap = difference(before, sample(60.0, PLAIN), pod="p")

    assert gap == Gap(Reason.NO_DATA, "finished_requests was seen for the first time")


@pytest.mark.parametrize("starts", [(None, None), (5.0, None), (None, 5.0)])
def test_a_page_without_the_start_of_its_process_is_measured_all_the_same(
    starts: tuple[float | None, float | None],
) -> None:
    before = sample(0.0, PLAIN, process_start=starts[0])
    after = sample(60.0, busy(PLAIN), process_start=starts[1])

    assert isinstance(difference(before, after, pod="p"), PodWindow)


AMOUNT = st.integers(min_value=0, max_value=10**12).map(float)
NAMES = ("generation_tokens", "first_tokens", "itl_seconds", "drafts", "draft_tokens", "accepted_tokens")
AMOUNTS = st.fixed_dictionaries(dict.fromkeys(NAMES, AMOUNT))
ENGINES = st.lists(st.tuples(AMOUNTS, AMOUNTS), min_size=1, max_size=4)


@settings(deadline=None)
@given(ENGINES)
def test_any_rise_of_any_engines_is_their_sum(
    engines: list[tuple[dict[str, float], dict[str, float]]],
) -> None:
    before = sample(0.0, *(EngineCounters(**start) for start, _ in engines))
    after = sample(
        60.0,
        *(EngineCounters(**{name: start[name] + rise[name] for name in NAMES}) for start, rise in engines),
    )

    window = difference(before, after, pod="p")

    assert isinstance(window, PodWindow)
    for name in NAMES:
        assert getattr(window, name) == sum(rise[name] for _, rise in engines)


@settings(deadline=None)
@given(ENGINES, st.data())
def test_any_fall_of_any_counter_of_any_engine_is_a_restart(
    engines: list[tuple[dict[str, float], dict[str, float]]], data: st.DataObject
) -> None:
    starts = [{name: amount + 1 for name, amount in start.items()} for start, _ in engines]
    ends = [
        {name: start[name] + rise[name] for name in NAMES}
        for start, (_, rise) in zip(starts, engines, strict=True)
    ]
    victim = data.draw(st.integers(0, len(ends) - 1))
    name = data.draw(st.sampled_from(NAMES))
    ends[victim][name] = data.draw(st.integers(0, int(starts[victim][name]) - 1).map(float))

    gap = difference(
        sample(0.0, *(EngineCounters(**start) for start in starts)),
        sample(60.0, *(EngineCounters(**end) for end in ends)),
        pod="p",
    )

    assert isinstance(gap, Gap)
    assert gap.reason is Reason.POD_RESTARTED
