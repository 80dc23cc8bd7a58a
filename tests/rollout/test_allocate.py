import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.rollout.allocate import Roles, allocate, needed


def roles(
    serving: str,
    trial: str | None = None,
    baseline: int = 1,
    trials: int = 1,
    fallback: str | None = None,
    percent: int = 100,
) -> Roles:
    return Roles(
        serving, "base", trial, baseline_replicas=baseline, trial_replicas=trials,
        fallback=fallback, percent=percent,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("replicas", "who", "expected"),
    [
        (0, roles("base"), {"base": 0}),
        (4, roles("base"), {"base": 4}),
        (0, roles("base", "new"), {"base": 0, "new": 0}),
        (1, roles("base", "new"), {"base": 1, "new": 0}),
        (2, roles("base", "new"), {"base": 1, "new": 1}),
        (9, roles("base", "new", trials=3), {"base": 6, "new": 3}),
        (1, roles("fast"), {"fast": 1, "base": 0}),
        (2, roles("fast"), {"fast": 1, "base": 1}),
        (8, roles("fast", baseline=2), {"fast": 6, "base": 2}),
        (2, roles("fast", "new"), {"fast": 1, "base": 1, "new": 0}),
        (3, roles("fast", "new"), {"fast": 1, "base": 1, "new": 1}),
        (8, roles("fast", "new", baseline=2, trials=2), {"fast": 4, "base": 2, "new": 2}),
        (3, roles("fast", "new", baseline=5, trials=5), {"fast": 1, "base": 2, "new": 0}),
        (1000, roles("fast", "new"), {"fast": 998, "base": 1, "new": 1}),
        # the baseline's pods given back
        (4, roles("fast", baseline=0), {"fast": 4, "base": 0}),
        (1, roles("fast", baseline=0), {"fast": 1, "base": 0}),
        # a promotion shares what serves with what served before
        (8, roles("fast", fallback="base", percent=25), {"fast": 2, "base": 6}),
        (8, roles("fast", fallback="base", percent=50), {"fast": 4, "base": 4}),
        (8, roles("fast", fallback="base", percent=100), {"fast": 7, "base": 1}),
        (8, roles("fast", fallback="old", percent=50), {"fast": 4, "base": 1, "old": 3}),
        (8, roles("fast", fallback="old", percent=1, trials=3), {"fast": 3, "base": 1, "old": 4}),
        (8, roles("fast", fallback="old", percent=50, baseline=4), {"fast": 2, "base": 4, "old": 2}),
        (2, roles("fast", fallback="old", percent=1), {"fast": 1, "base": 1, "old": 0}),
        (1, roles("fast", fallback="old", percent=1), {"fast": 1, "base": 0, "old": 0}),
        (0, roles("fast", fallback="old", percent=50), {"fast": 0, "base": 0, "old": 0}),
    ],
)
def test_serving_comes_first_then_the_baseline_then_the_trial(
    replicas: int, who: Roles, expected: dict[str, int]
) -> None:
    assert allocate(replicas, who) == expected


@pytest.mark.parametrize(
    ("who", "fewest"),
    [
        (roles("base", "new"), 2),
        (roles("base", "new", baseline=3), 2),
        (roles("base", "new", trials=2), 3),
        (roles("fast", "new"), 3),
        (roles("fast", "new", baseline=2, trials=3), 6),
    ],
)
def test_with_the_fewest_replicas_needed_every_arm_has_its_pods_and_with_one_fewer_it_has_not(
    who: Roles, fewest: int
) -> None:
    assert needed(who) == fewest
    assert allocate(fewest, who)["new"] == who.trial_replicas
    assert allocate(fewest - 1, who)["new"] < who.trial_replicas


@given(
    replicas=st.integers(0, 1000),
    serving=st.sampled_from(["base", "fast"]),
    trial=st.sampled_from([None, "new"]),
    baseline=st.integers(1, 100),
    trials=st.integers(1, 100),
    fallback=st.sampled_from([None, "base", "old"]),
    percent=st.integers(1, 100),
)
def test_the_counts_sum_to_replicas_and_something_always_serves(
    replicas: int,
    serving: str,
    trial: str | None,
    baseline: int,
    trials: int,
    fallback: str | None,
    percent: int,
) -> None:
    before = fallback if serving == "fast" else None
    counts = allocate(replicas, roles(serving, trial, baseline, trials, before, percent))
    assert sum(counts.values()) == replicas
    assert min(counts.values()) >= 0
    assert counts[serving] >= min(1, replicas)
