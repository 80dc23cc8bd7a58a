"""Every shipped scenario ends as its description says, whatever the seed."""

import pytest

from specdeploy.simulation.reading import shipped
from specdeploy.simulation.report import as_dict, summarise
from tests.simulation.scenarios import run_seed, run_shipped

SEEDS = (1, 2, 3)
# Scenario -> what serves at the end, and the outcomes that each drafter's first trial may have.
ENDS: dict[str, tuple[str, dict[str, set[str]]]] = {
    "far-slower": ("baseline", {"eagle3": {"Disaster"}}),
    "far-faster": ("dflash", {"dflash": {"Promoted"}}),
    "math-on-chat": ("mtp", {"dflash-math": {"Slower", "NotWorthIt"}, "mtp": {"Promoted"}}),
    "load-triples": ("mtp", {"mtp": {"Promoted"}}),
    "takes-slots": ("baseline", {"heavy": {"Guarded"}}),
    "young-pod": ("ngram", {"ngram": {"Promoted"}}),
    "same-speed": ("baseline", {"nothing": {"NotWorthIt", "Inconclusive", "Slower"}}),
    "rough-day": ("eagle3", {"eagle3": {"Promoted"}}),
}
# Promoted, and found slower (or out of slots) by the guard while it serves.
TAKEN_BACK: dict[str, set[str]] = {
    "decays": {"Slower", "Disaster"},
    "loses-at-peak": {"Slower", "Disaster"},
    "graph-cliff": {"Guarded", "Slower", "Disaster"},
}


def test_every_shipped_scenario_has_an_end_that_is_tested() -> None:
    assert set(shipped()) == {*ENDS, *TAKEN_BACK, "week", "rough-week"}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ENDS)
def test_a_shipped_scenario_ends_as_its_description_says(name: str, seed: int) -> None:
    run, (serving, outcomes) = run_seed(name, seed), ENDS[name]
    first = {verdict.drafter: verdict.outcome.value for verdict in reversed(run.verdicts)}
    assert summarise(run).serving == serving
    assert set(first) == set(outcomes)
    assert all(first[drafter] in allowed for drafter, allowed in outcomes.items())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", TAKEN_BACK)
def test_what_was_promoted_and_loses_later_is_taken_back(name: str, seed: int) -> None:
    """By the guard; or it was never let on, for its gain fell with the load while it was on trial."""
    run = run_seed(name, seed)
    first, *later = run.verdicts
    if first.reason != "SlowerAtLoad":
        assert first.outcome.value == "Promoted"
        assert later[0].outcome.value in TAKEN_BACK[name]
    assert summarise(run).serving == "baseline"


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_proven_at_night_carries_at_most_half_of_the_pods_until_the_day_has_been_measured(
    seed: int,
) -> None:
    run = run_shipped("loses-at-peak", seed=seed, duration=24 * 3600.0)  # to 06:00
    assert max(lap.pods.get("mtp", 0) for lap in run.laps) == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_a_far_slower_drafter_is_off_traffic_within_three_windows_of_measurement(seed: int) -> None:
    run = run_seed("far-slower", seed)
    on_traffic = [lap for lap in run.laps if lap.pods.get("eagle3")]
    # The window in which its pod became ready, a whole one in which it was too young, and at most three more.
    assert len(on_traffic) <= 5
    assert summarise(run).worst_hour is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_a_drafter_that_fills_its_slots_is_seen_by_its_queue(seed: int) -> None:
    (verdict,) = run_seed("takes-slots", seed).verdicts
    assert verdict.reason == "LessCapacity"


@pytest.mark.parametrize("name", ENDS)
def test_the_operator_looks_at_most_twice_a_window(name: str) -> None:
    run = run_seed(name, 1)
    assert run.passes <= 2 * len(run.laps)


def test_a_seed_gives_the_same_run_again_and_another_seed_another_one() -> None:
    first, again, other = (
        as_dict(run_shipped("rough-day", seed=seed, duration=3600.0), windows=True) for seed in (7, 7, 8)
    )
    assert first == again
    assert first["table"] != other["table"]
