"""The operator's own metrics: their names, and that series go with their object."""

from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.status import Capacity, Status, TrialStatus, Verdict
from specdeploy.metrics.figures import ArmFigures
from specdeploy.metrics.sample import FailureKind
from specdeploy.telemetry import Telemetry
from tests.rollout.scenes import served
from tests.shell.stage import Stage, exported, spec

FIGURES = ArmFigures(
    speed=60.0,
    batch=4.0,
    acceptance=0.7,
    accepted_length=3.1,
    tokens_per_second=500.0,
    pods=2,
    seconds=60.0,
    first_token_seconds=0.2,
    waiting=5.0,
    error_share=0.01,
    prefix_hit_share=0.4,
)
IDLE = ArmFigures(
    speed=None, batch=None, acceptance=None, accepted_length=None, tokens_per_second=0.0, pods=1, seconds=60.0
)
STATUS = Status(capacity=Capacity(desired=4, ready=3, borrowed=1, lost=0, summary="3/4"))


def value(telemetry: Telemetry, name: str, **labels: str) -> float | None:
    return telemetry.registry.get_sample_value(f"specdeploy_{name}", labels)


def series(telemetry: Telemetry) -> set[str]:
    """Series that carry the name of an object."""
    return {
        f"{sample.name} {sorted(sample.labels.items())}"
        for metric in telemetry.registry.collect()
        for sample in metric.samples
        if "specdeployment" in sample.labels
    }


def test_the_figures_of_each_arm_are_shown_and_what_is_unknown_is_absent() -> None:
    telemetry = Telemetry()
    telemetry.window("ns", "a", {"baseline": IDLE, "trial": FIGURES})
    trial = {"namespace": "ns", "specdeployment": "a", "arm": "trial"}
    assert value(telemetry, "arm_speed", **trial) == 60.0
    assert value(telemetry, "arm_batch", **trial) == 4.0
    assert value(telemetry, "arm_acceptance_ratio", **trial) == 0.7
    assert value(telemetry, "arm_accepted_length", **trial) == 3.1
    assert value(telemetry, "arm_tokens_per_second", **trial) == 500.0
    assert value(telemetry, "arm_pods", **trial) == 2
    assert value(telemetry, "arm_first_token_seconds", **trial) == 0.2
    assert value(telemetry, "arm_requests_waiting", **trial) == 5
    assert value(telemetry, "arm_http_error_ratio", **trial) == 0.01
    assert value(telemetry, "arm_prefix_hit_ratio", **trial) == 0.4
    assert value(telemetry, "arm_http_error_ratio", **{**trial, "arm": "baseline"}) is None
    assert value(telemetry, "arm_speed", **{**trial, "arm": "baseline"}) is None
    assert value(telemetry, "arm_tokens_per_second", **{**trial, "arm": "baseline"}) == 0


def test_an_arm_that_is_gone_takes_its_series_with_it() -> None:
    telemetry = Telemetry()
    telemetry.window("ns", "a", {"baseline": FIGURES, "trial": FIGURES})
    telemetry.window("ns", "a", {"baseline": FIGURES})
    assert not [line for line in series(telemetry) if "trial" in line]


def test_an_object_that_is_gone_takes_its_series_with_it_and_no_others() -> None:
    telemetry = Telemetry()
    for name in "ab":
        telemetry.window("ns", name, {"baseline": FIGURES})
        telemetry.status("ns", name, STATUS)
    telemetry.forget("ns", "a")
    left = series(telemetry)
    assert left
    assert all("'b'" in line for line in left)
    telemetry.forget("ns", "a")  # twice is once


def test_a_verdict_is_counted_once_by_its_outcome_and_reason() -> None:
    telemetry = Telemetry()
    verdict = Verdict(
        drafter="d",
        revision="r",
        outcome=Outcome.PROMOTED,
        reason="ProvenFaster",
        time="2026-01-01T00:00:00Z",
    )
    demoted = verdict.model_copy(update={"outcome": Outcome.RUNNER_UP})
    telemetry.verdicts_of(Status(), Status(verdicts=[verdict]))
    telemetry.verdicts_of(Status(verdicts=[verdict]), Status(verdicts=[verdict]))
    telemetry.verdicts_of(Status(verdicts=[verdict]), Status(verdicts=[demoted]))
    assert value(telemetry, "verdicts_total", outcome="Promoted", reason="ProvenFaster") == 1
    assert value(telemetry, "verdicts_total", outcome="RunnerUp", reason="ProvenFaster") is None


def on_trial(attempt: int, **skipped: int) -> Status:
    moment = "2026-01-01T00:00:00Z"
    return Status(
        trial=TrialStatus(
            drafter="d", revision="r", template="t", attempt=attempt, state=TrialState.MEASURING,
            start_time=moment, state_time=moment, skipped=skipped or None,
        )
    )  # fmt: skip


def test_windows_that_were_no_evidence_are_counted_once_by_reason() -> None:
    telemetry = Telemetry()
    telemetry.skipped_windows(Status(), on_trial(1, NoTraffic=1))
    telemetry.skipped_windows(on_trial(1, NoTraffic=1), on_trial(1, NoTraffic=3, NoData=1))
    telemetry.skipped_windows(on_trial(1, NoTraffic=3, NoData=1), on_trial(1, NoTraffic=3, NoData=1))
    telemetry.skipped_windows(on_trial(1, NoTraffic=3, NoData=1), Status())
    telemetry.skipped_windows(on_trial(1, NoTraffic=3), on_trial(2, NoTraffic=1))
    assert value(telemetry, "trial_windows_skipped_total", reason="NoTraffic") == 4
    assert value(telemetry, "trial_windows_skipped_total", reason="NoData") == 1


def test_how_what_serves_is_protected_is_shown_and_goes_with_its_object() -> None:
    telemetry = Telemetry()
    world = served().run(100)
    telemetry.status("ns", "a", world.known)
    labels = {"namespace": "ns", "specdeployment": "a"}
    assert value(telemetry, "protected", **labels) == 1
    assert 1.6 < (value(telemetry, "serving_speed_ratio", **labels) or 0) < 2.0
    assert 0 <= (value(telemetry, "guard_evidence", **labels) or 0) < 0.1
    arm = world.known.baseline
    assert arm is not None
    checked = arm.model_copy(update={"last_check": "Undecided"})
    telemetry.status("ns", "a", world.known.model_copy(update={"baseline": checked}))
    assert value(telemetry, "recheck_outcome", **labels, outcome="Undecided") == 1
    assert value(telemetry, "recheck_outcome", **labels, outcome="Kept") is None
    telemetry.forget("ns", "a")
    assert series(telemetry) == set()


def test_failed_reads_are_counted_by_kind() -> None:
    telemetry = Telemetry()
    telemetry.failed_scrapes([FailureKind.TIMEOUT, FailureKind.TIMEOUT, FailureKind.GARBAGE])
    assert value(telemetry, "scrape_failures_total", kind="Timeout") == 2
    assert value(telemetry, "scrape_failures_total", kind="Garbage") == 1


async def test_a_rollout_shows_its_trial_while_it_runs_and_its_verdict_after() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    await stage.run(4)
    assert b"specdeploy_trial_speed_ratio{" in exported(stage)
    assert b"specdeploy_trials_running 1.0" in exported(stage)
    await stage.run(150, Stage.settled)
    page = exported(stage)
    assert b"specdeploy_trial_speed_ratio{" not in page
    assert b"specdeploy_trials_running 0.0" in page
    assert b'specdeploy_verdicts_total{outcome="Promoted",reason="ProvenFaster"} 1.0' in page
    assert b'specdeploy_pods_ready{namespace="default",specdeployment="gemma"} 4.0' in page
