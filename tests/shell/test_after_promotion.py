"""What follows a promotion through the real reconciler: killed at every write, and written seldom."""

import pytest

from specdeploy.api.reasons import TrialState
from specdeploy.api.status import BaselineStatus
from specdeploy.rollout import quiet
from tests.fake_cluster import Killed
from tests.shell.stage import START, Stage, spec
from tests.shell.test_story import interesting

SECONDS = 10.0


def arm(stage: Stage) -> BaselineStatus:
    assert stage.status.baseline is not None
    return stage.status.baseline


def promoting(stage: Stage) -> bool:
    trial = stage.status.trial
    return trial is not None and trial.state is TrialState.PROMOTING


def complete(stage: Stage) -> bool:
    return stage.status.trial is None and stage.serving() != "baseline" and stage.now > START + 60


def checked(stage: Stage) -> bool:
    return stage.status.baseline is not None and arm(stage).last_check is not None


async def at_promotion() -> Stage:
    steps = {"soakWindows": 2}
    stage = Stage(spec("dflash", promotion=steps, trial={"deadlineSeconds": 400}), {"dflash": 1.8})
    await stage.run(100, promoting, seconds=SECONDS)
    assert promoting(stage)
    return stage


async def before_a_check(speed: float) -> Stage:
    baseline = {"probationSeconds": 0, "recheckSeconds": 120}
    stage = Stage(spec("dflash", baseline=baseline), {"dflash": 1.8})
    await stage.run(150, lambda s: complete(s) and s.replicas() == {"dflash": 4}, seconds=SECONDS)
    assert stage.replicas() == {"dflash": 4}
    stage.speeds["dflash"] = speed
    return stage


async def end_of(stage: Stage, until) -> Stage:  # type: ignore[no-untyped-def]
    await stage.run(200, until, seconds=SECONDS)
    assert until(stage)
    return stage


async def test_killed_at_any_write_a_promotion_in_steps_comes_to_the_same_end() -> None:
    start = await at_promotion()
    whole = await end_of(start.twin(), complete)
    assert whole.reasons().count("PromotionStep") == 2
    for number in interesting(whole.cluster.writes):
        stage = start.twin()
        stage.cluster.crash_after = number
        with pytest.raises(Killed):
            await stage.run(200, complete, seconds=SECONDS)
        before = stage.status.trial
        stage.restart()
        await stage.look()
        after = stage.status.trial
        if before is not None and after is not None:
            assert (after.step or 0, after.soaked) >= (before.step or 0, before.soaked)
        await end_of(stage, complete)
        found = (stage.verdicts(), stage.serving(), stage.replicas())
        assert found == ({"dflash": "Promoted"}, "dflash", {"baseline": 1, "dflash": 3})


@pytest.mark.parametrize(("speed", "last", "serving"), [(1.8, "Kept", "dflash"), (0.7, "Slower", "baseline")])
async def test_killed_at_any_write_a_recheck_comes_to_the_same_end(
    speed: float, last: str, serving: str
) -> None:
    start = await before_a_check(speed)
    whole = await end_of(start.twin(), checked)
    for number in interesting(whole.cluster.writes):
        stage = start.twin()
        stage.cluster.crash_after = number
        with pytest.raises(Killed):
            await stage.run(200, checked, seconds=SECONDS)
        stage.restart()
        await end_of(stage, checked)
        assert (arm(stage).last_check, stage.serving()) == (last, serving)
        verdict = (stage.status.verdicts or [])[0]
        assert (verdict.reason == "GuardAlarm") is (last == "Slower")


async def test_under_traffic_what_serves_is_written_every_quarter_of_an_hour_and_its_guard_goes_on() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(150, Stage.settled)
    await stage.run(3)
    stage.cluster.writes.clear()
    before = stage.status
    await stage.run(100, seconds=SECONDS)
    assert [verb for verb, _, _ in stage.cluster.writes] == ["status"]
    assert stage.status != before
    assert quiet.loud(stage.status) == quiet.loud(before)


async def test_what_a_process_has_not_written_is_lost_with_it_and_nothing_else() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(150, Stage.settled)
    await stage.run(20, seconds=SECONDS)
    before = stage.cluster.sd()["status"]
    stage.restart()
    await stage.run(20, seconds=SECONDS)
    assert stage.cluster.sd()["status"] == before
    stage.speeds["dflash"] = 0.6
    await stage.run(100, lambda s: s.serving() == "baseline", seconds=SECONDS)
    assert stage.verdicts() == {"dflash": "Slower"}
    assert "Slower" in stage.reasons()


@pytest.mark.parametrize("ahead", [600.0, 43_200.0])
async def test_a_clock_that_was_ahead_and_is_right_again_blinds_no_guard(ahead: float) -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(200, Stage.settled)
    stage.now += ahead
    await stage.run(12)
    stage.now -= ahead
    await stage.run(6)
    stage.speeds["dflash"] = 0.3
    await stage.run(60, lambda s: s.serving() == "baseline")
    assert stage.verdicts() == {"dflash": "Slower"}
    assert stage.reasons().count("ClockWentBack") == 1


async def test_a_clock_that_was_ahead_and_is_right_again_blinds_no_trial() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(60, Stage.measuring)
    stage.now += 21_600
    await stage.run(4)
    stage.now -= 21_600
    await stage.run(6)
    stage.speeds["dflash"] = 0.05
    await stage.run(40, lambda s: bool(s.status.verdicts))
    assert stage.verdicts() == {"dflash": "Disaster"}
