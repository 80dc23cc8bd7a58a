import math
import random

import pytest

from specdeploy.judge.student import sequential_radius, single_look_radius


@pytest.mark.parametrize(
    ("effective", "radius"),
    [(8, 7.22), (10, 4.83), (15, 3.75), (20, 3.46), (30, 3.27), (60, 3.16), (120, 3.17)],
)
def test_the_sequential_radius_has_its_known_values(effective: float, radius: float) -> None:
    assert sequential_radius(effective, 0.05) == pytest.approx(radius, abs=0.005)


@pytest.mark.parametrize("effective", [0.0, 0.5, 1.0, 6.0])
def test_too_little_data_has_an_infinite_radius(effective: float) -> None:
    assert sequential_radius(effective, 0.05) == math.inf


@pytest.mark.parametrize(
    ("freedom", "alpha", "quantile"),
    # from a table of Student's t
    [
        (3, 0.05, 3.182),
        (5, 0.05, 2.571),
        (8, 0.05, 2.306),
        (8, 0.10, 1.860),
        (8, 0.01, 3.355),
        (20, 0.05, 2.086),
        (120, 0.05, 1.980),
    ],
)
def test_the_single_look_radius_is_the_quantile_of_student(
    freedom: float, alpha: float, quantile: float
) -> None:
    assert single_look_radius(freedom, alpha) == pytest.approx(quantile, rel=0.004)


def test_below_three_degrees_of_freedom_a_single_look_says_nothing() -> None:
    assert single_look_radius(2.9, 0.05) == math.inf


@pytest.mark.slow
def test_independent_gaussian_windows_leave_the_sequence_at_most_as_often_as_promised() -> None:
    rng = random.Random(11)
    runs, left = 2000, 0
    radii = {n: sequential_radius(n, 0.10) for n in range(2, 101)}
    for _ in range(runs):
        total = squares = 0.0
        for n in range(1, 101):
            value = rng.gauss(0, 1)
            total, squares = total + value, squares + value * value
            if n >= 10:
                sd = math.sqrt((squares - total * total / n) / (n - 1))
                if abs(total / n) > radii[n] * sd / math.sqrt(n):
                    left += 1
                    break
    assert 0 < left / runs <= 0.10
