"""The guards' state: what a restart changes, and what hostile numbers do."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.judge.codec import pack_tuple, unpack_tuple
from specdeploy.judge.guards import Guards, veto, warnings, watch
from specdeploy.judge.window import PodWindow
from tests.judge.guards_streams import LIMITS, Engine, engine_windows, watched
from tests.judge.test_guards_watch import NORMAL, window


@pytest.mark.parametrize("seed", range(5))
def test_a_restart_after_each_window_changes_no_bit(seed: int) -> None:
    kept = restored = Guards()
    stream = engine_windows(Random(seed), Engine(client_errors=0.03))
    for _ in range(70):
        trial, baseline = next(stream)
        kept = watch(kept, (trial,), (baseline,), LIMITS)
        restored = watch(restored, (trial,), (baseline,), LIMITS)
        restored = unpack_tuple(1, Guards(), pack_tuple(1, restored))
        assert restored == kept
        assert veto(restored, LIMITS) == veto(kept, LIMITS)
    assert pack_tuple(1, restored) == pack_tuple(1, kept)
    assert len(pack_tuple(1, kept)) == len(pack_tuple(1, Guards())) < 1000


HOSTILE = st.sampled_from(
    [float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 5e-324, 1.0, 60.0, 1e12, 1e15, 1e308, 10**400]
)
MAYBE = st.none() | HOSTILE
HOSTILE_PODS = st.lists(
    st.builds(
        PodWindow,
        pod=st.just("p"),
        seconds=HOSTILE,
        generation_tokens=st.just(1.0),
        first_tokens=HOSTILE,
        itl_seconds=st.just(1.0),
        restarts=st.sampled_from([None, 0.0, float("nan")]),
        ready_seconds=MAYBE,
        **dict.fromkeys(NORMAL, MAYBE),
    ),
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(windows=st.lists(st.tuples(HOSTILE_PODS, HOSTILE_PODS), max_size=8))
def test_hostile_numbers_never_raise_and_survive_a_restart(
    windows: list[tuple[list[PodWindow], list[PodWindow]]],
) -> None:
    guards = Guards()
    for trial, baseline in windows:
        guards = watch(guards, trial, baseline, LIMITS)
        veto(guards, LIMITS)
        warnings(guards, LIMITS)
    assert guards.sound
    assert unpack_tuple(1, Guards(), pack_tuple(1, guards)) == guards


@pytest.mark.parametrize(
    "broken",
    [
        lambda g: g._replace(queue_told=-1),
        lambda g: g._replace(kv_blocks=g.kv_blocks._replace(baseline=0.0)),
        lambda g: g._replace(client_errors=g.client_errors._replace(windows=-1)),
        lambda g: g._replace(prefix_hits=g.prefix_hits._replace(trial_of=0.0)),
        lambda g: g._replace(
            output_length=g.output_length._replace(sums=g.output_length.sums._replace(pairs=9))
        ),
    ],
)
def test_numbers_that_no_window_can_make_are_not_sound(broken: Callable[[Guards], Guards]) -> None:
    guards, _, _ = watched([window()] * 3)
    assert guards.sound
    assert not broken(guards).sound
