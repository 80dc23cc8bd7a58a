"""The ledger of verdicts, and the size of a status."""

import json
from typing import Any

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.reasons import Outcome, TrialState
from specdeploy.api.status import (
    MAX_PICTURES,
    MAX_REQUESTS,
    MAX_SENTENCES,
    MAX_VERDICTS,
    BaselineStatus,
    Capacity,
    Condition,
    EngineStatus,
    Recheck,
    Request,
    Rollback,
    Serving,
    Status,
    TrialStatus,
    Verdict,
    instant,
)
from specdeploy.engine.revision import RENDER_VERSION, Template
from specdeploy.judge import Settings, pack, start
from specdeploy.judge.guard import start_guard
from specdeploy.judge.guard_state import pack_guard
from specdeploy.judge.history import History, pack_history
from specdeploy.rollout.decision import Ending
from specdeploy.rollout.size import LARGEST, fitted, size
from specdeploy.rollout.verdicts import (
    attempts,
    backoff,
    best_runner_up,
    quarantined,
    record,
    released,
    verdict_of,
)

NOW = 1_800_000_000.0
BASELINE = Serving(name="baseline", revision="base", template="t", since=instant(NOW))
OTHER = BASELINE.model_copy(update={"name": "other", "revision": "o"})


def template(name: str, revision: str = "") -> Template:
    return Template(name, None, revision or f"r-{name}", shape="", hash=f"t-{name}")


def verdict(name: str, outcome: Outcome, **more: Any) -> Verdict:
    return Verdict.model_validate(
        {"drafter": name, "revision": f"r-{name}", "outcome": outcome, "time": instant(NOW), **more}
    )


def ledger(*verdicts: Verdict, serving: Serving = BASELINE) -> Status:
    return Status(verdicts=list(verdicts), serving=serving)


@pytest.mark.parametrize(
    ("outcome", "more", "serving", "held"),
    [
        (Outcome.SLOWER, {}, BASELINE, True),
        (Outcome.DISASTER, {}, BASELINE, True),
        (Outcome.NOT_WORTH_IT, {}, BASELINE, True),
        (Outcome.INCONCLUSIVE, {}, BASELINE, True),
        (Outcome.GUARDED, {}, BASELINE, True),
        (Outcome.ABORTED, {}, BASELINE, True),
        (Outcome.UNHEALTHY, {"render_version": RENDER_VERSION}, BASELINE, True),
        (Outcome.UNHEALTHY, {"render_version": RENDER_VERSION - 1}, BASELINE, False),
        (Outcome.INVALID, {"render_version": RENDER_VERSION}, BASELINE, True),
        (Outcome.INVALID, {"render_version": RENDER_VERSION - 1}, BASELINE, False),
        (Outcome.RUNNER_UP, {}, OTHER, True),
        (Outcome.RUNNER_UP, {}, BASELINE, False),
        (Outcome.PROMOTED, {}, BASELINE, False),
        (Outcome.PROMOTED, {}, OTHER, False),
        (Outcome.SUPERSEDED, {"retry_time": instant(NOW)}, BASELINE, False),
        (Outcome.NO_CAPACITY, {"retry_time": instant(NOW + 300)}, BASELINE, True),
        (Outcome.NO_CAPACITY, {"retry_time": instant(NOW - 1)}, BASELINE, False),
        (Outcome.SLOWER, {"retry_time": instant(NOW)}, BASELINE, False),
    ],
)
def test_which_verdicts_keep_a_drafter_from_being_tried(
    outcome: Outcome, more: dict[str, Any], serving: Serving, held: bool
) -> None:
    status = ledger(verdict("a", outcome, **more), serving=serving)
    assert quarantined(status, template("a"), NOW) is held


def test_a_verdict_belongs_to_the_revision_whatever_the_drafter_is_called() -> None:
    status = ledger(verdict("old-name", Outcome.SLOWER, revision="same"))
    assert quarantined(status, template("new-name", "same"), NOW)
    renamed = verdict("new-name", Outcome.SLOWER, revision="same")
    assert record(status, renamed, {"same"}).verdicts == [renamed]


def test_a_twin_that_is_invalid_is_no_verdict_on_the_first() -> None:
    twin = verdict(
        "twin", Outcome.INVALID, revision="same", reason="InvalidDrafter", render_version=RENDER_VERSION
    )
    assert not quarantined(ledger(twin), template("first", "same"), NOW)
    slower = verdict("first", Outcome.SLOWER, revision="same")
    both = record(record(Status(), slower, {"same"}), twin, {"same"})
    assert quarantined(both, template("first", "same"), NOW)
    assert attempts(both, template("first", "same")) == 1


def test_verdicts_of_listed_revisions_are_never_evicted_and_old_strangers_go_first() -> None:
    status = Status()
    listed = {f"r-d{i}" for i in range(32)}
    for i in range(32):
        status = record(status, verdict(f"d{i}", Outcome.SLOWER), listed)
    for i in range(200):
        status = record(status, verdict(f"gone{i}", Outcome.SLOWER), listed)
    kept = [v.drafter for v in status.verdicts or []]
    assert {f"d{i}" for i in range(32)} <= set(kept)
    room = MAX_VERDICTS - 32
    assert kept[:room] == [f"gone{i}" for i in reversed(range(200 - room, 200))]


def test_only_the_newest_verdicts_keep_their_sentence_and_their_picture() -> None:
    status = Status()
    for i in range(12):
        new = verdict(f"d{i}", Outcome.SLOWER, message="why", recent=[1000, 900])
        status = record(status, new, set())
    told, drawn = MAX_SENTENCES, MAX_PICTURES
    assert [v.message for v in status.verdicts or []] == ["why"] * told + [None] * (12 - told)
    assert [v.recent for v in status.verdicts or []] == [[1000, 900]] * drawn + [None] * (12 - drawn)


def test_a_retry_frees_what_is_held_and_nothing_else() -> None:
    status = ledger(
        verdict("a", Outcome.SLOWER),
        verdict("b", Outcome.NO_CAPACITY, retry_time=instant(NOW + 999)),
        verdict("c", Outcome.PROMOTED),
        verdict("d", Outcome.INVALID, reason="InvalidDrafter", render_version=RENDER_VERSION),
    )
    freed, names = released(status, None, NOW)
    assert names == ["a", "b"]
    assert [quarantined(freed, template(n), NOW) for n in "abcd"] == [False, False, False, True]
    assert released(status, "b", NOW)[1] == ["b"]


def test_the_best_runner_up_is_the_one_with_the_highest_lower_bound_that_is_still_listed() -> None:
    status = ledger(
        verdict("a", Outcome.RUNNER_UP, lower="1.100", ratio="1.900"),
        verdict("b", Outcome.RUNNER_UP, lower="1.200", ratio="1.300"),
        verdict("c", Outcome.RUNNER_UP, lower="1.300", ratio="1.400"),
        verdict("d", Outcome.SLOWER, lower="1.400"),
    )
    found = best_runner_up(status, [template("a"), template("b"), template("d")])
    assert found is not None
    assert found[0].drafter == "b"
    assert best_runner_up(status, [template("d")]) is None


def test_waiting_times_double_up_to_six_hours() -> None:
    assert [backoff(n) for n in (1, 2, 3, 7, 8, 100)] == [300, 600, 1200, 19200, 21600, 21600]


def test_a_sentence_is_cut_where_it_would_not_fit() -> None:
    found = verdict_of("a", "r-a", 1, Ending(Outcome.UNHEALTHY, "Crashed", "x" * 5000), NOW)
    assert found.message == "x" * 600


# -- size -----------------------------------------------------------------------------------------------


EVIDENCE = pack(start(Settings()))
GUARD = pack_guard(start_guard(start(Settings()), Settings()))
HISTORY = pack_history(History())


def fullest(drafters: int, strangers: int, *, promoting: bool) -> Status:
    """A status in which everything is as long as it can be; a promotion needs its trial's evidence no more,
    and keeps the guard of what served before."""
    words = "é" * 600
    verdicts = [
        verdict(
            f"drafter-of-20-{'x' if i < drafters else 'y'}{i:04d}",
            Outcome.RUNNER_UP if i % 8 == 7 else Outcome.INCONCLUSIVE,
            revision=f"{i:012d}",
            reason="BelowMinimumEffectAgainstServing",
            attempt=100,
            retry_time=instant(NOW),
            first_window_time=instant(NOW) if i < MAX_SENTENCES else None,
            ratio="1.000",
            lower="0.900",
            upper="1.100",
            windows=9999,
            render_version=None,
            message=words if i < MAX_SENTENCES else None,
            recent=[22026466] * 120 if i < MAX_PICTURES else None,
        )
        for i in range(drafters + strangers)
    ]
    serving = Serving(
        name="d" * 20, revision="0" * 12, template="0" * 12, since=instant(NOW), speedup="1.000",
        lower="1.000", upper="1.000", summary="1.87x [1.79,1.95]", finding="f" * 200,
        compared_time=instant(NOW), guard=GUARD, pod_seconds=10**6, rollback_seconds=10**8,
        left_time=instant(NOW),
    )  # fmt: skip
    arm = BaselineStatus(
        revision="0" * 12, template="0" * 12, since=instant(NOW), trials=99, retention="Trials",
        until=instant(NOW), check=Recheck(start_time=instant(NOW), reason="r" * 300), last_check="Undecided",
        last_check_time=instant(NOW), last_ratio="1.000", next_check_time=instant(NOW),
        early_checks=[instant(NOW)] * 2, window_seconds=600, history=HISTORY, answers="a" * 2048,
    )  # fmt: skip
    return Status(
        conditions=[
            Condition(
                type=kind.value, status="False", observed_generation=10**9, message="é" * 400,
                last_transition_time=instant(NOW), reason="x" * 30,
            )
            for kind in Kind
        ],
        message="é" * 1000,
        observed_generation=10**9,
        replicas=1000,
        selector="specdeploy.dev/name=" + "n" * 40,
        engine=EngineStatus(image="registry/" + "i" * 120, vllm_version="0" * 64, remade=10**9),
        serving=serving,
        baseline=arm,
        rollback=Rollback(
            drafter="d" * 20, template="0" * 12, pods=250, start_time=instant(NOW), seconds=10**8,
            unschedulable_time=instant(NOW),
        ),
        capacity=Capacity(desired=1000, ready=1000, borrowed=100, lost=100, summary="1000/1000"),
        trial=TrialStatus(
            drafter="d" * 20, revision="0" * 12, template="0" * 12, attempt=100, state=TrialState.MEASURING,
            reason="PodReplaced", start_time=instant(NOW), state_time=instant(NOW), ready_time=instant(NOW),
            unschedulable_time=instant(NOW), first_window_time=instant(NOW),
            last_window_time=instant(NOW), deadline_time=instant(NOW), compared="0" * 12,
            measured_seconds=10**6, last_window=10**9, summary="d" * 96, ratio="1.000", lower="1.000",
            upper="1.000", windows=10**4, skipped={f"reason-{i:02d}-of-window": 1000 for i in range(13)},
            evidence=None if promoting else EVIDENCE, recent=[22026466] * 120, step=100, soaked=10**4,
            soak=10**4, fallback=serving if promoting else serving.model_copy(update={"guard": None}),
        ),
        verdicts=verdicts,
        requests=[
            Request(verb="retry", value="v" * 128, time=instant(NOW), result="é" * 200)
            for _ in range(MAX_REQUESTS)
        ],
    )  # fmt: skip


@pytest.mark.parametrize("promoting", [False, True])
@pytest.mark.parametrize(("drafters", "strangers"), [(32, 0), (32, 4), (1, 35), (0, 36)])
def test_the_fullest_status_fits_and_every_listed_verdict_still_decides(
    drafters: int, strangers: int, promoting: bool
) -> None:
    full = fullest(drafters, strangers, promoting=promoting)
    listed = {f"{i:012d}" for i in range(drafters)}
    small = fitted(full, listed)
    assert len(json.dumps(small.wire(), ensure_ascii=False)) < 2 * LARGEST  # with spaces, as for a person
    assert size(small) < LARGEST
    kept = [v for v in small.verdicts or [] if v.revision in listed]
    known = [v for v in full.verdicts or [] if v.revision in listed]
    assert [(v.drafter, v.revision, v.attempt, v.outcome, v.retry_time) for v in kept] == [
        (v.drafter, v.revision, v.attempt, v.outcome, v.retry_time) for v in known
    ]
    runners_up = [v.lower for v in known if v.outcome is Outcome.RUNNER_UP]
    assert [v.lower for v in kept if v.outcome is Outcome.RUNNER_UP] == runners_up
    assert small.trial is not None
    assert full.trial is not None
    assert small.trial.evidence == full.trial.evidence
    assert small.serving == full.serving
    assert small.baseline is not None
    assert full.baseline is not None
    dropped = {"history": HISTORY, "answers": full.baseline.answers}
    assert small.baseline.model_copy(update=dropped) == full.baseline
    assert len(small.requests or []) == MAX_REQUESTS
    assert fitted(small, listed) == small


def test_what_fits_is_left_as_it_is() -> None:
    status = ledger(verdict("a", Outcome.SLOWER, message="why", recent=[1000]))
    assert fitted(status, set()) is status
