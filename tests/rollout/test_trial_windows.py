"""What a change of the window's length, an edited arm and unknown fields do to a trial."""

from dataclasses import replace

from specdeploy.api.findings import read_status
from specdeploy.api.status import seconds
from specdeploy.judge import unpack
from specdeploy.rollout import Exit, advance, plan
from tests.rollout.scenes import DFLASH, EAGLE, MTP, fresh, on_trial
from tests.rollout.world import Engine, World, drafter, spec


def measured_world() -> World:
    world = World(spec(drafter("fast"), replicas=3), engines={"fast": Engine(speed=1.05)})
    return world.run(600, until=lambda w: (w.typed.trial.windows if w.typed.trial else 0) >= 5)


def test_another_window_length_starts_the_evidence_anew_and_says_so() -> None:
    world = measured_world()
    trial = world.typed.trial
    assert trial is not None
    assert trial.windows == 5
    world.change(trial={**world.spec["trial"], "windowSeconds": 30})
    world._window = -1
    world.run(
        300,
        until=lambda w: bool(
            w.typed.trial and w.typed.trial.window_seconds == 30 and w.typed.trial.windows == 2
        ),
    )
    trial = world.typed.trial
    assert trial is not None
    assert trial.window_seconds == 30
    assert trial.windows == 2
    assert any("measured anew: trial.windowSeconds went from 10 to 30" in line for line in world.transcript)


def test_what_was_compared_with_one_serving_drafter_is_forgotten_when_another_serves() -> None:
    """Else the ratio against what serves is a mix of two drafters, and may promote the slower one."""
    world = fresh(DFLASH, EAGLE, MTP)
    world.engines["mtp"] = Engine(speed=1.75)
    world.run(9000, lambda w: w.typed.trial is not None and w.typed.trial.drafter == "mtp")
    world.run(600, lambda w: w.state == "Measuring").run(150)
    before = world.typed.trial
    assert before is not None
    assert world.typed.serving is not None
    assert before.compared == world.typed.serving.revision
    assert unpack(before.evidence or "").serving.whole.n == before.windows > 10
    world.engines["dflash"] = Engine(crash=Exit(1, "Error", "ValueError: gone"))
    world.run(200, lambda w: w.serving() == "eagle")
    world.engines["dflash"] = Engine(speed=1.8)
    world.run(100, lambda w: w.typed.trial is not None and w.typed.trial.compared != before.compared)
    now = world.typed.trial
    assert now is not None
    assert now.drafter == "mtp"
    assert unpack(now.evidence or "").serving.whole.n <= 1
    assert now.windows > before.windows
    assert world.settle().serving() == "mtp"


def told(world: World, duration: float) -> list[str]:
    """The sentences of this time, one after the other, each once."""
    sentences: list[str] = []
    for _ in range(int(duration / world.tick)):
        world.step()
        text = str(world.typed.message)
        if not sentences or sentences[-1] != text:
            sentences.append(text)
    return sentences


def test_a_window_that_does_not_count_is_explained_with_what_to_do() -> None:
    world = on_trial("Measuring").run(100)
    world.traffic = False
    sentences = told(world, 300)
    assert "Last window: NoData (check that the pods are ready" in sentences[-1]
    assert len(sentences) <= 4
    world.traffic = True
    assert "Last window" not in told(world, 60)[-1]


def test_windows_that_grow_for_want_of_traffic_are_told_and_change_nothing_from_pass_to_pass() -> None:
    world = on_trial("Measuring").run(100)
    last = world.typed.trial and world.typed.trial.last_window_time
    world.windows = False
    sentences = told(world, 300)
    assert f"No window since {last}: waiting for traffic." in sentences[-1]
    assert len(sentences) <= 2


def test_measurement_begins_with_the_first_window_in_which_both_arms_were_measured() -> None:
    world = on_trial("WarmingUp")
    world.traffic = False
    world.run(100)
    assert world.typed.trial is not None
    assert world.typed.trial.last_window_time is not None
    assert world.typed.trial.first_window_time is None
    began = world.now
    world.traffic = True
    world.settle()
    [verdict] = world.typed.verdicts or []
    assert verdict.first_window_time is not None
    assert abs(seconds(verdict.first_window_time) - began) <= 2 * world.window_seconds


def test_an_edited_trial_arm_is_made_anew_as_its_trial_starts_and_what_serves_never() -> None:
    world = World(spec(drafter("fast"), replicas=3)).run(
        120, until=lambda w: w.typed.trial is not None and len(w.deployments) == 2
    )
    seen = world.observe()
    edited = replace(seen, deployments=tuple(replace(d, edited=True) for d in seen.deployments))
    stored = read_status(world.status)[0]
    assert stored.trial is not None
    assert [d.template for d in plan(edited, stored).delete] == [stored.trial.template]


def test_fields_of_a_newer_schema_are_told_once_for_each_generation() -> None:
    world = World(spec(drafter("fast"), replicas=2, promotion={"mode": "Manual"}))
    first = advance(world.observe(), read_status(world.status)[0])
    again = advance(world.observe(), first.status)
    told = [event.message for event in first.events if event.reason == "UnknownFields"]
    assert len(told) == 1
    assert told[0].startswith("spec.promotion.mode: ")
    assert "UnknownFields" not in [event.reason for event in again.events]


def test_engines_that_load_for_the_first_time_are_starting_not_failing() -> None:
    world = World(spec(replicas=2))
    reasons = set()
    for _ in range(8):
        world.step()
        ready = world.typed.condition("Ready")  # type: ignore[arg-type]
        reasons.add(ready.reason if ready else "")
    assert reasons == {"Starting", "Serving"}
