"""Engines that hang while /health says 200: on trial, while they take over, while they serve."""

from copy import deepcopy
from dataclasses import replace

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.rollout import Exit, Step, advance
from specdeploy.rollout.observation import Pod, Silence
from specdeploy.rollout.stalls import with_stalls
from tests.rollout.scenes import DFLASH, EAGLE, FAST, fresh, on_trial, served
from tests.rollout.world import Engine, World, spec

MINUTE = Silence(3.0, 0.0, 60.0)
LOOPS = {"restarts": 3, "ready": False, "started": False, "waiting": ("CrashLoopBackOff", "back-off")}
CRASHED = Exit(1, "Error", "ValueError: no")


def silent(world: World, drafter: str, count: int, silence: Silence = MINUTE) -> Step:
    """A pass in which so many pods of a drafter are so."""
    seen = world.peek()
    names = [p.name for p in seen.pods if f"-{drafter}-" in p.name]
    assert len(names) >= count
    stalled = with_stalls(seen.pods, dict.fromkeys(names[:count], silence))
    return advance(replace(seen, pods=stalled, window=None), world.known)


def outcome(step: Step) -> tuple[str, str | None] | None:
    verdict = next(iter(step.status.verdicts or []), None)
    return (verdict.outcome.value, verdict.reason) if verdict else None


@pytest.mark.parametrize(
    ("silence", "words"),
    [
        (Silence(3.0, 0.0, 55.0), "it has given no token since 1970-01-01T00:00:00Z (pod gemma-eagle-"),
        (
            Silence(1.0, 0.0, 65.0, asked=True),
            "it has answered nothing since 1970-01-01T00:00:00Z (pod gemma-eagle-",
        ),
        (Silence(3.0, 0.0, 54.0), None),
        (Silence(3.0, 0.0, 0.0), None),
    ],
    ids=["a late pass, then a punctual one", "it was asked", "too short", "one reading"],
)
def test_no_token_for_a_minute_ends_a_trial(silence: Silence, words: str | None) -> None:
    step = silent(on_trial("Measuring"), "eagle", 1, silence)
    assert outcome(step) == (None if words is None else ("Unhealthy", "Stalled"))
    for verdict in step.status.verdicts or []:
        assert (verdict.message or "").startswith(f"eagle: {words}")


@pytest.mark.parametrize(("count", "found"), [(1, "Inconclusive"), (2, "Unhealthy")])
def test_one_of_several_pods_on_trial_may_be_its_gpu(count: int, found: str) -> None:
    world = fresh(EAGLE, replicas=6, trial={"replicas": 3}).run(4000, lambda w: w.state == "Measuring")
    assert outcome(silent(world, "eagle", count)) == (found, "Stalled")


@pytest.mark.parametrize(
    ("count", "update", "found"),
    [
        (1, {"restarts": 1, "exit": CRASHED}, None),
        (1, {**LOOPS, "exit": CRASHED}, "Inconclusive"),
        (2, {**LOOPS, "exit": CRASHED}, "Unhealthy"),
    ],
    ids=["one crash, mended", "one that crashes again and again", "half of them"],
)
def test_a_crash_of_one_of_several_pods_on_trial_is_no_quarantine(
    count: int, update: dict[str, object], found: str | None
) -> None:
    world = fresh(EAGLE, replicas=6, trial={"replicas": 3}).run(4000, lambda w: w.state == "Measuring")
    seen = world.peek()
    mine = [p for p in seen.pods if "eagle" in p.name][:count]

    def changed(pod: Pod) -> Pod:
        return replace(pod, **update) if pod in mine else pod  # type: ignore[arg-type]

    step = advance(replace(seen, pods=tuple(map(changed, seen.pods)), window=None), world.known)
    told = outcome(step)
    assert (told[0] if told else None) == found


@pytest.mark.parametrize(
    ("count", "found", "serves"),
    [(1, "Inconclusive", "baseline"), (4, "Unhealthy", "baseline")],
)
def test_a_promotion_whose_pods_stand_still_goes_back(count: int, found: str, serves: str) -> None:
    world = deepcopy(
        fresh(DFLASH, replicas=16).run(
            20_000, lambda w: w.replicas().get("dflash") == 8 and all(w.ready(p) for p in w.pods)
        )
    )
    step = silent(world, "dflash", count)
    assert outcome(step) == (found, "Stalled")
    assert step.status.serving is not None
    assert step.status.serving.name == serves


@pytest.mark.parametrize(
    ("count", "serves"), [(1, "dflash"), (2, "baseline"), (3, "baseline")], ids=["one of 3", "two", "all"]
)
def test_what_serves_and_stands_still_is_taken_off(count: int, serves: str) -> None:
    step = silent(served(), "dflash", count)
    assert step.status.serving is not None
    assert step.status.serving.name == serves
    if serves == "baseline":
        assert outcome(step) == ("Unhealthy", "Stalled")
        told = [event.message for event in step.events if event.reason == "NowServing"]
        assert told[0].startswith("baseline serves: dflash gives no token")


@pytest.mark.parametrize(
    ("count", "ready", "available", "reason"),
    [
        (1, "True", "True", "Serving"),
        (2, "False", "True", "EngineFailing"),
        (4, "False", "False", "EngineFailing"),
    ],
)
def test_pods_that_give_no_token_do_not_count_as_answering_and_are_named(
    count: int, ready: str, available: str, reason: str
) -> None:
    step = silent(World(spec(replicas=4)).run(60), "baseline", count)
    found = {kind: step.status.condition(kind) for kind in (Kind.READY, Kind.AVAILABLE)}
    assert [c.status if c else "" for c in found.values()] == [ready, available]
    words = found[Kind.READY]
    assert words is not None
    assert words.reason == reason
    assert "it has given no token since 1970-01-01T00:00:00Z (pod gemma-baseline-" in words.message


def test_a_stall_that_lasts_is_written_once() -> None:
    world = World(spec(replicas=4)).run(100)
    world.engines["baseline"] = Engine(silent=True)
    world.run(300)
    before = world.status
    world.run(600)
    told = [world.status["conditions"], before["conditions"]]
    assert told[0] == told[1]


def test_a_drafter_that_hangs_in_service_gives_its_pods_back() -> None:
    world = served()
    world.engines["dflash"] = replace(FAST, silent=True)
    world.run(900)
    assert world.verdicts() == {"dflash": "Unhealthy"}
    assert world.replicas() == {"baseline": 4}
