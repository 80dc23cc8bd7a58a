"""The cost and acceptance formulas, against published numbers."""

import pytest

from vllm_sim.drafters import arm_knobs
from vllm_sim.knobs import Knobs
from vllm_sim.speed import expected_speedup, mean_accepted_length, rejection_thresholds, step_seconds


def test_position_i_is_accepted_with_the_product_of_the_chances_before_it():
    survival = [1 - threshold for threshold in rejection_thresholds(Knobs(q1=0.9, q=0.5), 3)]
    assert survival == pytest.approx([0.9, 0.45, 0.225])


def test_a_requests_own_shift_moves_all_its_chances_the_same_way():
    knobs = Knobs(q1=0.6, q=0.6)
    easy, plain, hard = (rejection_thresholds(knobs, 2, shift) for shift in (1.0, 0.0, -1.0))
    assert easy < plain < hard


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_a_chance_of_nothing_or_of_certainty_has_no_shift(chance):
    assert rejection_thresholds(Knobs(q1=chance, q=chance), 1, 3.0) == (1 - chance,)


@pytest.mark.parametrize(
    ("method", "tokens", "published"),
    # Mean accepted length: MI300X, gemma-4-26B-A4B and gemma-4-31B, GSM8K; eagle and ngram: SpecDecode-Bench.
    [("mtp", 4, 4.35), ("eagle3", 3, 2.94), ("dflash", 7, 5.05), ("eagle", 3, 2.41), ("ngram", 3, 2.04)],
)
def test_default_acceptance_is_near_what_was_published(method, tokens, published):
    assert mean_accepted_length(arm_knobs(method, None, {}), tokens) == pytest.approx(published, rel=0.07)


@pytest.mark.parametrize(
    ("method", "tokens", "published"),
    [("mtp", 4, 2.66), ("eagle3", 3, 2.16), ("dflash", 7, 2.70)],
)
def test_default_speedup_at_32_streams_is_near_what_was_published(method, tokens, published):
    assert expected_speedup(arm_knobs(method, None, {}), tokens, 32) == pytest.approx(published, rel=0.1)


def test_speedup_falls_with_the_batch_and_ends_below_one():
    knobs = Knobs(q1=0.7, q=0.6)
    speedups = [expected_speedup(knobs, 5, batch) for batch in (1, 16, 64, 256, 4096)]
    assert speedups == sorted(speedups, reverse=True)
    assert speedups[0] > 2 > 1 > speedups[-1]


def test_a_step_without_a_draft_costs_what_a_plain_step_costs():
    costly = Knobs(d0=3.0, d1=1.0)
    plain = step_seconds(Knobs(), decoding=8, drafted=0, drafts=0, prompt_tokens=50)
    assert step_seconds(costly, decoding=8, drafted=0, drafts=0, prompt_tokens=50) == plain
