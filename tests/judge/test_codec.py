import base64
import struct
from random import Random

import pytest
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Learned,
    MalformedState,
    PodWindow,
    Settings,
    TrialState,
    UnknownVersion,
    Verdict,
    Window,
    observe,
    pack,
    start,
    unpack,
)
from specdeploy.judge.guards import Guards
from specdeploy.judge.guards.paired import Paired
from specdeploy.judge.noise import Sums
from specdeploy.judge.settings import LARGEST_CONFIDENCE
from tests.judge.engines import Engine, Pod, play
from tests.judge.windows import judge, noisy_windows, pod, window

COMPARING = Settings(compare_serving=True)
KNOWN = Learned(
    windows=600, weighed=1, weight=0.35, weight_se=0.03, sd=0.04, phi=0.4, residence=90.0, finished=40.0,
    pod_sd=0.02, pod_freedom=12, batch_low=3.0, batch_high=12.0, shares=(0.1, 0.5, 0.4, 0.0),
)  # fmt: skip
WILD = KNOWN._replace(
    weight=0.9, weight_se=30.0, sd=3.0, phi=0.95, residence=1e9, pod_sd=1.2, batch_high=1e12
)
"""What the noisiest of histories can teach."""

ordinary = st.floats(0.0, 1e6)
hostile = st.one_of(
    ordinary,
    st.sampled_from([float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 5e-324, 1e15, 1e308, 10**400]),
)


def pods(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[tuple[PodWindow, ...]]:
    maybe = st.none() | numbers
    one = st.builds(
        PodWindow,
        pod=st.sampled_from(["p", "q", "r"]),
        seconds=numbers | st.just(60.0),
        generation_tokens=numbers,
        first_tokens=numbers,
        itl_seconds=numbers,
        requests_waiting=maybe,
        requests_running=maybe,
        finished_since_ready=maybe,
        ready_seconds=maybe,
        restarts=st.none() | st.just(0.0) | numbers,
        prompt_tokens=maybe,
        finished_requests=maybe,
        finished_tokens=maybe,
        max_tokens=maybe,
        ttft_seconds=maybe,
        aborted_requests=maybe,
        http_requests=maybe,
        client_errors=maybe,
        kv_tokens=maybe,
    )
    return st.lists(one, max_size=3).map(tuple)


def streams(
    numbers: st.SearchStrategy[float], indices: st.SearchStrategy[int]
) -> st.SearchStrategy[list[Window]]:
    arms = st.fixed_dictionaries({}, optional={name: pods(numbers) for name in (BASELINE, TRIAL, SERVING)})
    return st.lists(st.builds(Window, index=indices, seconds=numbers | st.just(60.0), arms=arms), max_size=12)


def steps(
    windows: list[Window], settings: Settings, *, restarted: bool, learned: Learned = KNOWN
) -> tuple[TrialState, list[Verdict | None]]:
    state, verdicts = start(settings, learned), []
    for each in windows:
        state, verdict = observe(state, each, settings)
        verdicts.append(verdict)
        if restarted:
            state = unpack(pack(state))
    return state, verdicts


def same(
    left: tuple[TrialState, list[Verdict | None]], right: tuple[TrialState, list[Verdict | None]]
) -> bool:
    return pack(left[0]) == pack(right[0]) and left == right


@pytest.mark.parametrize("learned", [Learned(), KNOWN], ids=["nothing-learned", "learned"])
def test_a_restart_after_each_window_changes_no_bit_on_a_real_engine(learned: Learned) -> None:
    """Two pods an arm that tell all they can, and a load that comes and goes."""
    engine = Engine()
    arms = {
        name: [
            Pod(engine, Random(number), name=f"{name}-{number}", offset=0.02 * number) for number in range(2)
        ]
        for name in (BASELINE, TRIAL, SERVING)
    }
    windows = list(play(arms, lambda index: 2.0 + index % 3, 40))
    once = steps(windows, COMPARING, restarted=False, learned=learned)
    again = steps(windows, COMPARING, restarted=True, learned=learned)
    assert same(once, again)
    assert once[0].watch.trial_pods.n > 30
    assert once[0].watch.baseline.mix.n > 30
    assert once[0].watch.surplus.trial.generated > 0


@checked(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), ratio=st.floats(0.3, 3.0), gaps=st.sets(st.integers(0, 69)))
def test_a_restart_after_each_window_changes_no_bit(seed: int, ratio: float, gaps: set[int]) -> None:
    windows = [each for each in noisy_windows(Random(seed), ratio, 70) if each.index not in gaps]
    assert same(steps(windows, Settings(), restarted=False), steps(windows, Settings(), restarted=True))


@checked(max_examples=150, deadline=None)
@given(windows=streams(hostile, st.integers(-2, 20) | st.sampled_from([2**53, 10**400])))
def test_hostile_numbers_never_raise_and_always_survive_a_restart(windows: list[Window]) -> None:
    left, right = steps(windows, COMPARING, restarted=False), steps(windows, COMPARING, restarted=True)
    assert same(left, right)
    assert left[0].seen == len(windows)
    assert left[0].used + sum(left[0].skipped) == len(windows)


def test_a_state_has_one_size_and_leaves_room_in_status() -> None:
    sizes = {len(pack(judge(window(i) for i in range(count))[0])) for count in (0, 1, 60)}
    assert len(sizes) == 1
    assert sizes.pop() < 3072


@pytest.mark.parametrize("learned", [Learned(), KNOWN, WILD], ids=["nothing-learned", "learned", "wild"])
@pytest.mark.parametrize("attempt", [1, 600, 10**6])
@pytest.mark.parametrize("confidence", [0.5, 0.95, LARGEST_CONFIDENCE])
@pytest.mark.parametrize("pod_sd", [0.0, 1.0])
def test_whatever_the_settings_a_trial_survives_a_restart(
    confidence: float, attempt: int, pod_sd: float, learned: Learned
) -> None:
    settings = Settings(confidence=confidence, attempt=attempt, pod_sd=pod_sd)
    windows = [told(index) for index in range(12)]
    once = steps(windows, settings, restarted=False, learned=learned)
    assert same(once, steps(windows, settings, restarted=True, learned=learned))


@pytest.mark.parametrize("count", [1e12, 1e15])
def test_ten_thousand_pods_with_enormous_counters_survive_a_restart(count: float) -> None:
    huge = pod(tokens=count, prompt_tokens=count, finished_tokens=count, finished_requests=count)
    arm = tuple(huge._replace(pod=f"p{number}") for number in range(10_000))
    windows = [Window(0, 60.0, {BASELINE: arm, TRIAL: arm}), told(1)]
    assert same(steps(windows, Settings(), restarted=False), steps(windows, Settings(), restarted=True))


def test_guards_that_no_window_can_have_made_are_refused() -> None:
    """They would divide by a total of 0 in the next window."""
    broken = Guards(time_to_first_token=Paired(sums=Sums(20, 20.0, 20.0, 19, 19.0, 19.0, 19.0), recent=1.0))
    state = start(Settings())
    with pytest.raises(MalformedState):
        unpack(pack(state._replace(watch=state.watch._replace(guards=broken))))


def told(index: int) -> Window:
    """A window in which all arms tell all there is."""

    def full(name: str, speed: float) -> PodWindow:
        return pod(
            speed, name=name, requests_waiting=2, prompt_tokens=30000, ttft_seconds=9, finished_requests=60,
            finished_tokens=24000, max_tokens=30000, aborted_requests=1, http_requests=60, client_errors=1,
            server_errors=1, preemptions=1, prefix_queries=30000, prefix_hits=9000, kv_tokens=1e5,
            max_model_len=8192,
        )  # fmt: skip

    arms = {name: (full("a", 50), full("b", 52)) for name in (BASELINE, TRIAL, SERVING)}
    return Window(index, 60.0, arms)


def repacked(text: str, changes: dict[int, float], *, cut: int = 0, more: int = 0) -> str:
    raw = base64.b64decode(text)
    numbers = list(struct.unpack(f"<{len(raw) // 8}d", raw))
    for position, number in changes.items():
        numbers[position] = number
    numbers = numbers[: len(numbers) - cut] + [0.0] * more
    return base64.b64encode(struct.pack(f"<{len(numbers)}d", *numbers)).decode()


GOOD = pack(judge(told(i) for i in range(20))[0])
NUMBERS = len(base64.b64decode(GOOD)) // 8


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!",
        "not base64",
        "ÿÿÿÿ",
        "AAAA",
        GOOD[:-4],
        repacked(GOOD, {}, cut=1),
        repacked(GOOD, {}, more=1),
        repacked(GOOD, {1: float("nan")}),
        repacked(GOOD, {1: float("inf")}),
        repacked(GOOD, {1: 0.0}),
        repacked(GOOD, {2: 1.5}),
        repacked(GOOD, {8: 0.5}),
        repacked(GOOD, {-6: -1.0}),
        repacked(GOOD, dict.fromkeys(range(9, 60), -7.0)),
    ],
)
def test_a_text_that_is_no_state_is_malformed(text: str) -> None:
    with pytest.raises(MalformedState):
        unpack(text)


@pytest.mark.parametrize("version", [0.0, 1.0, -1.0, 1e300, float("nan")])
def test_a_state_of_another_version_is_told_from_a_broken_one(version: float) -> None:
    with pytest.raises(UnknownVersion):
        unpack(repacked(GOOD, {0: version}))


@checked(max_examples=300, deadline=None)
@given(
    changes=st.dictionaries(
        st.integers(1, NUMBERS - 1), hostile.filter(lambda x: abs(x) < 1e300 or x != x), max_size=12
    )
)
def test_a_damaged_state_is_refused_or_can_be_judged_on(changes: dict[int, float]) -> None:
    try:
        state = unpack(repacked(GOOD, changes))
    except MalformedState:
        return
    for index in range(20, 30):
        state, _ = observe(state, told(state.last_index + 1 if index % 2 else index), COMPARING)
