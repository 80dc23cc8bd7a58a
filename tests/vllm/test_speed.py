"""What makes the real engine a demo: one drafter that is truly faster here, and one that is truly slower."""

from __future__ import annotations

import pytest

from tests.vllm.comparison import Comparison

pytestmark = pytest.mark.vllm


def acceptance(comparison: Comparison) -> float:
    drafted = sum(moved["spec_decode_num_draft_tokens_total"] for moved in comparison.drafter.rounds)
    accepted = sum(moved["spec_decode_num_accepted_tokens_total"] for moved in comparison.drafter.rounds)
    return accepted / drafted


def test_ngram_lookup_is_right_often_and_faster_than_the_baseline(ngram: Comparison) -> None:
    assert acceptance(ngram) > 0.3
    assert ngram.speed_ratio > 1.05


def test_an_eagle3_head_of_random_weights_is_never_right_and_slower_than_the_baseline(
    random_eagle3: Comparison,
) -> None:
    assert acceptance(random_eagle3) < 0.05
    assert random_eagle3.speed_ratio < 0.8
