"""What a verdict says to people: true, and with the numbers that decided."""

import math
import random
import re

import pytest

from specdeploy.judge import ADVICE, BASELINE, TRIAL, Learned, PodWindow, Settings, Window, expire
from tests.judge.windows import SECONDS, WATCHED, judge, noisy_windows, pod, window


def said(windows: list[Window], settings: Settings, learned: Learned = WATCHED) -> str:
    state, verdict, _ = judge(windows, settings, learned)
    return (verdict or expire(state, settings)).message


@pytest.mark.parametrize(
    ("deadline", "provable"), [(14400.0, r"only \d\.\d\dx or more"), (1200.0, "nothing")]
)
def test_a_trial_that_is_too_noisy_says_what_could_have_been_proven(deadline: float, provable: str) -> None:
    windows = list(noisy_windows(random.Random(1), 1.1, 60, sd=0.8))
    message = said(windows, Settings(deadline_seconds=deadline), WATCHED._replace(sd=0.8))
    assert re.search(
        rf": at a noise of \d+\.?\d*% a window, and with pods that may differ by 3.3%, {provable} could be "
        rf"proven in the {deadline / 60:.0f} windows until the deadline, not promoted; set a longer "
        r"trial.windowSeconds or a later trial.deadlineSeconds$",
        message,
    )


def test_what_is_far_slower_names_no_batch_of_other_windows() -> None:
    """The windows that decide may be others than those of the evidence, whose range of batch is known."""
    windows = [*noisy_windows(random.Random(2), 1.0, 12), *(window(index, 0.4) for index in range(12, 20))]
    message = said(windows, Settings())
    assert message.endswith("windows: far slower, rolled back (evidence at batch 7.6 to 8.7)")
    assert said([window(index, pod(20, ready_seconds=130.0)) for index in range(2)], Settings()) == (
        "0.400x the baseline's decode speed over the last 2 windows: far slower, rolled back"
    )


@pytest.mark.parametrize(
    ("slow", "words"), [(1, "1 pod is 15% or more off"), (2, "2 pods are 15% or more off")]
)
def test_stragglers_are_counted_in_words(slow: int, words: str) -> None:
    def pods(arm: str) -> tuple[PodWindow, ...]:
        first = 0.6 if arm == TRIAL or slow == 2 else 0.98
        return tuple(pod(50 * share, name=f"p{number}") for number, share in enumerate((first, 1.0, 1.01)))

    arms = {BASELINE: pods(BASELINE), TRIAL: pods(TRIAL)}
    assert words in said([Window(index, SECONDS, arms) for index in range(12)], Settings())


def test_advice_stands_alone() -> None:
    """It is shown beside counts of windows, where no arm is named."""
    assert not [advice for advice in ADVICE.values() if "this arm" in advice or "the arm:" in advice]


def test_the_mean_is_not_said_to_be_proven_above_the_effect_asked_for() -> None:
    steady = [window(index, 1.04 * math.exp(0.04 * math.sin(index))) for index in range(240)]
    message = said(steady, Settings(pod_sd=0.0))
    ratio, lower = map(float, re.findall(r"\d\.\d{3}", message)[:2])
    assert 1 < lower < 1.03 < ratio
    assert (
        "proven faster (the lower end is above 1), and its mean above the 3% asked for, promoted" in message
    )
