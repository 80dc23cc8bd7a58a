"""Engines that hang while /health says 200: on trial, while they take over, while they serve."""

from dataclasses import replace

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.rollout import Exit, Step, advance
from specdeploy.rollout.observation import Pod, Sign, Silence
from specdeploy.rollout.stalls import Remade, with_stalls
from tests.rollout.scenes import DFLASH, EAGLE, FAST, fresh, on_trial, served
from tests.rollout.world import Engine, World, spec

MINUTE, LASTS = Silence(0.0, 60.0), Silence(0.0, 300.0)
LOOPS = {"restarts": 3, "ready": False, "started": False, "waiting": ("CrashLoopBackOff", "back-off")}
CRASHED = Exit(1, "Error", "ValueError: no")


def silent(world: World, drafter: str, count: int, silence: Silence = MINUTE) -> Step:
    """A pass in which so many pods of a drafter are so."""
    seen = world.peek()
    mine = [(p.uid, p.restarts) for p in seen.pods if f"-{drafter}-" in p.name]
    assert len(mine) >= count
    signs = {(p.uid, p.restarts): Sign(0.0, True) for p in seen.pods}
    signs |= dict.fromkeys(mine[:count], Sign(silence.seconds + 30, False, silence))
    stalled = with_stalls(seen.pods, signs, Remade())
    return advance(replace(seen, pods=stalled, window=None), world.known)


def outcome(step: Step) -> tuple[str, str | None] | None:
    verdict = next(iter(step.status.verdicts or []), None)
    return (verdict.outcome.value, verdict.reason) if verdict else None


@pytest.mark.parametrize(
    ("silence", "words"),
    [
        (Silence(0.0, 55.0), "left a request for one token unanswered"),
        (Silence(0.0, 65.0, asked=False), "held requests without a token"),
        (Silence(0.0, 54.0), None),
        (Silence(0.0, 0.0), None),
    ],
    ids=["a late pass, then a punctual one", "it takes no questions", "too short", "one reading"],
)
def test_no_token_for_a_minute_ends_a_trial(silence: Silence, words: str | None) -> None:
    step = silent(on_trial("Measuring"), "eagle", 1, silence)
    assert outcome(step) == (None if words is None else ("Unhealthy", "Stalled"))
    for verdict in step.status.verdicts or []:
        told = f"eagle: its engine stands still: it has {words} since 1970-01-01T00:00:00Z (pod gemma-eagle-"
        assert (verdict.message or "").startswith(told)


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
    ("count", "silence", "found"),
    [(1, LASTS, "Inconclusive"), (4, LASTS, "Unhealthy"), (4, MINUTE, "Promoted"), (1, MINUTE, "Promoted")],
)
def test_a_promotion_goes_back_when_its_pods_stand_still_for_longer_than_an_engine_compiles(
    count: int, silence: Silence, found: str
) -> None:
    world = fresh(DFLASH, replicas=16).run(
        20_000, lambda w: w.replicas().get("dflash") == 8 and all(w.ready(p) for p in w.pods)
    )
    step = silent(world, "dflash", count, silence)
    told = outcome(step)
    assert told is not None
    assert told[0] == found
    assert step.status.serving is not None
    assert step.status.serving.name == ("dflash" if found == "Promoted" else "baseline")


@pytest.mark.parametrize(
    ("count", "silence", "serves"),
    [
        (1, LASTS, "dflash"),
        (2, LASTS, "baseline"),
        (3, LASTS, "baseline"),
        (3, MINUTE, "dflash"),
    ],
    ids=["one of 3", "two", "all", "for a minute"],
)
def test_what_serves_and_stands_still_is_taken_off(count: int, silence: Silence, serves: str) -> None:
    step = silent(served(), "dflash", count, silence)
    assert step.status.serving is not None
    assert step.status.serving.name == serves
    if serves == "baseline":
        assert outcome(step) == ("Unhealthy", "Stalled")
        told = [event.message for event in step.events if event.reason == "NowServing"]
        assert told[0].startswith("baseline serves: dflash gives no token")
        assert step.status.rollback is not None


def test_no_drafter_is_taken_off_while_the_baseline_stands_still_too() -> None:
    world = served()
    for name in ("dflash", "baseline"):
        world.engines[name] = Engine(silent=True)
    world.run(900)
    assert world.verdicts() == {"dflash": "Promoted"}
    assert world.serving() == "dflash"


@pytest.mark.parametrize(
    ("count", "ready", "available", "reason"),
    [
        (1, "True", "True", "Serving"),
        (2, "False", "True", "EngineFailing"),
        (4, "False", "False", "EngineFailing"),
    ],
)
def test_pods_that_stand_still_do_not_count_as_answering_and_are_named(
    count: int, ready: str, available: str, reason: str
) -> None:
    step = silent(World(spec(replicas=4)).run(60), "baseline", count)
    found = {kind: step.status.condition(kind) for kind in (Kind.READY, Kind.AVAILABLE)}
    assert [c.status if c else "" for c in found.values()] == [ready, available]
    words = found[Kind.READY]
    assert words is not None
    assert words.reason == reason
    assert "unanswered since 1970-01-01T00:00:00Z (pod gemma-baseline-" in words.message
    [event] = [event.message for event in step.events if event.reason == "EngineStalled"]
    assert "no sign of life since 1970-01-01T00:00:00Z" in event
    assert f"Warning: {event}." in (step.status.message or "")


def test_a_stall_that_lasts_is_told_once() -> None:
    world = World(spec(replicas=4), engines={"baseline": Engine(silent=True, load=5000)})
    world.engines["baseline"] = Engine()
    world.run(100)
    for pod in world.pods[1:]:
        pod.drafter = "others"
    world.engines["baseline"] = Engine(silent=True)
    world.run(600)
    assert sum("EngineStalled" in event for event in world.events) == 1


def pod(
    name: str, seconds: float | None, *, template: str = "t", ready: bool = True, moves: bool = False
) -> Pod:
    silence = None if seconds is None else Silence(0.0, seconds)
    return Pod(
        name=name,
        uid=name,
        template=template,
        created=0.0,
        ready=ready,
        started=ready,
        silence=silence,
        moves=moves,
    )


@pytest.mark.parametrize(
    ("others", "dead"),
    [
        ([pod("b", 400.0)], True),
        ([pod("b", 200.0)], False),
        ([pod("b", None)], False),
        ([pod("b", None, ready=False)], False),
        ([pod("b", None, template="other")], True),
    ],
    ids=["all stand still", "one not for long", "one serves", "one loads", "another Deployment's serves"],
)
def test_a_pod_is_dead_where_none_of_its_deployment_lives_or_loads(others: list[Pod], dead: bool) -> None:
    pods = [pod("a", 400.0), *others]
    signs = {(p.uid, 0): Sign(0.0, False, p.silence) for p in pods}
    seen = {p.name: p for p in with_stalls(pods, signs, Remade())}
    assert seen["a"].dead is dead
    assert seen["a"].ready is not dead


def test_where_gauges_alone_tell_of_it_no_pod_is_dead() -> None:
    signs = {("a", 0): Sign(900.0, False, Silence(0.0, 900.0, asked=False))}
    [seen] = with_stalls([pod("a", None)], signs, Remade())
    assert (seen.dead, seen.answers) == (False, False)


def test_pods_that_die_again_and_again_are_given_longer_each_time_until_one_moves() -> None:
    remade, patience = Remade(), []
    for _ in range(6):
        patience.append(remade.patience("t"))
        for dead in (True, True, False):
            remade = remade.after((replace(pod("a", None), dead=dead),))
    assert patience == [300, 600, 1200, 2400, 3600, 3600]
    remade = remade.after((pod("a", None, moves=True),))
    assert remade.patience("t") == 300


def test_pods_that_could_not_be_taken_at_once_stay_dead() -> None:
    """The write may fail, or the operator end: they are not given twice as long for that."""
    remade, signs = Remade(), {("a", 0): Sign(400.0, False, Silence(0.0, 400.0))}
    for _ in range(3):
        seen = with_stalls([pod("a", None)], signs, remade)
        assert [p.dead for p in seen] == [True]
        remade = remade.after(seen)


def test_a_drafter_that_hangs_in_service_gives_its_pods_back() -> None:
    world = served()
    world.engines["dflash"] = replace(FAST, silent=True)
    world.run(1500)
    assert world.verdicts() == {"dflash": "Unhealthy"}
    assert world.replicas() == {"baseline": 4}


def test_a_baseline_that_stands_still_is_made_anew_and_its_trial_goes_on() -> None:
    world = on_trial("Measuring")
    before = {pod.uid for pod in world.pods if pod.drafter == "baseline"}
    world.engines["baseline"] = Engine(silent=True)
    world.run(500, lambda w: not before & {pod.uid for pod in w.pods})
    assert not before & {pod.uid for pod in world.pods}
    world.engines["baseline"] = Engine()
    world.settle()
    assert world.verdicts() == {"eagle": "Promoted"}
