import math
import random
from itertools import pairwise

import pytest

from specdeploy.judge import Settings, TrialState, start
from specdeploy.judge.comparison import Comparison, Evidence
from specdeploy.judge.interval import Estimate, pod_term
from specdeploy.judge.interval import estimate as estimate_with
from specdeploy.judge.noise import Sums

CALM = start(Settings(pod_sd=0.0))
FROZEN = CALM.frozen


def estimate(comparison: Comparison, state: TrialState = CALM) -> Estimate | None:
    return estimate_with(comparison, state.frozen, state.corrections)


def compared(
    values: list[float], *, load: float = 0.0, inverse_pods: float = 2.0, indices: list[int] | None = None
) -> Comparison:
    comparison = Comparison()
    for index, value in zip(indices or range(len(values)), values, strict=True):
        evidence = Evidence(value, value, load, load - value, inverse_pods)
        comparison = comparison.add(index, evidence, 8.0)
    return comparison


def plain_bounds(values: list[float], alpha: float) -> tuple[float, float]:
    """The interval computed from the whole list, written apart from the running sums."""
    n = len(values)
    mean = sum(values) / n
    rest = [value - mean for value in values]
    squares = sum(value * value for value in rest)
    r = sum(a * b for a, b in pairwise(rest)) / squares
    r = min(0.95, max(-0.5, r + (1 + 3 * r) / n))
    phi = min(0.95, max(0.0, (n * r + 20 * 0.3) / (n + 20)))
    phi = min(0.95, phi + 0.5 * math.sqrt((1 - phi * phi) / (n + 20)))
    effective = n * (1 - phi) / (1 + phi)
    rho = 4 / (4 + effective)
    q = (rho * alpha**2) ** (1 / effective)
    if q <= rho:
        return -math.inf, math.inf
    radius = math.sqrt((effective - 1) * (1 - q) / (q - rho)) * math.sqrt(squares / (n - 1) / effective)
    return mean - radius, mean + radius


@pytest.mark.parametrize("n", [10, 15, 23, 60, 200])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_running_sums_give_the_interval_of_the_whole_list(n: int, alpha: float) -> None:
    rng = random.Random(n)
    values = [0.1]
    for _ in range(n - 1):
        values.append(0.1 + 0.4 * (values[-1] - 0.1) + rng.uniform(-0.05, 0.05))
    known = estimate(compared(values))
    assert known is not None
    assert (known.lower(alpha), known.upper(alpha)) == pytest.approx(plain_bounds(values, alpha))


def test_nothing_is_estimated_before_the_tenth_window() -> None:
    assert estimate(compared([0.1, 0.2] * 4 + [0.1])) is None
    assert estimate(compared([0.1, 0.2] * 5)) is not None


def test_a_gap_breaks_no_autocorrelation() -> None:
    values = [0.0, 1.0, 0.0, 1.0]
    whole = compared(values, indices=[0, 1, 5, 6]).whole
    assert whole == Sums(n=4, total=2.0, squares=2.0, pairs=2, lead=2.0, lag=0.0, cross=0.0)


def test_windows_without_a_neighbour_rest_on_the_prior_correlation() -> None:
    alternating = [0.0, 0.1] * 20
    near = compared(alternating).whole.effective(0.3)
    apart = compared(alternating, indices=list(range(0, 80, 2))).whole.effective(0.3)
    assert apart < near


def test_the_first_windows_are_bounded_by_a_factor_of_eight() -> None:
    assert compared([5.0, -5.0, math.log(2.87)]).whole.total == pytest.approx(math.log(2.87))
    assert compared([5.0]).whole.total == pytest.approx(math.log(8))


def test_from_the_tenth_window_on_an_outlier_is_bounded_by_four_sd_of_the_earlier_ones() -> None:
    steady = [0.10, 0.12] * 5
    earlier = compared(steady[:9]).whole
    later = compared([*steady[:9], -1.0])
    assert later.last_value == pytest.approx(earlier.mean - 4 * earlier.sd)
    assert compared([*steady[:8], -1.0]).last_value == -1.0


def test_the_sd_is_at_least_half_a_percent() -> None:
    assert compared([0.1] * 12).whole.sd == 0.005


def test_the_recent_half_begins_at_15_30_60_and_120() -> None:
    sizes = {}
    comparison = Comparison()
    for index in range(250):
        comparison = comparison.add(index, Evidence(0.0, 0.0, 0.0, 0.0, 2.0), 8.0)
        sizes[index + 1] = comparison.recent.n
    assert [sizes[n] for n in (14, 15, 29, 30, 31, 59, 60, 119, 120, 239, 240)] == [
        *(14, 15, 29, 15, 16, 44, 30, 89, 60, 179, 120)
    ]


@pytest.mark.parametrize(
    ("load", "low", "high"),
    [(0.0, 0.0, 0.0), (-0.1, 0.2, 0.0), (0.1, 0.0, 0.2), (math.inf, 0.0, 2 * math.log(8))],
)
def test_unequal_load_takes_twice_its_log_from_the_side_it_flatters(
    load: float, low: float, high: float
) -> None:
    known = estimate(compared([0.1, 0.2] * 10, load=load))
    assert known is not None
    assert (known.low_penalty, known.high_penalty) == pytest.approx((low, high))


@pytest.mark.parametrize(("inverse_pods", "term"), [(2.0, 0.0326), (0.5, 0.0163)])
def test_pods_of_a_kind_differ_by_what_more_windows_do_not_average_away(
    inverse_pods: float, term: float
) -> None:
    state = start(Settings())
    for windows in (20, 200):
        comparison = compared([0.1, 0.2] * windows, inverse_pods=inverse_pods)
        assert pod_term(comparison, state.frozen, state.corrections) == pytest.approx(term, abs=1e-4)
