"""What widens an interval beside noise: the weight's uncertainty, pods, unequal load, tokens nobody got."""

import math
import re

import pytest

from specdeploy.judge import Learned, Settings, TrialState, start
from specdeploy.judge.arm import measure_arm
from specdeploy.judge.bands import name_of, uncovered
from specdeploy.judge.comparison import Comparison, Evidence
from specdeploy.judge.evidence import compare, compare_at
from specdeploy.judge.interval import Corrections, estimate, fixed_part, losing_band, penalties, pod_term
from tests.judge.windows import pod

WEIGHED = Learned(windows=600, weighed=1, weight=0.4, weight_se=0.05, batch_low=4.0, batch_high=20.0)
PLAIN = Corrections(0.0, 0.0, 8)


def filled(evidence: Evidence, count: int = 40, batch: float = 8.0, wobble: float = 0.02) -> Comparison:
    comparison = Comparison()
    for index in range(count):
        y = evidence.y + (wobble if index % 2 else -wobble)
        comparison = comparison.add(index, evidence._replace(y=y), batch)
    return comparison


def calm(learned: Learned = WEIGHED) -> TrialState:
    return start(Settings(pod_sd=0.0), learned)


def test_speed_is_moved_to_equal_load_by_the_weight() -> None:
    """A trial with 0.9 of the arrivals: ln R is flattered, tokens per pod-second suffer."""
    trial, other = measure_arm([pod(55, tokens=21600)]), measure_arm([pod(50)])
    evidence = compare(trial, other, 0.4)
    assert evidence.y == pytest.approx(0.6 * math.log(1.1) + 0.4 * math.log(0.9))
    assert (evidence.raw, evidence.load) == (pytest.approx(math.log(1.1)), 0.0)
    assert evidence.batch == pytest.approx(math.log(0.9) - math.log(1.1))
    raw = compare(trial, other, 0.0)
    assert (raw.y, raw.load, raw.batch) == (pytest.approx(math.log(1.1)), pytest.approx(math.log(0.9)), 0.0)


@pytest.mark.parametrize(
    ("trial", "other", "saturated"),
    [(9.0, 9.0, True), (9.0, 0.0, False), (0.0, 9.0, False), (None, 9.0, False), (9.0, None, False)],
)
def test_where_both_arms_queue_tokens_per_pod_second_decide(
    trial: float | None, other: float | None, saturated: bool
) -> None:
    fast = measure_arm([pod(50, tokens=30000, **({} if trial is None else {"requests_waiting": trial}))])
    slow = measure_arm([pod(50, **({} if other is None else {"requests_waiting": other}))])
    evidence = compare(fast, slow, 0.0)
    assert evidence.y == pytest.approx(math.log(1.25) if saturated else 0.0)
    assert evidence.load == pytest.approx(0.0 if saturated else math.log(1.25))


@pytest.mark.parametrize(
    ("batch", "moved"), [(3.0, False), (3.7, True), (8.0, True), (21.9, True), (23, False)]
)
def test_the_weight_holds_only_where_history_was(batch: float, moved: bool) -> None:
    trial, other = measure_arm([pod(55, tokens=21600)]), measure_arm([pod(50)])
    evidence = compare_at(batch, trial, other, calm().frozen)
    assert (evidence.y != evidence.raw) is moved
    assert (evidence.load == 0) is moved
    # 2 pods; raw speed enlarges what they differ by
    assert evidence.inverse_pods == pytest.approx(2.0 if moved else 2.0 / 0.36)


def test_a_weight_that_is_not_well_known_widens_the_bounds_by_what_it_moved() -> None:
    # The trial's batch is in the middle of the history's.
    frozen = calm(WEIGHED._replace(batch_high=16.0)).frozen
    moved = filled(Evidence(0.1, 0.1, 0.0, -0.2, 2.0))
    assert fixed_part(moved, frozen, PLAIN) == pytest.approx(2.306 * 0.05 * 0.2, rel=0.01)
    assert fixed_part(filled(Evidence(0.1, 0.1, 0.0, 0.0, 2.0)), frozen, PLAIN) == 0
    pods = Corrections(0.0, 0.01, 8)
    assert fixed_part(moved, frozen, pods) == pytest.approx(
        math.hypot(2.306 * 0.05 * 0.2, pod_term(moved, frozen, pods)), rel=0.01
    )


@pytest.mark.parametrize(("batch", "off"), [(4.0, 0.15), (8.0, 0.0), (16.0, 0.171)])
def test_a_weight_from_the_middle_of_the_history_is_off_by_a_known_bit_at_its_edges(
    batch: float, off: float
) -> None:
    """Speed falls faster at a larger batch: a trial at the busy end with 0.9 of the arrivals was promoted for
    nothing in 4 % of 1,000 trials."""
    exact = WEIGHED._replace(weight_se=0.0, batch_high=16.0)
    found = fixed_part(filled(Evidence(0.1, 0.1, 0.0, -0.2, 2.0), batch=batch), calm(exact).frozen, PLAIN)
    assert found == pytest.approx(0.2 * off, abs=0.0002)


def test_only_windows_without_a_weight_are_penalised() -> None:
    assert penalties(filled(Evidence(0.1, 0.1, 0.0, -0.2, 2.0))) == (0.0, 0.0)
    assert penalties(filled(Evidence(0.1, 0.1, -0.1, 0.0, 2.0))) == pytest.approx((0.2, 0.0))


def test_tokens_that_nobody_got_are_taken_from_the_speed_up() -> None:
    comparison, frozen = filled(Evidence(0.1, 0.1, 0.0, 0.0, 2.0)), calm().frozen
    plain = estimate(comparison, frozen, PLAIN)
    trimmed = estimate(comparison, frozen, Corrections(-0.02, 0.0, 8))
    assert plain is not None
    assert trimmed is not None
    assert trimmed.mean == pytest.approx(plain.mean - 0.02)


@pytest.mark.parametrize(
    ("windows", "ratio", "vetoes"), [(40, 0.8, True), (19, 0.8, False), (40, 1.0, False)]
)
def test_a_band_vetoes_from_twenty_windows_on(windows: int, ratio: float, vetoes: bool) -> None:
    comparison = filled(Evidence(math.log(1.5), 0.4, 0.0, 0.0, 2.0))
    slow = filled(Evidence(math.log(ratio), -0.2, 0.0, 0.0, 2.0), windows, batch=40.0)
    both = comparison._replace(bands=(*comparison.bands[:2], slow.bands[2], comparison.bands[3]))
    losing = losing_band(both, calm().frozen, PLAIN)
    assert (losing is not None) is vetoes
    if losing is not None:
        ratio, lower, upper = map(float, re.findall(r"\d\.\d{3}", losing))
        assert losing == f"at batch 16 to 64: 0.800x [{lower:.3f}, {upper:.3f}] over {windows} windows"
        assert lower < ratio < upper < 1


@pytest.mark.parametrize(
    ("batch", "name"), [(3.9, "0 to 4"), (4.0, "4 to 16"), (16.0, "16 to 64"), (64.0, "64 and more")]
)
def test_evidence_goes_to_the_band_of_the_baselines_batch(batch: float, name: str) -> None:
    bands = filled(Evidence(0.1, 0.1, 0.0, 0.0, 2.0), 12, batch=batch).bands
    assert [name_of(position) for position, band in enumerate(bands) if band.n] == [name]
    everywhere = (0.25, 0.25, 0.25, 0.25)
    assert set(uncovered(bands, everywhere)) == {name_of(position) for position in range(4)} - {name}
    assert uncovered(bands, (0.19, 0.19, 0.19, 0.19)) == ()


@pytest.mark.parametrize(
    ("settings", "learned", "sd", "freedom"),
    [
        (Settings(), Learned(), 0.01, 8),
        (Settings(pod_sd=0.02), Learned(), 0.02, 8),
        (Settings(), Learned(pod_sd=0.03, pod_freedom=12), 0.03, 12),
        (Settings(pod_sd=0.0), Learned(pod_sd=0.03, pod_freedom=12), 0.0, 8),
    ],
)
def test_what_pods_differ_by_is_asked_for_or_learned(
    settings: Settings, learned: Learned, sd: float, freedom: int
) -> None:
    frozen = start(settings, learned).frozen
    assert (frozen.pod_sd, frozen.pod_freedom) == (sd, freedom)


@pytest.mark.parametrize(
    ("residence", "phi"),
    [(0.0, 0.3), (10.0, 0.3), (60.0, math.exp(-1)), (570.0, math.exp(-60 / 570)), (1e9, 0.95)],
)
def test_long_requests_make_neighbouring_windows_alike(residence: float, phi: float) -> None:
    assert start(Settings(), Learned(residence=residence)).frozen.phi == pytest.approx(phi)


@pytest.mark.parametrize(
    ("sd", "phi", "disaster"), [(0.0, 0.0, 0.2), (0.05, 0.3, 0.2), (0.2, 0.0, 0.2 * 2**0.5)]
)
def test_a_noisy_baseline_makes_the_disaster_lane_slower(sd: float, phi: float, disaster: float) -> None:
    assert start(Settings(), Learned(sd=sd, phi=phi)).frozen.disaster_sd == pytest.approx(disaster)


@pytest.mark.parametrize("weight", [-1.0, 2.0, math.nan])
def test_a_senseless_weight_is_bounded(weight: float) -> None:
    assert 0 <= start(Settings(), Learned(weighed=1, weight=weight)).frozen.weight <= 0.9
