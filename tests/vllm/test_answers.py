"""Output agreement on the real engine: drafters that are lossless answer like the baseline."""

from __future__ import annotations

import pytest

from specdeploy.engine.questions import ANSWER_TOKENS, QUESTIONS
from specdeploy.judge.guards.agreement import agreement
from tests.vllm.comparison import Comparison

pytestmark = pytest.mark.vllm

# The tiny model takes 512 tokens at most; the last prompt is longer for it.
ASKED = [name for name in QUESTIONS if name != "long"]


@pytest.mark.parametrize("drafter", ["ngram", "eagle3"])
def test_a_drafter_agrees_with_the_baseline(comparisons: dict[str, Comparison], drafter: str) -> None:
    found = comparisons[drafter]
    compared = agreement(found.drafter.answers, [found.baseline.answers])
    assert compared.compared == len(ASKED)
    assert compared.differing == ()


def test_a_baseline_that_is_asked_again_agrees_with_itself(
    ngram: Comparison, random_eagle3: Comparison
) -> None:
    assert agreement(random_eagle3.baseline.answers, [ngram.baseline.answers]).differing == ()


def test_every_answer_has_its_tokens_and_how_sure_the_engine_was(ngram: Comparison) -> None:
    answers = ngram.baseline.answers
    assert list(answers) == ASKED
    assert {len(answer.tokens) for answer in answers.values()} == {ANSWER_TOKENS}
    gaps = [gap for answer in answers.values() for gap in answer.gaps]
    assert max(gaps) > 1
    assert min(gaps) >= 0
