"""The guard's state: what a restart changes, what hostile and damaged numbers do, and what a window costs."""

import base64
import math
import random
import struct
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import settings as checked
from hypothesis import strategies as st

from specdeploy.judge import BASELINE, SERVING, TRIAL, MalformedState, UnknownVersion, Window
from specdeploy.judge.guard import (
    check_outcome,
    guard,
    guard_summary,
    pack_guard,
    start_check,
    start_guard,
    unpack_guard,
    windows_to_see,
)
from specdeploy.judge.learned import Learned
from tests.judge.guarded import FIRST, SETTINGS, after, lonely, promoted, watched
from tests.judge.test_codec import hostile, pods, repacked
from tests.judge.windows import judge, noisy_windows


@checked(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), ratio=st.floats(0.3, 2.0), gaps=st.sets(st.integers(0, 79), max_size=20))
def test_a_restart_after_each_window_changes_no_bit(seed: int, ratio: float, gaps: set[int]) -> None:
    kept = stored = promoted()
    for each in after(ratio, 80, seed=seed):
        window = lonely(each.index, 0.7) if each.index - FIRST in gaps else each
        if each.index == FIRST + 40:
            kept, stored = start_check(kept), start_check(stored)
        kept, alarm = guard(kept, window, SETTINGS)
        stored, again = guard(unpack_guard(pack_guard(stored)), window, SETTINGS)
        assert pack_guard(kept) == pack_guard(stored)
        assert alarm == again


arms = st.fixed_dictionaries({}, optional={name: pods(hostile) for name in (BASELINE, TRIAL, SERVING)})
streams = st.lists(
    st.builds(Window, index=st.integers(-2, 20), seconds=hostile | st.just(60.0), arms=arms), max_size=12
)


@checked(max_examples=150, deadline=None)
@given(windows=streams)
def test_hostile_numbers_never_raise_and_always_survive_a_restart(windows: list[Window]) -> None:
    state = START
    for each in windows:
        state, _ = guard(state, each, SETTINGS)
        assert pack_guard(unpack_guard(pack_guard(state))) == pack_guard(state)
        guard_summary(state)
        check_outcome(state, 1)


START = promoted()
GOOD = pack_guard(watched(START, after(1.3, 30))[0])


def test_a_state_has_one_size_and_leaves_room_in_status() -> None:
    assert len(pack_guard(START)) == len(GOOD) <= 2048


@pytest.mark.parametrize(
    "text",
    ["", "!", GOOD[:-4], repacked(GOOD, {}, more=1), repacked(GOOD, {1: 0.0}), repacked(GOOD, {4: 1.5})],
)
def test_a_text_that_is_no_state_is_malformed(text: str) -> None:
    with pytest.raises(MalformedState):
        unpack_guard(text)


def test_a_state_of_another_version_is_told_from_a_broken_one() -> None:
    with pytest.raises(UnknownVersion):
        unpack_guard(repacked(GOOD, {0: 99.0}))


NUMBERS = len(struct.unpack(f"<{len(base64.b64decode(GOOD)) // 8}d", base64.b64decode(GOOD)))


@checked(max_examples=300, deadline=None)
@given(
    changes=st.dictionaries(
        st.integers(1, NUMBERS - 1), hostile.filter(lambda x: abs(x) < 1e300 or x != x), max_size=8
    )
)
def test_a_damaged_state_is_refused_or_can_be_guarded_on(changes: dict[int, float]) -> None:
    try:
        state = unpack_guard(repacked(GOOD, changes))
    except MalformedState:
        return
    for index in range(10):
        each = next(iter(after(1.3, 1, seed=index, first=state.last_index + 1)))
        state, _ = guard(state, each, SETTINGS)
        state, _ = guard(state, lonely(state.last_index + 1, 0.5), SETTINGS)
    windows_to_see(state)
    guard_summary(state)
    check_outcome(start_check(state), 1)


def test_what_a_trial_proved_beyond_the_batch_of_its_history_survives_a_restart() -> None:
    learned = Learned(windows=600, weighed=1, weight=0.6, weight_se=0.02, batch_low=1.0, batch_high=3.0)
    trial, _, _ = judge(noisy_windows(random.Random(1), 1.3, 40), SETTINGS, learned)
    state = start_guard(trial, SETTINGS)
    assert state.inverse_pods == pytest.approx(2 / 0.4**2)
    for each in after(1.3, 5):
        state, _ = guard(unpack_guard(pack_guard(state)), each, SETTINGS)
    assert state.compared == 5


def test_guards_that_no_window_can_make_are_malformed() -> None:
    with pytest.raises(MalformedState):
        unpack_guard(pack_guard(START._replace(guards=START.guards._replace(queue_told=-1))))


def best_of(call: Callable[[], object], runs: int = 7) -> float:
    """CPU seconds of the quickest run."""
    best = math.inf
    for _ in range(runs):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return best


@pytest.mark.slow
def test_a_window_takes_no_longer_than_fifteen_hundred_exponentials() -> None:
    """That is about a hundred microseconds; by a measure of the same machine, which may be a slow one."""
    windows, numbers = list(after(1.3, 500)), [number / 1500 for number in range(1500)]

    def guarded() -> None:
        state = START
        for each in windows:
            state, _ = guard(state, each, SETTINGS)

    def exponentials() -> None:
        for _ in windows:
            [math.exp(number) for number in numbers]

    assert best_of(guarded) < best_of(exponentials)
