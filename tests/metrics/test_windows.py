"""The grid of windows, and `WindowBook`: what a window holds, and that none is lost or counted twice."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.judge import BASELINE, SERVING, TRIAL, PodWindow, Reason, Settings, Use, assess
from specdeploy.metrics.arms import MeasuredPod
from specdeploy.metrics.exposition import EngineCounters
from specdeploy.metrics.sample import FailureKind, Sample, ScrapeFailure
from specdeploy.metrics.windows import MeasuredWindow, WindowBook, window_end, window_index
from tests.metrics.samples import PLAIN, SPECULATING, busy, sample

KEY = "uid-of-x"
BASE = MeasuredPod(uid="b", name="x-baseline-0", arm=BASELINE, ready_seconds=1000.0, image_id="sha256:1")
CANARY = replace(BASE, uid="t", name="x-dflash-0", arm=TRIAL, ready_seconds=500.0)
PODS = (BASE, CANARY)
REFUSED = ScrapeFailure(FailureKind.UNREACHABLE, "ConnectError: refused")


def counted(engine: EngineCounters, windows: float) -> EngineCounters:
    """The engine after that many windows of the same steady traffic."""
    return busy(engine, tokens=6_100 * windows, requests=100 * windows, decoding=300.0 * windows)


def readings(window: float) -> dict[str, Sample | ScrapeFailure]:
    """Both pods, `window` windows of 60 s after the first reading, under steady traffic."""
    return {
        "b": sample(60.0 * window, counted(PLAIN, window)),
        "t": sample(60.0 * window, counted(SPECULATING, window)),
    }


def close(
    book: WindowBook,
    index: int,
    samples: Mapping[str, Sample | ScrapeFailure],
    *,
    pods: Sequence[MeasuredPod] = PODS,
    stored_index: int | None = None,
) -> MeasuredWindow | None:
    return book.close(
        KEY,
        index,
        pods=pods,
        samples=samples,
        window_seconds=60.0,
        stored_index=stored_index,
        compared=(BASELINE, TRIAL),
    )


def opened() -> WindowBook:
    """A book that has seen the first samples at time 0, in window 0."""
    book = WindowBook()
    assert close(book, 0, readings(0)) is None
    return book


def measured(window: MeasuredWindow | None, arm: str = BASELINE) -> PodWindow:
    assert window is not None
    (pod,) = window.window.arms[arm]
    return pod


# --- the grid


@settings(deadline=None)
@given(
    now=st.floats(min_value=0, max_value=4e9),
    seconds=st.integers(min_value=5, max_value=600),
    uid=st.text(max_size=40),
)
def test_every_instant_is_in_the_window_that_its_index_names(now: float, seconds: int, uid: str) -> None:
    index = window_index(now, seconds=seconds, uid=uid)

    end = window_end(index, seconds=seconds, uid=uid)
    assert end - seconds <= now < end
    assert window_index(end, seconds=seconds, uid=uid) == index + 1
    assert window_index(math.nextafter(end, 0), seconds=seconds, uid=uid) == index


def test_objects_end_their_windows_at_different_times() -> None:
    ends = {window_end(0, seconds=60, uid=f"object-{number}") for number in range(200)}

    assert len(ends) > 40


# --- one window after the other


def test_the_first_samples_give_no_window_and_the_second_do() -> None:
    window = close(opened(), 1, readings(1))

    assert window is not None
    assert window.window.index == 1
    assert window.window.seconds == 60.0
    assert window.window.obstacle is None
    assert window.gaps == {}
    baseline, trial = measured(window), measured(window, TRIAL)
    assert (baseline.pod, baseline.seconds, baseline.generation_tokens) == ("x-baseline-0", 60.0, 6_100)
    assert (trial.ready_seconds, trial.first_tokens) == (500.0, 100)
    assert window.figures[BASELINE].speed == pytest.approx(20.0)


def test_every_window_holds_only_what_was_counted_in_it() -> None:
    book = opened()
    for index in range(1, 4):
        assert measured(close(book, index, readings(index))).generation_tokens == 6_100
        book.commit(KEY, index)


def test_a_window_that_is_committed_is_not_closed_again() -> None:
    book = opened()
    close(book, 1, readings(1))
    book.commit(KEY, 1)

    assert close(book, 1, readings(1.2)) is None
    assert measured(close(book, 2, readings(2))).seconds == 60.0


def test_a_pass_that_is_repeated_because_its_write_failed_sees_the_same_numbers() -> None:
    book = opened()
    first = close(book, 1, readings(1))

    assert close(book, 1, readings(1.1)) is first
    book.commit(KEY, 1)
    assert measured(close(book, 2, readings(2))).seconds == 60.0


def test_a_window_that_was_never_written_is_covered_by_the_next_one() -> None:
    book = opened()
    close(book, 1, readings(1))

    window = close(book, 2, readings(2))

    assert window is not None
    assert window.window.seconds == 120.0
    assert measured(window).generation_tokens == 12_200


def test_a_write_whose_answer_was_lost_is_not_counted_twice() -> None:
    book = opened()
    close(book, 1, readings(1))

    assert close(book, 1, readings(1.1), stored_index=1) is None
    assert measured(close(book, 2, readings(2), stored_index=1)).generation_tokens == 6_100


@pytest.mark.parametrize("index", [0, 2])
def test_a_commit_of_another_window_changes_nothing(index: int) -> None:
    book = opened()
    first = close(book, 1, readings(1))

    book.commit(KEY, index)
    book.extend(KEY, index)

    assert close(book, 1, readings(1)) is first


def test_a_quiet_window_is_extended_and_the_next_one_covers_both() -> None:
    book = opened()
    close(book, 1, readings(1))
    book.extend(KEY, 1)

    assert close(book, 1, readings(1.5)) is None
    window = close(book, 2, readings(2))

    assert window is not None
    assert window.window.seconds == 120.0
    assert measured(window).first_tokens == 200
    book.commit(KEY, 2)
    assert measured(close(book, 3, readings(3))).seconds == 60.0


def test_a_start_sample_is_too_old_after_the_longest_extension() -> None:
    book = opened()
    for index in range(1, 13):
        window = close(book, index, readings(index))
        assert measured(window).seconds == 60.0 * index
        book.extend(KEY, index)

    window = close(book, 13, readings(13))

    assert window is not None
    assert window.window.arms == {}
    assert window.gaps["x-baseline-0"].reason is Reason.NO_DATA
    book.commit(KEY, 13)
    assert measured(close(book, 14, readings(14))).seconds == 60.0


def test_the_figures_show_the_batch_of_one_engine_of_a_pod() -> None:
    book = WindowBook()
    close(book, 0, {"b": sample(0.0, PLAIN, PLAIN)}, pods=(BASE,))

    window = close(book, 1, {"b": sample(60.0, counted(PLAIN, 1), counted(PLAIN, 1))}, pods=(BASE,))

    assert window is not None
    assert window.figures[BASELINE].batch == pytest.approx(5.0)
    assert window.figures[BASELINE].speed == pytest.approx(20.0)


@pytest.mark.parametrize("finish", ["commit", "extend"])
def test_a_window_is_done_once_it_is_committed_or_extended(finish: str) -> None:
    book = WindowBook()
    assert not book.done(KEY, 0)
    close(book, 0, readings(0))
    assert book.done(KEY, 0)

    close(book, 1, readings(1))
    assert not book.done(KEY, 1)
    getattr(book, finish)(KEY, 1)
    assert book.done(KEY, 1)


def test_windows_go_on_when_a_longer_window_makes_their_numbers_lower() -> None:
    book = WindowBook()
    close(book, 1000, readings(0))

    assert measured(close(book, 100, readings(2))).seconds == 120.0


# --- restarts of the operator and of pods


def test_after_a_restart_of_the_operator_one_window_is_lost_and_named() -> None:
    book = WindowBook()

    lost = close(book, 7, readings(7), stored_index=6)

    assert lost is not None
    assert lost.window.obstacle is not None
    assert lost.window.obstacle.reason is Reason.OPERATOR_RESTART
    assert lost.window.arms == {}
    book.commit(KEY, 7)
    assert measured(close(book, 8, readings(8), stored_index=7)).seconds == 60.0


def test_an_operator_that_restarts_after_the_write_does_not_name_the_same_window_again() -> None:
    book = WindowBook()

    assert close(book, 7, readings(7.5), stored_index=7) is None
    assert measured(close(book, 8, readings(8), stored_index=7)).seconds == 30.0


def test_a_pod_seen_for_a_small_part_of_a_window_is_measured_in_the_next_one() -> None:
    book = WindowBook()
    close(book, 0, readings(0.75))

    short = close(book, 1, readings(1))
    assert short is not None
    assert short.gaps["x-dflash-0"].reason is Reason.NO_DATA
    book.commit(KEY, 1)

    assert measured(close(book, 2, readings(2))).seconds == 75.0


@pytest.mark.parametrize(
    ("pod", "engine"),
    [
        (CANARY, replace(SPECULATING, generation_tokens=3.0)),
        (replace(CANARY, restart_count=1), counted(SPECULATING, 1)),
    ],
    ids=["a counter went back", "the container's restart count rose"],
)
def test_a_pod_that_restarted_is_told_to_the_judge_and_measured_afresh(
    pod: MeasuredPod, engine: EngineCounters
) -> None:
    book = opened()

    window = close(book, 1, {**readings(1), "t": sample(60.0, engine)}, pods=(BASE, pod))

    assert window is not None
    assert window.gaps["x-dflash-0"].reason is Reason.POD_RESTARTED
    restarted = measured(window, TRIAL)
    assert (restarted.restarts, restarted.generation_tokens) == (1, 0)
    assert measured(window).generation_tokens == 6_100
    assert window.figures[TRIAL].pods == 0
    book.commit(KEY, 1)
    again = close(book, 2, {**readings(2), "t": sample(120.0, counted(engine, 1))}, pods=(BASE, pod))
    assert measured(again, TRIAL).generation_tokens == 6_100


@pytest.mark.parametrize("finish", ["commit", "extend"])
def test_a_restart_is_told_once(finish: str) -> None:
    book = opened()
    restarted = {**readings(1), "t": sample(60.0, replace(SPECULATING, generation_tokens=3.0))}
    close(book, 1, restarted)
    getattr(book, finish)(KEY, 1)

    window = close(book, 2, {**readings(2), "t": sample(120.0, SPECULATING)})

    assert window is not None
    assert window.gaps == {}


def test_a_crashed_container_that_can_not_be_read_is_a_restart_not_missing_data() -> None:
    crashed = replace(CANARY, restart_count=1)

    window = close(opened(), 1, {**readings(1), "t": REFUSED}, pods=(BASE, crashed))

    assert measured(window, TRIAL).restarts == 1


@pytest.mark.parametrize("answer", [{"t": REFUSED}, {}], ids=["refused", "not read"])
def test_a_pod_that_can_not_be_read_is_a_gap_and_its_next_window_covers_both(
    answer: dict[str, Sample | ScrapeFailure],
) -> None:
    book = opened()

    window = close(book, 1, {"b": readings(1)["b"], **answer})
    assert window is not None
    assert window.gaps["x-dflash-0"].reason is Reason.NO_DATA
    assert TRIAL not in window.window.arms
    book.commit(KEY, 1)

    after = close(book, 2, readings(2))
    assert measured(after, TRIAL).generation_tokens == 12_200
    assert measured(after, BASELINE).generation_tokens == 6_100


# --- pods that come and go


def test_a_new_pod_is_measured_from_its_second_sample() -> None:
    book = WindowBook()
    close(book, 0, readings(0), pods=(BASE,))

    window = close(book, 1, readings(1))
    assert window is not None
    assert window.gaps["x-dflash-0"].message == "it was read for the first time"
    book.commit(KEY, 1)

    assert measured(close(book, 2, readings(2)), TRIAL).seconds == 60.0


def test_a_pod_that_left_is_forgotten() -> None:
    book = opened()
    close(book, 1, readings(1), pods=(BASE,))
    book.commit(KEY, 1)

    window = close(book, 2, readings(2))

    assert window is not None
    assert window.gaps["x-dflash-0"].message == "it was read for the first time"


def test_an_object_that_is_forgotten_starts_anew_and_others_stay() -> None:
    book = opened()
    other_book = partial(book.close, "other", pods=PODS, window_seconds=60.0, stored_index=None, compared=())
    other_book(0, samples=readings(0))
    book.forget(KEY)
    book.forget("never seen")

    assert close(book, 1, readings(1)) is None
    assert measured(other_book(1, samples=readings(1))).generation_tokens == 6_100


def test_a_pod_that_changes_its_role_keeps_its_samples() -> None:
    window = close(opened(), 1, readings(1), pods=(BASE, replace(CANARY, arm=SERVING)))

    assert window is not None
    assert set(window.window.arms) == {BASELINE, SERVING}


# --- what the judge makes of it


def test_the_judge_uses_a_busy_window_and_extends_a_quiet_one() -> None:
    book = opened()
    settings = Settings(window_seconds=60.0, warmup_seconds=60.0)

    busy_window = close(book, 1, readings(1))
    assert busy_window is not None
    assert assess(busy_window.window, settings).use is Use.USED
    book.commit(KEY, 1)

    quiet_window = close(
        book, 2, {"b": sample(120.0, counted(PLAIN, 1.1)), "t": sample(120.0, counted(SPECULATING, 1.1))}
    )
    assert quiet_window is not None
    assert assess(quiet_window.window, settings).use is Use.EXTEND


@pytest.mark.parametrize(
    ("answer", "pod", "reason"),
    [
        (REFUSED, CANARY, Reason.NO_DATA),
        (REFUSED, replace(CANARY, restart_count=1), Reason.POD_RESTARTED),
        (readings(1)["t"], replace(CANARY, image_id=""), Reason.DIFFERENT_IMAGE),
        (readings(1)["t"], replace(CANARY, template_edited=True), Reason.TEMPLATE_EDITED),
    ],
)
def test_the_judge_skips_what_is_no_evidence_for_the_reason_that_is_true(
    answer: Sample | ScrapeFailure, pod: MeasuredPod, reason: Reason
) -> None:
    window = close(opened(), 1, {**readings(1), "t": answer}, pods=(BASE, pod))

    assert window is not None
    use = assess(window.window, Settings(window_seconds=60.0, warmup_seconds=60.0))
    assert (use.use, use.reason) == (Use.SKIPPED, reason)


# --- what forbids to compare


def test_arms_on_different_images_are_measured_but_not_compared() -> None:
    pods = (replace(BASE, image_id="sha256:1"), replace(CANARY, image_id="sha256:2"))

    window = close(opened(), 1, readings(1), pods=pods)

    assert window is not None
    assert window.window.obstacle is not None
    assert window.window.obstacle.reason is Reason.DIFFERENT_IMAGE
    assert measured(window, TRIAL).generation_tokens == 6_100


def test_a_pod_of_an_edited_template_is_not_measured() -> None:
    window = close(opened(), 1, readings(1), pods=(BASE, replace(CANARY, template_edited=True)))

    assert window is not None
    assert window.gaps["x-dflash-0"].reason is Reason.TEMPLATE_EDITED
    assert set(window.window.arms) == {BASELINE}


# --- whatever happens, nothing is counted twice


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["commit", "extend", "lost", "written without answer"]), min_size=1, max_size=10)
)
def test_over_any_course_of_writes_each_token_is_in_exactly_one_stored_window(course: list[str]) -> None:
    book = opened()
    stored_tokens, stored_index, covered = 0.0, None, 0
    for index, end in enumerate(course, start=1):
        window = close(book, index, readings(index), stored_index=stored_index)
        tokens = measured(window).generation_tokens
        if end in {"commit", "written without answer"}:
            stored_tokens, stored_index, covered = stored_tokens + tokens, index, index
        if end in {"commit", "extend"}:
            getattr(book, end)(KEY, index)

    assert stored_tokens == pytest.approx(6_100 * covered)
