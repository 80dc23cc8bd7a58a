"""A whole rollout under the operator that the chart installs, with the chart's rights, on live traffic."""

import re

import pytest

from tests.cluster.live.conftest import Stage
from tests.cluster.live.journal import Status, condition, moment, outcomes, trial_state, verdict
from tests.cluster.live.objects import stop_clients
from tests.cluster.live.place import OPERATOR, OPERATOR_NAMESPACE

SERVICE_ACCOUNT = f"system:serviceaccount:{OPERATOR_NAMESPACE}:{OPERATOR}"
MOST_WINDOWS = 3
# A scale-down takes its way through the API server; it waits for no window, and for no pod to be warm.
SLACK_SECONDS = 30


def judged(stage: Stage) -> Status:
    """The status after the last trial."""
    return stage.journal.wait(
        "story",
        lambda s: len(s.get("verdicts") or []) == 2 and not trial_state(s),
        what="both drafters judged",
    )


def test_the_loser_is_rolled_back_the_winner_serves_and_no_request_fails(stage: Stage) -> None:
    status = judged(stage)
    assert outcomes(status) == {"heavy": "Disaster", "dflash": "Promoted"}
    assert status["serving"]["name"] == "dflash"
    assert float(status["serving"]["lower"]) > 1.03
    clients = stop_clients(stage.kubectl, "story")
    assert clients["requests"] > 100
    assert (clients["failed"], clients["failures"]) == (0, {})


def test_the_loser_is_off_traffic_at_most_three_windows_after_its_measurement_began(stage: Stage) -> None:
    """By the windows that compared it with the baseline: a busy machine skips others."""
    ended = verdict(judged(stage), "heavy")
    assert 1 <= len(ended["recent"]) <= MOST_WINDOWS, ended["recent"]
    events = stage.kubectl.json("get", "events", "--field-selector=reason=ScalingReplicaSet")["items"]
    scaled_down = [
        e["lastTimestamp"]
        for e in events
        if e["involvedObject"]["name"].startswith("story-heavy") and "Scaled down" in e["message"]
    ]
    assert moment(scaled_down[0]) - moment(ended["time"]) <= SLACK_SECONDS


# What a person reads, in this order; other rows may lie between.
SPEED = r"\d\.\d\dx \[\d\.\d\d,\d\.\d\d\]"
STORY = (
    r"^[012]/4 baseline 1.00x Starting$",
    r"^[34]/4 baseline (heavy Starting )?1.00x Serving$",
    r"^[34]/4 baseline heavy Starting.* Serving$",
    r"^4/4 baseline heavy (WarmingUp|Measuring).* Serving$",
    r"^\d/4 baseline heavy RollingBack.* Serving$",
    r"^[34]/4 baseline dflash Starting.* Serving$",
    r"^4/4 baseline dflash (WarmingUp|Measuring).* Serving$",
    r"^4/4 baseline dflash Measuring \d+/\d+.* Serving$",
    rf"^[34]/4 dflash dflash Promoting 0/\d+ {SPEED} Serving$",
    rf"^4/4 dflash dflash Promoting [1-9]\d*/\d+ {SPEED} Serving$",
    rf"^[34]/4 dflash dflash Promoting {SPEED} Serving$",
    rf"^4/4 dflash {SPEED} Serving$",
)


def test_the_columns_of_kubectl_get_tell_the_story(stage: Stage) -> None:
    judged(stage)
    rows = stage.journal.story("story")
    at = 0
    for step in STORY:
        found = next((i for i in range(at, len(rows)) if re.match(step, rows[i])), None)
        assert found is not None, f"no row like {step!r} after row {at} of:\n" + "\n".join(rows)
        at = found


def test_the_promotion_goes_in_steps_and_people_are_told(stage: Stage) -> None:
    judged(stage)
    promoting = [s for s in stage.journal.history("story") if trial_state(s) == "Promoting"]
    steps = [s["trial"]["step"] for s in promoting]
    assert steps == sorted(steps)
    assert set(steps) >= {50, 100}
    assert {condition(s, "Protected")["reason"] for s in promoting} == {"Holdback"}
    told = stage.events("story", "PromotionStep")
    assert len(told) == 2, told
    assert any(text.startswith("dflash gets 2 of 3 serving pods") for text in told), told
    assert any(re.match(r"dflash gets 3 of 3 serving pods after \d+ windows of soak", t) for t in told), told
    soaking = next(s["message"] for s in promoting if "soak" in s["message"])
    assert "dflash takes over in steps: 2 of 3 serving pods now" in soaking


def can(stage: Stage, *words: str) -> bool:
    done = stage.kubectl.finished("auth", "can-i", *words, f"--as={SERVICE_ACCOUNT}")
    return done.stdout.strip() == "yes"


@pytest.mark.parametrize(
    "words",
    [
        ("list", "secrets"),
        ("get", "secrets"),
        ("get", "configmaps"),
        ("delete", "pods"),
        ("create", "pods"),
        ("create", "pods/exec"),
        ("delete", "services"),
        ("list", "services"),
        ("update", "specdeployments.specdeploy.dev"),
        ("patch", "specdeployments.specdeploy.dev"),
        ("patch", "nodes"),
        ("create", "roles.rbac.authorization.k8s.io"),
        ("list", "deployments.apps", "--namespace=kube-system"),
        ("list", "pods", "--namespace=kube-system"),
        ("delete", "customresourcedefinitions.apiextensions.k8s.io"),
    ],
    ids=" ".join,
)
def test_the_operator_may_not(stage: Stage, words: tuple[str, ...]) -> None:
    assert can(stage, "list", "pods"), "the question reaches the operator's own account"
    assert can(stage, "get", "pods/log")
    assert not can(stage, *words)


def test_the_charts_rights_are_enough(stage: Stage) -> None:
    judged(stage)
    log = stage.kubectl.run(
        "logs", f"deployment/{OPERATOR}", f"--namespace={OPERATOR_NAMESPACE}", "--tail=-1"
    )
    assert "story" in log
    assert not [line for line in log.splitlines() if re.search("forbidden|unauthorized", line, re.I)]
    assert "Traceback" not in log
