"""The streams, the cells and the table of the decision benchmark."""

import io
import math
import random
from collections.abc import Iterable
from statistics import fmean

import pytest

from benchmarks import replay
from benchmarks.decisions import streams, table
from benchmarks.decisions.__main__ import DEFAULTS, JUDGE, JUDGES, REPLAY, RULES, measure, show
from benchmarks.decisions.cells import DROPPING, PROMOTING, SHAPES, STATIONARY, End, run, stationary
from benchmarks.decisions.judges import SHIPPED, ThisJudge, as_line, record, replayed
from benchmarks.decisions.legend import LEGEND
from benchmarks.decisions.rules import Argo, Decision, at_least, speed_ratio
from specdeploy.judge import BASELINE, TRIAL, PodWindow, Window
from specdeploy.replay import parse

HISTORY = streams.HISTORY


def windows(fault: streams.Fault = streams.nothing, ratio: float = 1.0, count: int = 100) -> list[Window]:
    return list(streams.stream(random.Random(5), ratio, fault, count))


def pods(given: Iterable[Window], arm: str) -> list[PodWindow]:
    return [window.arms[arm][0] for window in given if arm in window.arms]


def test_the_baseline_runs_alone_before_the_trial_and_both_get_the_same_requests() -> None:
    given = windows()
    assert [TRIAL in window.arms for window in given] == [False] * HISTORY + [True] * 100
    trial, baseline = pods(given, TRIAL), pods(given, BASELINE)[HISTORY:]
    assert [each.first_tokens for each in trial] == [each.first_tokens for each in baseline]


@pytest.mark.parametrize("ratio", [0.44, 1.0, 1.2])
def test_the_ratio_of_a_stream_is_the_one_at_equal_batch(ratio: float) -> None:
    """ln speed at equal batch = ln speed - elasticity * ln batch."""

    def curve(pod: PodWindow) -> float:
        assert pod.speed is not None
        assert pod.batch is not None
        return math.log(pod.speed) - streams.ELASTICITY * math.log(pod.batch)

    given = windows(ratio=ratio, count=2000)
    gain = fmean(map(curve, pods(given, TRIAL))) - fmean(map(curve, pods(given, BASELINE)))
    assert math.exp(gain) == pytest.approx(ratio, rel=0.02)


def test_in_quiet_hours_nobody_asks_for_anything() -> None:
    quiet = windows(streams.no_traffic)[HISTORY + 5 : HISTORY + 65]
    assert {pod.generation_tokens for arm in (BASELINE, TRIAL) for pod in pods(quiet, arm)} == {0}


def test_in_an_outage_nobody_answers_for_ten_windows() -> None:
    assert [window.index for window in windows(streams.outage) if not window.arms] == list(
        range(HISTORY + 5, HISTORY + 15)
    )


@pytest.mark.parametrize("arm", [BASELINE, TRIAL])
def test_a_pod_that_restarts_loads_and_is_slow_while_it_is_young(arm: str) -> None:
    calm, given = windows()[HISTORY:], windows(streams.restart(arm))[HISTORY:]
    assert given[5].arms[arm][0].restarts == 1
    assert [arm in window.arms for window in given[5:9]] == [True, False, False, True]
    young, old = given[8].arms[arm][0], calm[8].arms[arm][0]
    assert young.ready_seconds == 60
    assert young.itl_seconds == pytest.approx(old.itl_seconds / streams.YOUNG_SPEED)
    assert given[30].arms[arm][0].itl_seconds == calm[30].arms[arm][0].itl_seconds


def test_a_third_of_the_load_makes_a_slower_engine_look_faster() -> None:
    ratios = [speed_ratio(window) for window in windows(streams.unequal_load, 0.9)[HISTORY:]]
    assert fmean(ratio for ratio in ratios if ratio is not None) > 1.3


def test_with_fewer_slots_requests_are_fast_and_the_queue_grows() -> None:
    given = windows(streams.growing_queue)[HISTORY:]
    waiting = [pod.requests_waiting or 0 for pod in pods(given, TRIAL)]
    assert waiting == sorted(waiting)
    assert waiting[-1] > 1000
    assert {pod.requests_waiting for pod in pods(given, BASELINE)} == {0.0}


def test_a_recorded_window_reads_back_as_it_was() -> None:
    for window in windows(streams.restart(TRIAL)):
        assert parse(as_line("t", window)).window(window.seconds) == window


def test_replay_ends_a_recorded_trial_where_the_functions_do() -> None:
    cell = stationary(1.2)
    file = io.BytesIO()
    record(file, [("t", cell.windows(0))])
    file.seek(0)
    (ended,) = replayed(file, SHIPPED)
    (end,) = run(cell, 1, {"judge": lambda history: ThisJudge(SHIPPED, history)})["judge"]
    assert end == End(Decision.PROMOTED, ended.window - HISTORY + 1, wrong=False)


def test_every_rule_sees_the_same_streams() -> None:
    rules = {name: lambda _: Argo(at_least(0.95), count=10) for name in ("one", "other")}
    ends = run(stationary(1.0), 20, rules)
    assert ends["one"] == ends["other"]
    assert len({end.window for end in ends["one"]}) > 1


def ends(*decisions: Decision) -> list[End]:
    return [
        End(decision, 10 * (place + 1), wrong=decision in DROPPING)
        for place, decision in enumerate(decisions)
    ]


def test_a_column_counts_what_it_asks_for() -> None:
    given = ends(Decision.PROMOTED, Decision.ROLLED_BACK, Decision.NOT_WORTH_IT, Decision.UNDECIDED)
    found = table.Column("rollback 0.90", "0.90", DROPPING, found=True)
    wrong = table.Column("outage", "outage", None, found=False)
    assert found.figure(given) == (50.0, 25.0)
    assert found.text(found.figure(given)) == "50.0 % (25)"
    assert wrong.figure(given) == (50.0, None)
    assert found.figure(ends(Decision.UNDECIDED)) == (0.0, None)


@pytest.mark.parametrize(
    ("one", "other", "ahead"),
    [
        ((100.0, 5.0), (100.0, 30.0), True),
        ((99.5, 5.0), (100.0, 30.0), True),
        ((80.0, 5.0), (100.0, 30.0), False),
        ((100.0, 30.0), (80.0, 5.0), True),
        ((0.0, None), (0.0, None), False),
    ],
)
def test_to_be_earlier_counts_only_where_as_much_is_found(
    one: tuple[float, float | None], other: tuple[float, float | None], ahead: bool
) -> None:
    column = table.Column("rollback 0.90", "0.90", PROMOTING, found=True)
    assert column.ahead(table.Figure(*one), table.Figure(*other)) is ahead


@pytest.mark.slow
def test_the_table_names_every_rule_and_where_the_judge_is_not_ahead() -> None:
    results = measure(4)
    assert list(results) == [cell.name for cell in (*STATIONARY, *SHAPES)]
    text = show(results)
    for rule in (*RULES, REPLAY):
        assert f"\n{rule} " in text
    assert "rollback 0.90: 100.0 % (30) against" in text
    for judge in JUDGES:
        assert f'\n"{judge}" is behind here:\n  - ' in text
    assert results["0.44"][REPLAY] == results["0.44"][JUDGE]


def test_the_standing_is_told_of_the_judge_as_shipped_too() -> None:
    same = {name: ends(Decision.PROMOTED) for name in (*RULES, REPLAY)}
    results = {cell.name: same for cell in (*STATIONARY, *SHAPES)}
    results["1.00"] = same | {JUDGE: ends(Decision.NOT_WORTH_IT, Decision.PROMOTED)}
    results["1.05"] = same | {DEFAULTS: ends(Decision.UNDECIDED)}
    text = show(results)
    assert f'"{DEFAULTS}" is behind here:\n  - promotion 1.05: 0.0 % against Argo' in text
    assert f'"{JUDGE}" is behind nowhere.\n' in text
    assert f"rule can say: 0.0 % ({DEFAULTS}), 50.0 % ({JUDGE})" in " ".join(text.split())


def test_every_column_and_every_rule_is_explained() -> None:
    for column in (*table.COLUMNS, *table.SHAPE_COLUMNS):
        known = {column.title, f"{column.title.partition(' ')[0]} r"}
        assert any(f"\n  {title}  " in LEGEND for title in known), column.title
    for rule in (*RULES, REPLAY.replace("the same", "this judge")):
        assert any(f"\n  {word}  " in LEGEND for word in (rule.partition(":")[0], rule[:8], rule[:10])), rule


def test_the_files_of_the_throughput_benchmark_hold_the_windows_asked_for() -> None:
    for case in replay.CASES:
        found = [parse(line.encode()) for line in replay.lines(case, 3)]
        assert sorted((line.trial, line.number) for line in found) == [
            (f"trial-{trial:05}", window) for trial in range(3) for window in range(replay.WINDOWS)
        ]
        assert all(len(line.window(60.0).arms) == 2 for line in found)
