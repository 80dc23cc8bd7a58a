"""The loop: what a fault does, what is counted, and what the operator sees."""

from typing import Any

import pytest

from specdeploy.judge import BASELINE, TRIAL
from specdeploy.simulation.record import Run
from specdeploy.simulation.report import against_baseline, as_dict, settled, summarise
from tests.simulation.scenarios import SMALL, run_of

HALF_AN_HOUR = 1800.0


def _run(**update: Any) -> Run:
    return run_of({**SMALL, **update})


def _fault(**fields: Any) -> Run:
    return _run(faults=[{"at": "20m", **fields}])


def test_a_lost_pod_is_replaced_and_its_requests_go_to_the_others() -> None:
    run = _fault(kind="podLost", arm="baseline")
    counts = [sum(lap.pods.values()) for lap in run.laps if lap.end > run.start + 1100]
    assert counts[:3] == [4, 3, 4]
    assert summarise(run).completed == pytest.approx(1, abs=0.01)


def test_a_crash_of_the_trial_s_engine_ends_the_trial() -> None:
    run = _fault(kind="crash", drafter="fast")
    assert [(v.outcome.value, v.reason) for v in run.verdicts] == [("Unhealthy", "Crashed")]
    assert run.laps[-1].pods == {"baseline": 4}


def test_while_nothing_can_be_read_no_window_counts() -> None:
    run = _fault(kind="metricsGap", lasting="10m")
    blind = [lap for lap in run.laps if 1200 < lap.end - run.start < 1800]
    assert blind
    assert all(lap.window is not None and not lap.window.arms for lap in blind)
    assert run.status.trial is None or "NoData" in (run.status.trial.skipped or {})


def test_a_queue_that_comes_at_once_is_served() -> None:
    run = _fault(kind="queue", requests=2000)
    waiting = [lap.accounts["SpecDeploy"].waiting for lap in run.laps]
    assert max(waiting) > 0
    assert waiting[-1] == 0


def test_a_lowered_acceptance_makes_a_drafter_slower_from_then_on() -> None:
    run = _run(faults=[{"at": "30m", "kind": "acceptance", "drafter": "fast", "factor": 0.2}])
    before = [lap.accounts["fast"].speed for lap in run.laps if lap.end - run.start <= HALF_AN_HOUR]
    after = [lap.accounts["fast"].speed for lap in run.laps if lap.end - run.start > HALF_AN_HOUR + 60]
    # tau falls from 2.25 to 1.25.
    assert max(after) < 0.7 * min(before[5:])


def test_a_slow_spell_hits_every_arm_alike() -> None:
    run = _fault(kind="slower", factor=0.7, lasting="5m")
    found = {lap.end - run.start: against_baseline(lap) for lap in run.laps}
    assert found[1320.0] is not None
    assert found[1320.0][1] == pytest.approx(1.6, abs=0.25)


def test_windows_before_every_pod_was_ready_are_not_counted() -> None:
    run = _run()
    assert run.complete == run.start + 60
    assert settled(run)[0].end == run.start + 120


def test_a_fleet_that_never_leaves_the_baseline_is_as_fast_as_one_without_speculation() -> None:
    """One replica, for which there is too much: its queue was not there before the pod was."""
    spec = {**SMALL["spec"], "replicas": 1}
    traffic = {**SMALL["traffic"], "requestsPerSecond": 60}
    run = run_of({**SMALL, "spec": spec, "traffic": traffic, "target": {**SMALL["target"], "slots": 16}})
    assert run.verdicts == []
    assert run.complete is not None
    assert summarise(run).speeds["SpecDeploy"] == pytest.approx(1.0)


def test_the_oracle_is_at_least_as_fast_as_every_fleet_in_every_window() -> None:
    for lap in _run().laps:
        best = lap.accounts["oracle"].speed
        assert best == max(lap.accounts[name].speed for name in ("baseline", "fast"))


def test_the_counters_tell_what_was_accepted() -> None:
    run = _run()
    window = next(lap.window for lap in reversed(run.laps) if lap.window and lap.window.arms.get(TRIAL))
    (pod,) = window.arms[TRIAL]
    assert pod.drafts is not None
    assert pod.accepted_tokens is not None
    assert pod.decode_tokens / pod.drafts == pytest.approx(2.25, rel=0.01)
    assert pod.accepted_tokens / pod.drafts == pytest.approx(1.25, rel=0.01)
    assert pod.draft_tokens == pytest.approx(3 * pod.drafts, rel=0.01)
    assert all(p.drafts is None for p in window.arms[BASELINE])


def test_every_pod_gets_its_share_of_the_requests() -> None:
    run = _run()
    windows = [lap.window for lap in run.laps[20:30] if lap.window is not None]
    arrivals = sum(p.first_tokens for w in windows for arm in w.arms.values() for p in arm)
    assert arrivals == pytest.approx(8 * 60 * len(windows), rel=0.05)


def test_a_machine_is_told_the_same_as_a_person() -> None:
    run = _run()
    told, found = as_dict(run, windows=True), summarise(run)
    assert told["serving"] == found.serving
    assert told["speed"]["SpecDeploy"] == round(found.speeds["SpecDeploy"], 4)
    assert len(told["table"]) == found.windows
    assert [v["outcome"] for v in told["verdicts"]] == [v.outcome.value for v in found.verdicts]


def test_without_traffic_nothing_is_proven_and_nothing_fails() -> None:
    run = _run(traffic={**SMALL["traffic"], "requestsPerSecond": 0})
    assert not run.verdicts
    assert summarise(run).speeds["SpecDeploy"] == 1


def test_an_edit_is_followed_from_its_time_on() -> None:
    later = [{"at": "20m", "spec": {"paused": False}}]
    run = _run(spec={**SMALL["spec"], "paused": True}, edits=later)
    trials = [change for change in run.changes if change.text.startswith("TrialStarted")]
    assert [change.at - run.start for change in trials] == [1200.0]


def test_the_oracle_knows_a_drafter_only_from_its_listing_on() -> None:
    listed = SMALL["spec"]["drafters"]
    run = _run(spec={**SMALL["spec"], "drafters": []}, edits=[{"at": "30m", "spec": {"drafters": listed}}])
    early, late = run.laps[10].accounts, run.laps[50].accounts
    assert early["oracle"] == early["baseline"]
    assert late["oracle"] == late["fast"]
