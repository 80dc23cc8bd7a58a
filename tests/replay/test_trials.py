"""All trials of a file: told apart, in bounds, and judged as by the functions themselves."""

import io
import json
import random
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest

import pytest

from specdeploy.judge import (
    Outcome,
    Reason,
    Settings,
    Verdict,
    Window,
    expire,
    observe,
    start,
)
from specdeploy.judge.history import History, learn, remember
from specdeploy.replay import BrokenLine, Ended, Refused, Trials, judge_stream, parse
from tests.replay.recordings import HISTORY, judged, line, noisy, windows

RATIOS = {"wins": 1.2, "loses": 0.85, "sinks": 0.44, "same": 1.02}


def by_functions(
    given: Iterable[Window], settings: Settings, history: Iterable[Window] = ()
) -> tuple[int, Verdict]:
    """The window and the verdict that the judge's own functions give."""
    known = History()
    for window in history:
        known = remember(known, window, settings)
    state, last = start(settings, learn(known, settings)), -1
    for window in given:
        state, verdict = observe(state, window, settings)
        last = max(last, window.index)
        if verdict is not None:
            return window.index, verdict
    return last, expire(state, settings)


def recordings() -> dict[str, list[bytes]]:
    return {name: list(noisy(random.Random(name), name, ratio, 120)) for name, ratio in RATIOS.items()}


def mixed(parts: Iterable[list[bytes]]) -> Iterator[bytes]:
    return (each for each in chain.from_iterable(zip_longest(*parts)) if each is not None)


def test_replay_says_what_the_functions_say_bit_for_bit() -> None:
    settings = Settings(minimum_effect=0.02, confidence=0.9, pod_sd=0.005, deadline_seconds=100 * 60.0)
    for name, lines in recordings().items():
        (ended,) = judged(lines, settings)
        found = windows(lines)
        known = by_functions(found[HISTORY:], settings, found[:HISTORY])
        assert (ended.trial, ended.window, ended.verdict) == (name, *known)


def test_trials_may_be_mixed_in_any_way() -> None:
    one_after_the_other = judged(chain.from_iterable(recordings().values()))
    assert sorted(judged(mixed(recordings().values()))) == sorted(one_after_the_other)


def test_a_trial_is_told_as_soon_as_it_is_decided_and_the_rest_in_the_order_of_the_first_lines() -> None:
    lines = [
        line("late", 0),
        line("early", 0),
        line("sinks", 0, 0.3),
        line("sinks", 1, 0.3),
        line("early", 1),
    ]
    ends = [(ended.trial, ended.verdict.outcome, ended.window) for ended in judged(lines)]
    assert ends == [
        ("sinks", Outcome.DISASTER, 1),
        ("late", Outcome.INCONCLUSIVE, 0),
        ("early", Outcome.INCONCLUSIVE, 1),
    ]


def test_lines_after_the_verdict_change_nothing() -> None:
    """Argo 943 (PD-14): an experiment was successful, and its analysis failed later."""
    trials = Trials(Settings())
    lines = [line("t", window, 0.3) for window in (0, 1, 2, 2, 0)]
    ends = [trials.take(parse(raw)) for raw in lines]
    assert [ended is not None for ended in ends] == [False, True, False, False, False]
    assert list(trials.end()) == []


@pytest.mark.parametrize("window", [4, 3, 0])
def test_a_window_twice_or_back_in_time_is_refused_and_counted(window: int) -> None:
    trials = Trials(Settings())
    trials.take(parse(line("t", 3)))
    trials.take(parse(line("t", 4)))
    with pytest.raises(BrokenLine, match=f"window {window} of trial 't' is not after its window 4"):
        trials.take(parse(line("t", window)))
    trials.take(parse(line("t", 5)))
    (ended,) = trials.end()
    numbers = ended.verdict.numbers
    assert (ended.window, numbers.windows_used, numbers.skipped) == (5, 3, {Reason.OUT_OF_ORDER: 1})


def test_windows_from_far_back_in_time_are_no_evidence() -> None:
    """A file that was written twice, one copy behind the other."""
    trials = Trials(Settings())
    for window in range(10):
        trials.take(parse(line("t", window)))
    for window in range(10):
        with pytest.raises(BrokenLine):
            trials.take(parse(line("t", window)))
    (ended,) = trials.end()
    numbers = ended.verdict.numbers
    assert (numbers.windows_used, numbers.skipped) == (10, {Reason.OUT_OF_ORDER: 10})


def test_a_broken_line_changes_nothing_for_the_others() -> None:
    lines = recordings()["wins"]
    stream = io.BytesIO(b"".join(mixed([lines, [b"{}\n", lines[0], b"nonsense\n"]])))
    found = list(judge_stream(stream, Settings()))
    told = [(each.window, each.verdict.outcome) for each in found if isinstance(each, Ended)]
    assert [each.line for each in found if isinstance(each, Refused)] == [2, 4, 6]
    assert told == [(each.window, each.verdict.outcome) for each in judged(lines)]


@pytest.mark.parametrize("arms", [{"ratio": None, "baseline": None}, {"baseline": None}, {"ratio": None}])
def test_an_absent_arm_is_a_window_without_data(arms: dict[str, None]) -> None:
    (ended,) = judged([line("t", 0), line("t", 1, **arms), line("t", 2)])
    numbers = ended.verdict.numbers
    assert (numbers.windows_used, numbers.windows_seen, numbers.skipped) == (2, 3, {Reason.NO_DATA: 1})


def test_a_trial_without_any_data_counts_its_windows() -> None:
    (ended,) = judged(line("t", window, None, baseline=None) for window in (4, 5, 9))
    numbers = ended.verdict.numbers
    assert (ended.window, ended.verdict.outcome) == (9, Outcome.INCONCLUSIVE)
    assert (numbers.windows_used, numbers.windows_seen, numbers.skipped) == (0, 3, {Reason.NO_DATA: 3})


def history(rng: random.Random, count: int, first: int = 0) -> list[bytes]:
    """Baseline windows whose speed falls with a demand that varies."""
    demands = [rng.gauss(0, 0.3) for _ in range(count)]
    return [
        line("t", index, None, baseline=50 * 2**-demand).replace(b"24060.0", b"%.1f" % (24060 * 2**demand))
        for index, demand in enumerate(demands, first)
    ]


def test_lines_with_only_the_baseline_before_the_trial_are_its_history() -> None:
    before = history(random.Random(3), 90)
    lines = [line("t", 90 + index, 1.1) for index in range(60)]
    (ended,) = judged([*before, *lines])
    known = by_functions(windows(lines), Settings(), windows(before))
    assert (ended.window, ended.verdict) == known
    assert known != by_functions(windows(lines), Settings())


def test_windows_without_data_before_a_trial_leave_its_history_whole() -> None:
    before, gap = history(random.Random(3), 90), line("t", 90, None, baseline=None)
    lines = [line("t", 91 + index, 1.1) for index in range(60)]
    (ended,) = judged([*before, gap, *lines])
    assert (ended.window, ended.verdict) == by_functions(windows([gap, *lines]), Settings(), windows(before))
    assert ended.verdict.numbers.skipped == {Reason.NO_DATA: 1}


def test_a_trial_begins_with_its_first_line_that_has_both_arms() -> None:
    """PD-17: a trial is judged beside a baseline of the same windows, never alone. Before that, lines of the
    baseline are history, wherever they stand, and lines of the trial are windows without data."""
    before = [line("t", index, 0.3, baseline=None) for index in range(3)]
    learned = history(random.Random(3), 90, first=3)
    lines = [line("t", 93 + index, 1.1) for index in range(60)]
    (ended,) = judged([*before, *learned, *lines])
    gaps = [Window(90 + index, 60.0, {}) for index in range(3)]
    known = by_functions([*gaps, *windows(lines)], Settings(), windows(learned))
    assert (ended.window, ended.verdict) == known
    assert ended.verdict.numbers.skipped == {Reason.NO_DATA: 3}
    assert known != by_functions([*gaps, *windows(lines)], Settings())


def test_nothing_is_remembered_between_trials() -> None:
    lines = [line("u", index, 1.1) for index in range(60)]
    (alone,) = judged(lines)
    assert judged([*history(random.Random(3), 90), *lines])[0] == alone


def test_a_trial_beside_a_serving_drafter_must_beat_both() -> None:
    def outcome(serving: float | None) -> Outcome:
        (ended,) = judged(line("t", index, 1.3, serving=serving) for index in range(60))
        return ended.verdict.outcome

    assert [outcome(None), outcome(1.1), outcome(1.6)] == [
        Outcome.PROMOTED,
        Outcome.PROMOTED,
        Outcome.RUNNER_UP,
    ]


def test_a_serving_arm_that_falls_silent_is_a_window_without_data() -> None:
    (ended,) = judged([line("t", 0, serving=1.0), line("t", 1), line("t", 2, serving=1.0)])
    assert ended.verdict.numbers.skipped == {Reason.NO_DATA: 1}


def test_a_young_pod_is_no_evidence() -> None:
    lines = [line("t", index, ready_seconds=60.0 * (index + 1)) for index in range(10)]
    (ended,) = judged(lines)
    assert ended.verdict.numbers.skipped == {Reason.WARMING_UP: 5}


@pytest.mark.parametrize(
    "hostile",
    [
        {"generation_tokens": 1e15, "first_tokens": 0},
        {"generation_tokens": 1e300},
        {"generation_tokens": -5, "itl_seconds": -5},
        {"itl_seconds": 1e-300},
        {"itl_seconds": 1e15},
        {"seconds": 0},
        {"generation_tokens": 1.7e308, "first_tokens": -1.7e308, "itl_seconds": 1.7e308},
        {"requests_waiting": 1e300, "restarts": -1},
        {"finished_requests": 1e12, "finished_tokens": -1e12, "max_tokens": 1e12},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("ratio", "expected"), [(1.2, {Outcome.PROMOTED}), (0.9, {Outcome.SLOWER, Outcome.NOT_WORTH_IT})]
)
@pytest.mark.parametrize("place", [3, HISTORY + 3, HISTORY + 20])
def test_one_line_of_senseless_numbers_turns_no_verdict(
    hostile: dict[str, float], ratio: float, expected: set[Outcome], place: int
) -> None:
    lines = list(noisy(random.Random(7), "t", ratio, 120))
    recorded = json.loads(lines[place])
    newest = recorded["arms"].get("trial") or recorded["arms"]["baseline"]
    newest[0] |= hostile
    lines[place] = json.dumps(recorded).encode() + b"\n"
    (ended,) = judged(lines)
    assert ended.verdict.outcome in expected


def test_more_trials_than_may_be_open_are_refused_and_the_others_judged() -> None:
    trials = Trials(Settings(), most_open=2)
    trials.take(parse(line("a", 0, 0.3)))
    trials.take(parse(line("b", 0)))
    with pytest.raises(BrokenLine, match="'c' would be one more than 2 without a verdict"):
        trials.take(parse(line("c", 0)))
    assert trials.take(parse(line("a", 1, 0.3))) is not None
    assert trials.take(parse(line("c", 1))) is None
    assert [ended.trial for ended in trials.end()] == ["b", "c"]


def test_more_trials_than_may_be_in_all_are_refused() -> None:
    trials = Trials(Settings(), most_trials=1)
    assert [trials.take(parse(line("a", window, 0.3))) is None for window in range(2)] == [True, False]
    with pytest.raises(BrokenLine, match="'b' would be one more than 1"):
        trials.take(parse(line("b", 0)))


def test_a_decided_trial_is_no_longer_kept() -> None:
    trials = Trials(Settings())
    for name in map(str, range(50)):
        trials.take(parse(line(name, 0, 0.3)))
        trials.take(parse(line(name, 1, 0.3)))
        trials.take(parse(line(name, 2, 0.3)))
    assert list(trials.end()) == []


class Made(io.RawIOBase):
    """A stream of lines that are made as they are read; `read_lines` counts them."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.read_lines = 0
        self._lines = iter(lines)

    def readline(self, size: int | None = -1, /) -> bytes:
        self.read_lines += 1
        return next(self._lines, b"")


def test_a_verdict_is_told_while_the_rest_of_the_stream_is_still_to_come() -> None:
    """A hundred trials of a thousand lines each, mixed; each is decided by its second one."""
    lines = [[line(str(trial), window, 0.3) for trial in range(100)] for window in range(2)]
    late = (
        each.replace(b'"window": 1', b'"window": %d' % window)
        for window in range(2, 1000)
        for each in lines[1]
    )
    stream = Made(chain(*lines, late))
    found = judge_stream(stream, Settings())  # type: ignore[arg-type]
    told = [next(found) for _ in range(100)]
    assert stream.read_lines == 200
    assert {each.trial for each in told if isinstance(each, Ended)} == set(map(str, range(100)))
    assert list(found) == []
    assert stream.read_lines == 100_001


def test_memory_does_not_grow_with_the_lines() -> None:
    def growth(windows: int) -> int:
        stream = Made(line("t", window, 1.02) for window in range(windows))
        tracemalloc.start()
        try:
            (ended,) = judge_stream(stream, Settings(deadline_seconds=1e6, pod_sd=0.1))  # type: ignore[arg-type]
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert isinstance(ended, Ended)
        assert ended.verdict.numbers.windows_seen == windows
        return peak

    growth(10)
    assert growth(600) < growth(100) + 20_000
