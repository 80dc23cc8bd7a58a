from dataclasses import replace

import pytest

from specdeploy.judge import (
    BASELINE,
    SERVING,
    TRIAL,
    Obstacle,
    PodWindow,
    Reason,
    Settings,
    Use,
    Window,
    assess,
)
from tests.judge.windows import pod, window

IDLE = PodWindow("p", 60.0, 0, 0, 0.0)


def of(baseline: tuple[PodWindow, ...], trial: tuple[PodWindow, ...], seconds: float = 60.0) -> Window:
    return Window(0, seconds, {BASELINE: baseline, TRIAL: trial})


@pytest.mark.parametrize(
    ("each", "use", "reason", "arm"),
    [
        (window(0), Use.USED, None, None),
        (of((), (pod(),)), Use.SKIPPED, Reason.NO_DATA, BASELINE),
        (Window(0, 60.0, {}), Use.SKIPPED, Reason.NO_DATA, BASELINE),
        (of((IDLE,), (IDLE,)), Use.EXTEND, Reason.NO_TRAFFIC, BASELINE),
        (of((IDLE,), (IDLE,), 600.0), Use.SKIPPED, Reason.NO_TRAFFIC, BASELINE),
        (of((pod(),), (IDLE,)), Use.SKIPPED, Reason.NO_TRAFFIC, TRIAL),
        (of((IDLE,), (pod(),)), Use.SKIPPED, Reason.NO_TRAFFIC, BASELINE),
        (of((pod(),), (IDLE._replace(requests_running=2),)), Use.SKIPPED, Reason.STALLED, TRIAL),
        (of((pod(tokens=900),), (pod(tokens=900),)), Use.EXTEND, Reason.NO_TRAFFIC, BASELINE),
        (of((pod(first=9),), (pod(first=9),)), Use.EXTEND, Reason.NO_TRAFFIC, BASELINE),
        (of((pod(tokens=1000, first=10),), (pod(tokens=200, first=2),)), Use.USED, None, None),
        (of((pod(tokens=200, first=2),), (pod(tokens=1000, first=10),)), Use.USED, None, None),
        (of((pod(),), (pod(1.0, tokens=60, first=3),)), Use.USED, None, None),
        (of((pod(),), (pod(restarts=1),)), Use.SKIPPED, Reason.POD_RESTARTED, TRIAL),
        (of((pod(),), (pod(), pod(restarts=1))), Use.USED, None, None),
        (of((pod(tokens=6000), pod(tokens=90000)), (pod(),)), Use.SKIPPED, Reason.UNEVEN, BASELINE),
        (of((pod(tokens=6000), pod(tokens=8000)), (pod(),)), Use.USED, None, None),
        (replace(window(0), seconds=float("nan")), Use.SKIPPED, Reason.BAD_NUMBERS, None),
        (replace(window(0), seconds=0.0), Use.SKIPPED, Reason.BAD_NUMBERS, None),
        (
            replace(window(0), obstacle=Obstacle(Reason.DIFFERENT_IMAGE, "v1 and v2")),
            Use.SKIPPED,
            Reason.DIFFERENT_IMAGE,
            None,
        ),
    ],
)
def test_a_window_counts_or_says_why_not(
    each: Window, use: Use, reason: Reason | None, arm: str | None
) -> None:
    said = assess(each, Settings())
    assert (said.use, said.reason, said.arm) == (use, reason, arm)
    assert bool(said.message) is bool(said.advice) is (use is not Use.USED)


def test_what_serves_must_be_measured_too_where_it_is_compared() -> None:
    comparing = Settings(compare_serving=True)
    assert assess(window(0, serving=1.5), comparing).use is Use.USED
    assert assess(window(0), comparing).arm == SERVING
    assert assess(window(0), Settings()).use is Use.USED


@pytest.mark.parametrize(
    ("ready", "finished", "use"),
    [
        (359.0, None, Use.SKIPPED),
        (360.0, None, Use.USED),
        (None, None, Use.USED),
        (360.0, 49, Use.SKIPPED),
        (360.0, 50, Use.USED),
        (959.0, 49, Use.SKIPPED),
        (960.0, 0, Use.USED),
        (None, 0, Use.USED),
        (float("nan"), None, Use.SKIPPED),
    ],
)
def test_a_pod_is_evidence_after_its_warm_up(ready: float | None, finished: float | None, use: Use) -> None:
    young = pod()._replace(ready_seconds=ready, finished_since_ready=finished)
    for each in (of((pod(),), (young,)), of((young,), (pod(),))):
        said = assess(each, Settings())
        assert said.use is use
        assert said.reason in (None, Reason.WARMING_UP)


def test_a_young_pod_beside_a_warm_one_is_left_out() -> None:
    both = of((pod(),), (pod(50, ready_seconds=4000), pod(5, tokens=2400, ready_seconds=100)))
    assert assess(both, Settings()).use is Use.USED
