"""One plan for one moment: which replicas are written, what is created and deleted."""

from dataclasses import dataclass

import pytest

from specdeploy.api.findings import read_spec
from specdeploy.api.reasons import TrialState
from specdeploy.api.status import BaselineStatus, Serving, Status, TrialStatus, instant
from specdeploy.engine.revision import RENDER_VERSION, Template, templates
from specdeploy.rollout import Deployment, Observation, Plan, Pod, plan
from tests.rollout.scenes import DFLASH, EAGLE
from tests.rollout.world import IMAGE, START, spec

B, D, E = "baseline", "dflash", "eagle"


@dataclass(frozen=True)
class Arm:
    """A Deployment and its pods. `dropped_out`: up, and not ready just now."""

    replicas: int
    ready: int = 0
    loading: int = 0
    leaving: int = 0
    dropped_out: int = 0


def whole(n: int) -> Arm:
    return Arm(n, ready=n)


def template(name: str) -> Template:
    read = read_spec(spec(DFLASH, EAGLE)).spec
    assert read is not None
    arms = templates("gemma", read, IMAGE)
    return next(t for t in (arms.baseline, *arms.drafters) if t.drafter == name)


def pods(name: str, arm: Arm) -> list[Pod]:
    kinds = ["ready"] * arm.ready + ["loading"] * arm.loading + ["leaving"] * arm.leaving
    kinds += ["dropped-out"] * arm.dropped_out
    return [
        Pod(
            name=f"{name}-{i}", uid=f"{name}-{i}", template=template(name).hash, created=START, node="n1",
            ready=kind == "ready", started=kind != "loading", terminating=kind == "leaving",
        )
        for i, kind in enumerate(kinds)
    ]  # fmt: skip


def deployment(name: str, replicas: int, *, ours: bool = True, deleting: bool = False) -> Deployment:
    t = template(name)
    return Deployment(
        name=f"gemma-{name}", uid=name, resource_version="1", template=t.hash, revision=t.revision,
        drafter=name, shape=t.shape, render_version=RENDER_VERSION, replicas=replicas, ours=ours,
        deleting=deleting,
    )  # fmt: skip


def observation(
    replicas: int, arms: dict[str, Arm], *, deleting: str = "", foreign: str = "", **more: object
) -> Observation:
    return Observation(
        now=START, name="gemma", namespace="default", uid="u", generation=1, created=START,
        reading=read_spec(spec(DFLASH, EAGLE, replicas=replicas, **more)),
        deployments=tuple(
            deployment(name, arm.replicas, ours=name != foreign, deleting=name == deleting)
            for name, arm in arms.items()
        ),
        pods=tuple(pod for name, arm in arms.items() for pod in pods(name, arm)),
        default_image=IMAGE,
    )  # fmt: skip


def status(serving: str, trial: str = "", state: TrialState = TrialState.MEASURING, back: str = "") -> Status:
    def serves(name: str) -> Serving:
        t = template(name)
        return Serving(name=name, revision=t.revision, template=t.hash, since=instant(START))

    base, moment = template(B), instant(START)
    running = None
    if trial:
        t = template(trial)
        running = TrialStatus(
            drafter=trial, revision=t.revision, template=t.hash, attempt=1, state=state, start_time=moment,
            state_time=moment, fallback=serves(back) if back else None,
        )  # fmt: skip
    arm = BaselineStatus(revision=base.revision, template=base.hash, since=moment)
    return Status(serving=serves(serving), baseline=arm, trial=running)


def counts(todo: Plan) -> dict[str, int]:
    return {
        **{d.drafter: n for d, n in todo.scale},
        **{t.drafter: n for t, n in todo.create},
    }


PROMOTING, BACK, STARTING = TrialState.PROMOTING, TrialState.ROLLING_BACK, TrialState.STARTING


@pytest.mark.parametrize(
    ("replicas", "stored", "arms", "written"),
    [
        # bringing up, scaling
        (4, status(B), {}, {B: 4}),
        (4, status(B), {B: whole(4)}, {}),
        (6, status(B), {B: whole(4)}, {B: 6}),
        (1, status(B), {B: whole(4)}, {B: 1}),
        (0, status(D), {B: whole(1), D: whole(3)}, {B: 0, D: 0}),
        (4, status(D), {B: Arm(0), D: Arm(0)}, {B: 1, D: 3}),
        (2, status(D), {B: whole(1), D: whole(3)}, {D: 1}),
        # borrowing: one pod down, and another up in the pass that sees it leave
        (4, status(B, E, STARTING), {B: whole(4)}, {B: 3, E: 0}),
        (4, status(B, E, STARTING), {B: Arm(3, ready=4), E: Arm(0)}, {}),
        (4, status(B, E, STARTING), {B: Arm(3, ready=3, leaving=1), E: Arm(0)}, {E: 1}),
        (4, status(B, E, STARTING), {B: Arm(4, ready=3, loading=1)}, {B: 3, E: 0}),
        (4, status(B, E, STARTING), {B: Arm(4, ready=4, leaving=1)}, {E: 0}),
        # a trial that is rolled back goes by one write; its place is filled when its pod leaves
        (4, status(B, E, BACK), {B: whole(3), E: whole(1)}, {E: 0}),
        (4, status(B, E, BACK), {B: whole(3), E: Arm(0, leaving=1)}, {B: 4}),
        # a promotion moves pod by pod
        (4, status(E, E, PROMOTING), {B: whole(3), E: whole(1)}, {B: 2}),
        (4, status(E, E, PROMOTING), {B: Arm(2, ready=2, leaving=1), E: whole(1)}, {E: 2}),
        (4, status(E, E, PROMOTING), {B: Arm(2, ready=2), E: whole(1)}, {E: 2}),
        (4, status(E, E, PROMOTING), {B: whole(2), E: Arm(2, ready=1, loading=1)}, {}),
        (4, status(E, E, PROMOTING), {B: whole(2), E: whole(2)}, {B: 1}),
        (4, status(E, E, PROMOTING), {B: whole(1), E: whole(3)}, {}),
        (8, status(E, E, PROMOTING), {B: Arm(6, ready=0, dropped_out=6), E: whole(2)}, {}),
        # and back pod by pod, those that serve nobody first
        (8, status(B, E, BACK, back=B), {B: whole(2), E: whole(6)}, {E: 5}),
        (8, status(B, E, BACK, back=B), {B: whole(2), E: Arm(6, ready=4, loading=2)}, {E: 4}),
        (4, status(B), {B: whole(1), D: Arm(3, loading=3)}, {D: 0}),
        # somebody scaled what is ours
        (4, status(B), {B: whole(9)}, {B: 4}),
        (4, status(B), {B: whole(4), E: whole(2)}, {E: 0}),
    ],
)
def test_what_is_written_next(
    replicas: int, stored: Status, arms: dict[str, Arm], written: dict[str, int]
) -> None:
    assert counts(plan(observation(replicas, arms), stored)) == written


@pytest.mark.parametrize(
    ("stored", "arms", "deleted"),
    [
        (status(B), {B: whole(4), E: Arm(0)}, [E]),
        (status(B), {B: whole(4), E: Arm(0, leaving=1)}, []),
        (status(B, E, BACK), {B: whole(4), E: Arm(0)}, []),
        (status(B, E, TrialState.WAITING_FOR_SLOT), {B: whole(4), E: Arm(0)}, []),
        (status(E, E, PROMOTING, back=D), {B: whole(1), E: whole(3), D: Arm(0)}, []),
        (status(E), {B: whole(1), E: whole(3), D: Arm(0)}, [D]),
    ],
)
def test_a_deployment_without_a_role_is_deleted_once_its_pods_are_gone(
    stored: Status, arms: dict[str, Arm], deleted: list[str]
) -> None:
    assert [d.drafter for d in plan(observation(4, arms), stored).delete] == deleted


def test_nothing_is_made_before_anything_serves() -> None:
    assert plan(observation(4, {}), Status()) == Plan()


def test_a_deployment_that_is_on_its_way_out_is_not_made_before_it_is_gone() -> None:
    todo = plan(observation(4, {B: whole(4)}, deleting=B), status(B))
    assert (todo.create, todo.scale) == ((), ())


def test_what_is_not_ours_is_neither_scaled_nor_deleted() -> None:
    todo = plan(observation(4, {B: whole(4), E: whole(2)}, foreign=E), status(B))
    assert todo == Plan(available=3)


@pytest.mark.parametrize(
    ("replicas", "stored", "available"),
    [
        (4, status(B), 3),
        (4, status(D), 3),
        (4, status(D, E), 2),
        (1, status(B), 0),
        (0, status(B), 0),
        (4, status(E, E, PROMOTING), 3),
    ],
)
def test_the_budget_keeps_all_but_one_of_the_pods_that_are_no_trial(
    replicas: int, stored: Status, available: int
) -> None:
    assert plan(observation(replicas, {}), stored).available == available


def test_a_trial_asks_for_its_own_number_of_pods_one_at_a_time() -> None:
    arms = {B: whole(7), E: whole(1)}
    seen = observation(8, arms, trial={"replicas": 3})
    assert counts(plan(seen, status(B, E, STARTING))) == {B: 6}
