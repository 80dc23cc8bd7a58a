"""`arms.obstacle`: when arms must not be compared, and when they may."""

from dataclasses import replace

import pytest

from specdeploy.judge import BASELINE, SERVING, TRIAL, Reason
from specdeploy.metrics.arms import MeasuredPod, obstacle

BASE = MeasuredPod(uid="b", name="x-baseline-0", arm=BASELINE, image_id="sha256:1", gpu="74a1")
CANARY = replace(BASE, uid="t", name="x-dflash-0", arm=TRIAL)
OLD = replace(BASE, uid="s", name="x-eagle-0", arm=SERVING, image_id="sha256:0")
PAIR = (BASELINE, TRIAL)

CASES = {
    "the same": ([BASE, CANARY], None),
    "no pods": ([], None),
    "another image": ([BASE, replace(CANARY, image_id="sha256:2")], Reason.DIFFERENT_IMAGE),
    "another GPU": ([BASE, replace(CANARY, gpu="74b9")], Reason.DIFFERENT_GPU),
    "another image within an arm": (
        [BASE, replace(BASE, name="x-1", image_id="sha256:2"), CANARY],
        Reason.DIFFERENT_IMAGE,
    ),
    "the image of one not known": ([BASE, replace(CANARY, image_id="")], Reason.DIFFERENT_IMAGE),
    "the image of the first not known": ([replace(BASE, image_id=""), CANARY], Reason.DIFFERENT_IMAGE),
    "no image known": ([replace(BASE, image_id=""), replace(CANARY, image_id="")], None),
    "the GPU of one not known": ([BASE, replace(CANARY, gpu="")], Reason.DIFFERENT_GPU),
    "the GPU of one of an arm not known": (
        [BASE, replace(BASE, name="x-1", gpu=""), CANARY],
        Reason.DIFFERENT_GPU,
    ),
    "no GPU known": ([replace(BASE, gpu=""), replace(CANARY, gpu="")], None),
    "a serving arm that is not compared": ([BASE, CANARY, OLD], None),
    "an edited arm": ([BASE, replace(CANARY, template_edited=True)], Reason.TEMPLATE_EDITED),
    "one edited pod of two": (
        [BASE, CANARY, replace(CANARY, name="x-1", template_edited=True, image_id="sha256:2")],
        None,
    ),
}


@pytest.mark.parametrize(("pods", "reason"), CASES.values(), ids=CASES)
def test_arms_are_compared_only_if_nothing_but_the_drafter_differs(
    pods: list[MeasuredPod], reason: Reason | None
) -> None:
    found = obstacle(pods, PAIR)

    assert (found.reason if found else None) == reason


def test_the_serving_arm_is_held_to_the_same_rule_where_it_is_compared() -> None:
    found = obstacle([BASE, CANARY, OLD], (*PAIR, SERVING))

    assert found is not None
    assert found.reason is Reason.DIFFERENT_IMAGE
    assert "x-eagle-0" in found.message


def test_a_pod_on_a_node_without_labels_is_named_with_what_to_do() -> None:
    found = obstacle([BASE, replace(CANARY, gpu="")], PAIR)

    assert found is not None
    assert found.message == (
        "the kind of GPU of x-baseline-0 is 74a1, of x-dflash-0 not told by the labels of its node "
        "(set amd.com/gpu.device-id on it, as AMD's node labeller does)"
    )
