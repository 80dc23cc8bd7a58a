"""How trials end, one by one, and what their verdicts say."""

from dataclasses import replace

import pytest

from specdeploy.api.reasons import Condition as Kind
from specdeploy.rollout import Exit, Pod, advance
from tests.rollout.scenes import DFLASH, EAGLE, fresh, on_trial, served
from tests.rollout.world import FREE_MEMORY, Engine, World, drafter

LAST_WORDS = "ValueError: There is no module or parameter named 'model' in Eagle3Model"


def crash(code: int = 1, message: str = LAST_WORDS, reason: str = "Error") -> Engine:
    return Engine(crash=Exit(code, reason, message))


@pytest.mark.parametrize(
    ("engine", "outcome", "reason"),
    [
        (crash(), "Unhealthy", "Crashed"),
        (crash(2, "vllm serve: error: unrecognized arguments"), "Unhealthy", "BadConfig"),
        (crash(0, "EngineDeadError: EngineCore died"), "Unhealthy", "EngineDied"),
        (crash(137, "", "OOMKilled"), "Unhealthy", "OOMKilled"),
        (crash(1, FREE_MEMORY), "Unhealthy", "Crashed"),
        (Engine(never_ready=True), "Unhealthy", "NeverReady"),
        (Engine(never_created=True), "Inconclusive", "NeverStarted"),
        (Engine(silent=True), "Unhealthy", "Stalled"),
        (Engine(speed=0.4), "Disaster", "FarSlowerThanBaseline"),
        (Engine(speed=0.85), "Slower", "SlowerThanBaseline"),
        (Engine(speed=1.0), "NotWorthIt", "BelowMinimumEffect"),
        (Engine(speed=1.5), "Promoted", "ProvenFaster"),
        (Engine(speed=1.5, refusals=1), "Promoted", "ProvenFaster"),
        (Engine(refusals=2), "Unhealthy", "Crashed"),
    ],
)
def test_how_a_trial_ends(engine: Engine, outcome: str, reason: str) -> None:
    world = fresh(EAGLE, trial={"deadlineSeconds": 4000}, engine={"startupSeconds": 120})
    world.engines["eagle"] = engine
    world.noise = 0.01
    world.settle()
    [verdict] = world.typed.verdicts or []
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert (verdict.message or "").startswith("eagle: ")
    assert world.replicas() == ({"baseline": 1, "eagle": 3} if outcome == "Promoted" else {"baseline": 4})


def test_a_disaster_says_how_slow_it_was_although_no_window_was_evidence() -> None:
    world = fresh(EAGLE, trial={"warmupSeconds": 300})
    world.engines["eagle"] = Engine(speed=0.4)
    world.settle()
    [verdict] = world.typed.verdicts or []
    assert verdict.outcome == "Disaster"
    assert 0.35 < float(verdict.ratio or 0) < 0.45
    assert (verdict.lower, verdict.upper, verdict.windows) == (None, None, 0)
    assert len(verdict.recent or []) >= 2
    assert all(300 < ratio < 500 for ratio in verdict.recent or [])


def test_the_picture_of_a_trial_has_every_window_in_which_both_arms_could_be_measured() -> None:
    world = on_trial("Measuring").run(150)
    trial = world.typed.trial
    assert trial is not None
    assert len(trial.recent or []) > trial.windows
    world.settle()
    [verdict] = world.typed.verdicts or []
    assert len(verdict.recent or []) >= (verdict.windows or 0)


@pytest.mark.parametrize("speed", [0.4, 0.44])
def test_a_disaster_is_off_traffic_three_windows_after_its_measurement_began(speed: float) -> None:
    world = fresh()
    world.engines["eagle"] = Engine(speed=speed)
    world.tick = 1
    world.run(2000, lambda w: bool(w.typed.trial and w.typed.trial.first_window_time))
    began = world.now
    world.run(2000, lambda w: "eagle" not in w.replicas())
    assert world.now - began <= 3 * 10


def test_after_a_failed_trial_the_next_drafter_takes_over_the_slot() -> None:
    world = fresh(EAGLE, DFLASH)
    world.engines["eagle"] = crash()
    world.run(2000, lambda w: "eagle" in w.verdicts())
    world.run(20)
    assert world.typed.trial is not None
    assert world.typed.trial.drafter == "dflash"
    assert world.replicas()["baseline"] == 3


def test_after_no_capacity_the_slot_is_given_back_before_another_drafter_is_tried() -> None:
    world = on_trial("Starting").change(drafters=[EAGLE, DFLASH])
    world.gpus = 3
    world.run(200)
    assert world.verdicts() == {"eagle": "NoCapacity"}
    assert world.state == "WaitingForCapacity"
    assert world.replicas() == {"baseline": 4}
    assert "no node took the last trial's pod; tried again at" in str(world.typed.message)
    world.gpus = 4
    world.settle()
    assert world.serving() == "dflash"


def test_a_trial_whose_pods_are_refused_at_creation_gives_its_place_back_with_the_words() -> None:
    """Pods that a quota or a policy refuses do not exist: the trial held its place for a day."""
    world = on_trial("Starting")
    world.delete_deployment("eagle")
    world.quota = {"eagle": 'pods "x" is forbidden: violates PodSecurity "restricted"'}
    world.run(60)
    assert "(PodsRefused)" in str(world.typed.message)
    world.run(140)
    [verdict] = world.typed.verdicts or []
    assert (verdict.outcome, verdict.reason) == ("NoCapacity", "PodsRefused")
    assert "violates PodSecurity" in (verdict.message or "")
    assert world.replicas() == {"baseline": 4}


def test_capacity_that_cannot_be_given_back_is_called_lost_until_it_is_back() -> None:
    world = on_trial("Starting")
    world.gpus = 3
    world.run(300)
    assert world.reason(Kind.AVAILABLE) == "CapacityLost"
    assert "3 pods answer; pod gemma-baseline-" in world.condition(Kind.AVAILABLE).message
    assert world.typed.capacity is not None
    assert world.typed.capacity.lost == 1
    world.run(600)
    assert world.state == "-"
    world.gpus = 4
    world.run(60)
    assert world.reason(Kind.AVAILABLE) == "Serving"


def test_pods_that_a_scale_up_cannot_place_are_not_called_lost() -> None:
    world = served()
    world.gpus = 4
    world.change(replicas=6).run(600)
    assert world.reason(Kind.AVAILABLE) == "Serving"
    assert world.reason(Kind.READY) == "Unschedulable"
    assert world.typed.capacity is not None
    assert world.typed.capacity.lost == 0


def test_an_image_that_cannot_be_pulled_is_not_the_drafters_fault() -> None:
    world = on_trial("Starting").run(20)
    seen = world.observe()
    pods = tuple(
        replace(p, waiting=("ImagePullBackOff", "registry is down")) if "eagle" in p.name else p
        for p in seen.pods
    )
    step = advance(replace(seen, pods=pods), world.typed)
    [verdict] = step.status.verdicts or []
    assert (verdict.outcome, verdict.reason) == ("Inconclusive", "ImagePullBackOff")
    assert verdict.retry_time is not None


@pytest.mark.parametrize("trouble", ["replicas", "edits"])
def test_a_trial_that_is_disturbed_again_and_again_is_tried_less_and_less_often(trouble: str) -> None:
    """An autoscaler around the fewest replicas of a trial loaded an engine every 12 minutes, and no verdict
    ever came; so did a controller that edits every Deployment."""
    world = fresh(replicas=2)
    world.engines["eagle"].load = 300

    def edit(now: World) -> None:
        for live in now.deployments.values():
            live.edited = live.edited or (live.drafter == "eagle" and now.state == "WarmingUp")

    world.watch = edit if trouble == "edits" else None
    for _ in range(20):
        world.change(replicas=2).run(600)
        if trouble == "replicas":
            world.change(replicas=1).run(120)
    assert sum("TrialStarted" in event for event in world.events) == 7
    assert world.verdicts() == {"eagle": "Aborted"}
    assert str(world.typed.message).count("eagle is tried again at") == 1
    too_few = "but a trial needs 2 replicas (there are 1); scale up"
    assert (too_few in str(world.typed.message)) == (trouble == "replicas")


# -- promotions -----------------------------------------------------------------------------------------


def test_a_promotion_whose_engines_crash_goes_back_pod_by_pod_and_the_drafter_is_quarantined() -> None:
    world = on_trial("Promoting").run(40)
    assert world.replicas()["eagle"] > 1
    world.engines["eagle"] = crash()
    world.run(300)
    assert world.serving() == "baseline"
    assert world.replicas() == {"baseline": 4}
    assert world.verdicts() == {"eagle": "Unhealthy"}
    assert any("while it took over" in event for event in world.events)


def test_a_reversed_promotion_does_not_take_the_healthy_pods_at_once() -> None:
    world = fresh(replicas=8)
    world.run(3000, lambda w: w.state == "Promoting" and w.replicas().get("eagle", 0) >= 5)
    world.run(60, lambda w: all(w.ready(p) for p in w.pods))
    victim = next(p for p in world.pods if p.drafter == "eagle")
    world.engines["eagle"].crash = Exit(1, "Error", LAST_WORDS)
    least = 8

    def mend(now: World) -> None:
        nonlocal least
        for pod in now.pods:
            pod.failing = None if pod is not victim else pod.failing
        least = min(least, sum(now.ready(p) for p in now.pods))

    world.watch = mend
    world.run(600, lambda w: w.replicas() == {"baseline": 8})
    assert world.replicas() == {"baseline": 8}
    assert least >= 6


def test_a_proven_drafter_is_promoted_when_the_pause_ends_however_long_it_lasted() -> None:
    world = on_trial("Measuring")
    world.change(paused=True, trial={**world.spec["trial"], "totalDeadlineSeconds": 1200})
    world.run(1300)
    assert world.state == "Measuring"
    assert "paused: if proven it is promoted when the pause ends" in str(world.typed.message)
    world.change(paused=False).run(30).settle()
    assert world.serving() == "eagle"


@pytest.mark.parametrize("way", ["spec", "annotation"])
def test_while_paused_no_trial_starts_and_a_promotion_stands_still(way: str) -> None:
    def pause(world: World, value: bool) -> None:
        if way == "spec":
            world.change(paused=value)
        world.annotations = {"specdeploy.dev/paused": "true"} if way != "spec" and value else {}

    waiting = fresh()
    pause(waiting, True)
    waiting.run(120)
    assert waiting.state == "-"
    assert waiting.reason(Kind.TRIALING) == "Paused"
    moving = on_trial("Promoting").run(20)
    pause(moving, True)
    before = moving.replicas()["baseline"]
    moving.run(300)
    assert moving.replicas()["baseline"] == before
    assert moving.state == "Promoting"
    pause(moving, False)
    assert moving.run(20).settle().serving() == "eagle"


def test_while_paused_a_disaster_is_rolled_back() -> None:
    world = on_trial("WarmingUp").change(paused=True)
    world.engines["eagle"] = Engine(speed=0.4)
    world.run(200)
    assert world.verdicts() == {"eagle": "Disaster"}
    assert world.replicas() == {"baseline": 4}


def test_what_served_before_becomes_the_runner_up_and_is_fallen_back_to() -> None:
    world = fresh(EAGLE, DFLASH)
    world.settle()
    assert world.verdicts() == {"eagle": "RunnerUp", "dflash": "Promoted"}
    world.engines["dflash"] = crash(0, "EngineDeadError: EngineCore died")
    world.run(200).settle()
    assert world.replicas() == {"baseline": 1, "eagle": 3}
    assert world.verdicts() == {"eagle": "RunnerUp", "dflash": "Unhealthy"}


@pytest.mark.parametrize(
    ("replicas", "looping", "serves"),
    [(2, 1, "baseline"), (3, 1, "dflash"), (3, 2, "baseline"), (4, 1, "dflash"), (7, 2, "dflash")],
)
def test_only_engines_of_half_the_arm_that_crash_again_and_again_take_a_proven_drafter_off(
    replicas: int, looping: int, serves: str
) -> None:
    """One unlucky pod, on a sick node, took a proven drafter off the whole fleet."""
    world = served().change(replicas=replicas)
    world.run(200)
    crashing = [p for p in world.pods if p.drafter == "dflash"][:looping]
    world.engines["dflash"] = Engine(speed=1.8, crash=Exit(1, "Error", LAST_WORDS))

    def only_those(now: World) -> None:
        for pod in now.pods:
            if pod not in crashing:
                pod.failing = None

    world.watch = only_those
    world.run(400, lambda w: w.serving() == "baseline")
    assert world.serving() == serves
    if serves == "dflash":
        assert LAST_WORDS in world.condition(Kind.READY).message
        assert LAST_WORDS in str(world.typed.message)


def staggered(pods: tuple[Pod, ...], ran: float, load: float, up: float, back: float) -> tuple[Pod, ...]:
    """Pods whose engines load, serve, crash and wait, each of them at another point of that circle."""
    ended, circle = Exit(1, "Error", LAST_WORDS, ran), back + load + up
    seen = []
    for place, pod in enumerate(pods):
        at = circle * place / len(pods)
        waits = ("CrashLoopBackOff", "back-off") if at < back else None
        serves = at >= back + load
        seen.append(replace(pod, ready=serves, started=serves, waiting=waits, restarts=9, exit=ended))
    return tuple(seen)


@pytest.mark.parametrize(
    ("ran", "load", "up", "back", "serves"),
    [
        (1200.0, 900.0, 300.0, 10.0, "baseline"),
        (420.0, 300.0, 120.0, 40.0, "baseline"),
        (50.0, 20.0, 30.0, 300.0, "baseline"),
        (1200.0, 300.0, 900.0, 10.0, "dflash"),
        (9 * 86400.0, 900.0, 300.0, 10.0, "dflash"),
    ],
    ids=["slow-load", "quick-crash", "long-back-off", "most-are-up", "crashed-often-in-a-long-life"],
)
def test_engines_that_crash_again_and_again_are_found_also_while_they_load(
    ran: float, load: float, up: float, back: float, serves: str
) -> None:
    """Only pods in their back-off were counted: 10 s of 20 min where an engine loads for long."""
    world = served().change(replicas=9).run(200)
    seen = world.peek()
    mine = tuple(p for p in seen.pods if "dflash" in p.name)
    others = tuple(p for p in seen.pods if p not in mine)
    pods = (*others, *staggered(mine, ran, load, up, back))
    step = advance(replace(seen, pods=pods, window=None), world.known)
    assert step.status.serving is not None
    assert step.status.serving.name == serves


def test_a_refused_deployment_ends_its_trial_with_the_api_servers_words() -> None:
    world = fresh(EAGLE, drafter("other"))
    world.run(30, lambda w: w.state == "Starting")
    trial = world.typed.trial
    assert trial is not None
    world.refused = {trial.template: "spec.template.spec.containers[0]: Invalid value"}
    world.step()
    [verdict] = world.typed.verdicts or []
    assert (verdict.outcome, verdict.reason) == ("Invalid", "Refused")
    assert "Invalid value" in (verdict.message or "")
    world.refused = {}
    world.settle(600)
    assert world.verdicts()["eagle"] == "Invalid"
    world.annotate("retry", "eagle")
    world.run(30).settle()
    assert world.serving() == "eagle"


def test_a_serving_drafter_that_crashes_is_taken_off_even_while_the_spec_is_wrong() -> None:
    world = served().change(engine={"args": ["--port=1"]}).run(20)
    world.engines["dflash"] = crash(0, "EngineDeadError: EngineCore died")
    world.run(300)
    assert world.serving() == "baseline"
    assert world.replicas() == {"baseline": 4}
