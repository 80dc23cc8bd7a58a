"""A promotion's steps in numbers of pods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.rollout.steps import beyond_half, following, stepped

DEFAULT = [1, 25, 50, 100]


def path(served: int, least: int, steps: list[int]) -> list[int]:
    """The numbers of pods that a promotion goes through, its trial's own first."""
    percent: int | None = 1
    pods = []
    while percent is not None:
        pods.append(stepped(served, percent, least))
        percent = following(steps, percent, served, least)
    return pods


@pytest.mark.parametrize(
    ("served", "least", "steps", "pods"),
    [
        (0, 1, DEFAULT, [0]),
        (1, 1, DEFAULT, [1]),
        (2, 1, DEFAULT, [1, 2]),
        (3, 1, DEFAULT, [1, 2, 3]),
        (7, 1, DEFAULT, [1, 2, 4, 7]),
        (99, 1, DEFAULT, [1, 25, 50, 99]),
        (999, 1, DEFAULT, [10, 250, 500, 999]),
        (7, 3, DEFAULT, [3, 4, 7]),
        (7, 7, DEFAULT, [7]),
        (2, 5, DEFAULT, [2]),
        (7, 1, [100], [1, 7]),
        (7, 1, [10, 11, 12, 100], [1, 7]),
        (7, 1, [50, 50, 100], [1, 4, 7]),
        (7, 1, [50], [1, 4, 7]),
    ],
)
def test_steps_of_as_many_pods_are_one_and_the_last_has_all(
    served: int, least: int, steps: list[int], pods: list[int]
) -> None:
    assert path(served, least, steps) == pods


@pytest.mark.parametrize(
    ("served", "percent", "beyond"),
    [
        (1, 100, False),
        (2, 50, False),
        (2, 100, True),
        (3, 50, False),
        (3, 100, True),
        (8, 50, False),
        (8, 51, True),
    ],
)
def test_half_of_an_odd_number_of_pods_is_rounded_up(served: int, percent: int, beyond: bool) -> None:
    assert beyond_half(served, percent, 1) is beyond


@given(
    served=st.integers(1, 1000), least=st.integers(1, 100), steps=st.lists(st.integers(1, 100), min_size=1)
)
def test_every_promotion_rises_from_the_trials_own_pods_to_all_in_few_steps(
    served: int, least: int, steps: list[int]
) -> None:
    pods = path(served, least, sorted(steps))
    assert pods[0] >= min(served, least)
    assert pods[-1] == served
    assert pods == sorted(set(pods))
    assert len(pods) <= len(set(steps)) + 2
