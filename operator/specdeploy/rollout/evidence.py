"""A trial's evidence: hands windows to the judge and keeps its state in status."""

from dataclasses import dataclass

from specdeploy.api.names import BASELINE
from specdeploy.api.reasons import Outcome
from specdeploy.api.spec import Spec
from specdeploy.api.status import MAX_RECENT, Status, TrialStatus, instant
from specdeploy.judge import (
    Cause,
    MalformedState,
    Settings,
    TrialState,
    UnknownVersion,
    Verdict,
    Window,
    forget_serving,
    newest,
    observe,
    pack,
    start,
    summary,
    unpack,
    window_ratio,
)
from specdeploy.rollout.decision import Ending, Event
from specdeploy.rollout.learning import learned
from specdeploy.rollout.limits import limits_of
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.verdicts import quarantine, ratio

# What a trial knows from its windows.
_EVIDENCE = (
    "evidence", "last_window", "last_window_time", "first_window_time", "measured_seconds",
    "windows", "ratio", "lower", "upper", "skipped", "recent", "compared",
)  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """What one window did to a trial."""

    trial: TrialStatus
    ending: Ending | None = None
    events: tuple[Event, ...] = ()


def compares_serving(scene: Scene, status: Status) -> bool:
    """Whether what serves is compared with the baseline, and a trial must beat it, too: a drafter that serves
    on the baseline's engine.

    One that serves on an engine the spec has left behind is no yardstick: it is going anyway. A spec that is
    wrong asks for no engine, and what runs stays as it is: then the last one that was right counts.
    """
    serving = status.serving
    if serving is None or serving.name == BASELINE or scene.spec is None:
        return False
    return scene.by_revision(serving.revision) is not None if scene.valid else serving.left_time is None


def yardsticks(scene: Scene, status: Status) -> frozenset[str]:
    """The templates that a trial is measured against: the baseline, and what serves where it is compared."""
    serving, baseline = status.serving, status.baseline
    compared = serving.template if serving is not None and compares_serving(scene, status) else None
    return frozenset(t for t in (baseline.template if baseline else None, compared) if t)


def settings_of(scene: Scene, status: Status, spec: Spec) -> Settings:
    """The judge's settings for the trial that runs or is about to run."""
    trials = status.baseline.trials if status.baseline else 0
    return Settings(
        window_seconds=float(spec.trial.window_seconds),
        minimum_effect=spec.trial.minimum_effect_percent / 100,
        confidence=spec.trial.confidence_percent / 100,
        deadline_seconds=float(spec.trial.deadline_seconds),
        warmup_seconds=float(spec.trial.warmup),
        attempt=trials + 1,
        compare_serving=compares_serving(scene, status),
        limits=limits_of(spec.guards, float(spec.trial.warmup)),
        recheck_seconds=float(spec.baseline.recheck_seconds),
    )


def compared(status: Status, settings: Settings) -> str | None:
    """The serving revision that a trial is compared with, beside the baseline."""
    return status.serving.revision if settings.compare_serving and status.serving else None


def load(status: Status, trial: TrialStatus, settings: Settings) -> tuple[TrialState, Event | None]:
    """The judge's state, without the comparison with what serves no more; a fresh one, and a warning, where
    the stored one can't be read."""
    if trial.evidence is None:
        return start(settings, learned(status, settings)), None
    try:
        state = unpack(trial.evidence)
        same = trial.compared == compared(status, settings)
        return (state if same else forget_serving(state)), None
    except (UnknownVersion, MalformedState) as error:
        text = f"{trial.drafter} starts again: its stored evidence can't be read ({error})"
        return start(settings, learned(status, settings)), Event("Warning", "EvidenceLost", text)


def judge_window(scene: Scene, status: Status, spec: Spec, trial: TrialStatus) -> Judged:
    """Take in the window that has just ended. A window that was judged before changes nothing; one by a clock
    that went back is no evidence, those after it are."""
    trial, restarted = _of_one_length(trial, spec)
    window = scene.seen.window
    if window is None or _judged(trial, window):
        return Judged(trial, events=restarted)
    settings = settings_of(scene, status, spec)
    before, lost = load(status, trial, settings)
    after, verdict = observe(before, window, settings)
    if verdict is not None and scene.paused and outcome_of(verdict) is Outcome.PROMOTED:
        verdict = None  # it keeps its proof and is promoted when the pause ends
    return Judged(
        _noted(trial, window, after, settings, compared(status, settings), scene.now),
        None if verdict is None else _ending(verdict, trial),
        (*restarted, *(() if lost is None else (lost,))),
    )


def _judged(trial: TrialStatus, window: Window) -> bool:
    last = trial.last_window
    return last is not None and window.index <= last and newest(last, window.index) == last


def _of_one_length(trial: TrialStatus, spec: Spec) -> tuple[TrialStatus, tuple[Event, ...]]:
    """Windows of different lengths are no one series: numbers, noise and floors differ."""
    length = spec.trial.window_seconds
    if trial.window_seconds in (None, length):
        return trial.model_copy(update={"window_seconds": length}), ()
    text = (
        f"{trial.drafter} is measured anew: trial.windowSeconds went from {trial.window_seconds} to {length}"
    )
    fresh = {name: TrialStatus.model_fields[name].get_default() for name in _EVIDENCE}
    return trial.model_copy(update={**fresh, "window_seconds": length}), (
        Event("Normal", "EvidenceRestarted", text),
    )


def _noted(
    trial: TrialStatus,
    window: Window,
    after: TrialState,
    settings: Settings,
    against: str | None,
    now: float,
) -> TrialStatus:
    numbers = summary(after)
    raw = window_ratio(window, settings)
    began = None if raw is None else instant(now - window.seconds)
    recent = [*(trial.recent or []), *([] if raw is None else [round(1000 * raw)])][-MAX_RECENT:]
    return trial.model_copy(
        update={
            "evidence": pack(after),
            "compared": against,
            "last_window": window.index,
            "first_window_time": trial.first_window_time or began,
            "last_window_time": instant(now),
            "measured_seconds": int(numbers.measured_seconds),
            "windows": numbers.windows_used,
            "ratio": ratio(numbers.ratio),
            "lower": ratio(numbers.lower),
            "upper": ratio(numbers.upper),
            "skipped": {reason.value: count for reason, count in numbers.skipped.items()} or None,
            "recent": recent or None,
        }
    )


def _ending(verdict: Verdict, trial: TrialStatus) -> Ending:
    """Whose loss is only expected is tried again when a day's load is known."""
    text = f"{trial.drafter}: {verdict.message}"
    later = quarantine(trial.attempt) if verdict.reason == Cause.SLOWER_AT_LOAD else None
    return Ending(outcome_of(verdict), verdict.reason, text, verdict.numbers, retry_after=later)


def outcome_of(verdict: Verdict) -> Outcome:
    """The resource's word for the judge's: the judge knows some of the outcomes, by the same names."""
    return Outcome(verdict.outcome.value)
