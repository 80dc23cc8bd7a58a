"""The real engine's counters: the names the operator reads, and what they mean."""

from __future__ import annotations

import pytest

from tests.vllm.comparison import Comparison, Measured
from tests.vllm.load import series_sums

pytestmark = pytest.mark.vllm

ALWAYS = (
    "vllm:generation_tokens_total",
    "vllm:prompt_tokens_total",
    "vllm:time_to_first_token_seconds_count",
    "vllm:inter_token_latency_seconds_sum",
    "vllm:inter_token_latency_seconds_count",
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:request_success_total",
)
ONLY_WITH_A_DRAFTER = (
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
)


@pytest.fixture(params=["baseline", "ngram", "eagle3"])
def engine(request: pytest.FixtureRequest, comparisons: dict[str, Comparison]) -> Measured:
    if request.param == "baseline":
        return comparisons["ngram"].baseline
    return comparisons[request.param].drafter


@pytest.mark.parametrize("name", ALWAYS)
def test_every_engine_has_the_series_the_operator_reads(engine: Measured, name: str) -> None:
    assert name in series_sums(engine.page)


@pytest.mark.parametrize("name", ONLY_WITH_A_DRAFTER)
def test_speculation_counters_are_there_with_a_drafter_and_absent_without(
    ngram: Comparison, random_eagle3: Comparison, name: str
) -> None:
    assert name in series_sums(ngram.drafter.page)
    assert name in series_sums(random_eagle3.drafter.page)
    assert name not in series_sums(ngram.baseline.page)


def test_a_baseline_has_one_inter_token_latency_for_every_decode_token(ngram: Comparison) -> None:
    for moved in ngram.baseline.rounds:
        assert moved.decode_tokens == moved["inter_token_latency_seconds_count"] > 0


def test_a_drafter_that_is_right_has_one_inter_token_latency_a_step_not_a_token(ngram: Comparison) -> None:
    for moved in ngram.drafter.rounds:
        steps = moved["inter_token_latency_seconds_count"]
        accepted = moved["spec_decode_num_accepted_tokens_total"]
        assert steps < moved.decode_tokens
        # accepted tokens past a request's last token are counted, then dropped
        assert moved.decode_tokens - accepted <= steps <= moved.decode_tokens - 0.9 * accepted


def test_the_decode_seconds_of_all_requests_add_up_to_what_the_finished_ones_report(engine: Measured) -> None:
    for moved in engine.rounds:
        assert moved.decode_seconds == pytest.approx(moved["request_decode_time_seconds_sum"], rel=0.02)


def test_each_request_has_one_first_token_and_ends_once(engine: Measured) -> None:
    for moved in engine.rounds:
        assert moved["time_to_first_token_seconds_count"] == moved["request_success_total"] > 0


def test_nothing_runs_or_waits_after_the_load(engine: Measured) -> None:
    sums = series_sums(engine.page)
    assert sums["vllm:num_requests_running"] == sums["vllm:num_requests_waiting"] == 0


def test_accepted_tokens_by_position_add_up_to_all_that_were_accepted(ngram: Comparison) -> None:
    for moved in ngram.drafter.rounds:
        by_position = moved["spec_decode_num_accepted_tokens_per_pos_total"]
        assert by_position == moved["spec_decode_num_accepted_tokens_total"] > 0


def test_no_request_step_carries_more_than_one_draft(ngram: Comparison, random_eagle3: Comparison) -> None:
    for moved in ngram.drafter.rounds + random_eagle3.drafter.rounds:
        drafts = moved["spec_decode_num_drafts_total"]
        prefills = moved["time_to_first_token_seconds_count"]
        assert 0 < drafts <= moved["inter_token_latency_seconds_count"] + prefills
