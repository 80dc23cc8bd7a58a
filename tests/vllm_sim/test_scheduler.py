"""Engine steps in simulated time: what the counters must mean, and how fast which arm is."""

import random

import pytest

from vllm_sim.drafters import arm_knobs
from vllm_sim.knobs import Knobs
from vllm_sim.scheduler import Limits, Request, Scheduler
from vllm_sim.speed import expected_speedup
from vllm_sim.stats import Stats


def engine(
    knobs: Knobs, tokens: int = 0, *, seats: int = 64, seed: int = 1, blocks: int = 4096, cache: bool = True
) -> Scheduler:
    return Scheduler(
        knobs=knobs,
        limits=Limits(
            seats, max_num_batched_tokens=2048, kv_blocks=blocks, block_size=16, prefix_caching=cache
        ),
        stats=Stats(max_model_len=4096, speculative_tokens=tokens),
        rng=random.Random(seed),
        clock=0.0,
        speculative_tokens=tokens,
    )


def request(arrived: float = 0.0, *, output: int = 100, prompt: int = 20) -> Request:
    return Request(
        prompt_tokens=prompt, output_tokens=output, max_tokens=output, ending="length", arrived=arrived
    )


def closed_loop(scheduler: Scheduler, *, streams: int, seconds: float) -> None:
    """Keep `streams` requests in the engine, of mixed lengths, then let them finish."""
    rng = random.Random(7)
    running: list[Request] = []
    now = 0.0
    while now < seconds:
        running = [r for r in running if r.finish_reason is None]
        for _ in range(streams - len(running)):
            running.append(request(now, output=rng.randrange(50, 250)))
            scheduler.submit(running[-1])
        now += 0.05
        scheduler.advance(now)
    scheduler.advance(now + 1000)


def decode_speed(stats: Stats) -> float:
    """R: decode tokens per request-decode-second."""
    return (stats.generation_tokens - stats.ttft.count) / stats.inter_token_latency.total


ARMS = [("baseline", 0), ("eagle3", 3), ("mtp", 1), ("dflash", 7), ("ngram", 3)]


@pytest.mark.parametrize(("method", "tokens"), ARMS)
def test_inter_token_latencies_add_up_to_the_time_spent_decoding(method, tokens):
    scheduler = engine(arm_knobs(method, None, {}), tokens)
    closed_loop(scheduler, streams=12, seconds=20)
    assert scheduler.stats.inter_token_latency.total == pytest.approx(scheduler.stats.decode_time.total)


def test_on_a_baseline_each_decode_token_has_one_inter_token_latency():
    scheduler = engine(arm_knobs("baseline", None, {}))
    closed_loop(scheduler, streams=12, seconds=20)
    stats = scheduler.stats
    assert stats.generation_tokens - stats.ttft.count == stats.inter_token_latency.count


def test_with_a_drafter_there_is_one_inter_token_latency_per_request_and_step():
    scheduler = engine(Knobs(q1=1, q=1), 3)
    scheduler.submit(request(output=1 + 4 * 10))
    scheduler.advance(100)
    assert scheduler.stats.inter_token_latency.count == 10
    assert scheduler.stats.iteration_tokens.count == 11


@pytest.mark.parametrize(("method", "tokens"), [arm for arm in ARMS if arm[1]])
def test_acceptance_counters_agree_with_each_other(method, tokens):
    scheduler = engine(arm_knobs(method, None, {}), tokens)
    closed_loop(scheduler, streams=12, seconds=20)
    stats = scheduler.stats
    positions = stats.accepted_per_position()
    assert len(positions) == tokens
    assert positions == sorted(positions, reverse=True)
    assert stats.drafted_tokens == tokens * stats.drafts
    decoded = stats.generation_tokens - stats.ttft.count
    dropped = sum(positions) + stats.inter_token_latency.count - decoded
    assert 0 <= dropped <= tokens * stats.ttft.count


def test_look_up_drafting_leaves_some_steps_without_a_draft():
    scheduler = engine(arm_knobs("ngram", None, {}), 3)
    closed_loop(scheduler, streams=8, seconds=20)
    share = scheduler.stats.drafts / scheduler.stats.inter_token_latency.count
    assert share == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize(
    ("method", "tokens", "suffix"),
    [
        ("eagle3", 3, ""),
        ("mtp", 2, ""),
        ("dflash", 7, ""),
        ("ngram", 3, ""),
        ("eagle3", 3, "x?q1=0.3&q=0.3&d0=1.2&d1=0.1"),
    ],
)
def test_the_speed_of_an_arm_against_the_baseline_is_the_models(method, tokens, suffix):
    knobs = arm_knobs(method, suffix or None, {})
    drafting, plain = engine(knobs, tokens), engine(Knobs())
    for scheduler in (drafting, plain):
        closed_loop(scheduler, streams=16, seconds=40)
    ratio = decode_speed(drafting.stats) / decode_speed(plain.stats)
    assert ratio == pytest.approx(expected_speedup(knobs, tokens, 16), rel=0.1)


def test_requests_beyond_the_seats_wait_and_then_get_their_turn():
    scheduler = engine(Knobs(), seats=2)
    for _ in range(5):
        scheduler.submit(request())
    scheduler.advance(0.5)
    assert (scheduler.stats.running, scheduler.stats.waiting) == (2, 3)
    scheduler.advance(100)
    assert (scheduler.stats.running, scheduler.stats.waiting) == (0, 0)
    assert scheduler.stats.finished["length"] == 5
    assert scheduler.stats.queue_time.total > 2


def test_a_request_is_not_served_before_it_arrived():
    scheduler = engine(Knobs())
    late = request(5.0)
    scheduler.submit(late)
    scheduler.advance(20)
    assert late.scheduled_at == 5.0


def test_a_request_whose_client_left_is_in_the_token_counters_only():
    scheduler = engine(Knobs())
    gone = request(output=1000)
    scheduler.submit(gone)
    scheduler.advance(1)
    scheduler.abort(gone)
    scheduler.advance(2)
    stats = scheduler.stats
    assert (stats.running, sum(stats.finished.values()), stats.e2e.count) == (0, 0, 0)
    assert (stats.ttft.count, stats.generation_tokens > 10) == (1, True)


def test_the_gauges_of_an_engine_that_hangs_stay_as_they_were_when_its_clients_leave():
    scheduler = engine(Knobs())
    gone = request(output=1000)
    scheduler.submit(gone)
    scheduler.advance(1)
    assert scheduler.stats.running == 1
    scheduler.stopped = True
    scheduler.abort(gone)
    scheduler.advance(60)
    assert scheduler.stats.running == 1


def test_an_engine_that_hangs_makes_no_step_and_does_not_catch_up_later():
    scheduler = engine(Knobs())
    scheduler.submit(request(output=1000))
    scheduler.advance(1)
    before = scheduler.stats.iteration_tokens.count
    scheduler.stopped = True
    scheduler.advance(60)
    assert (scheduler.stats.iteration_tokens.count, scheduler.stats.running) == (before, 1)
    scheduler.resume(60)
    scheduler.advance(60.1)
    assert before < scheduler.stats.iteration_tokens.count < before + 12


def test_waking_up_rarely_gives_the_same_counters_as_waking_up_often():
    counts = []
    for wake_up in (0.01, 0.5):
        scheduler = engine(Knobs(), 3)
        for _ in range(8):
            scheduler.submit(request())
        for tick in range(1, round(10 / wake_up)):
            scheduler.advance(tick * wake_up)
        stats = scheduler.stats
        counts.append((stats.generation_tokens, stats.drafts, stats.inter_token_latency.total))
    assert counts[0] == pytest.approx(counts[1])


@pytest.mark.parametrize(("seed", "same"), [(1, True), (2, False)])
def test_the_same_seed_gives_the_same_run(seed, same):
    runs = [engine(Knobs(), 3), engine(Knobs(), 3, seed=seed)]
    for scheduler in runs:
        closed_loop(scheduler, streams=4, seconds=5)
    assert (runs[0].stats.drafts == runs[1].stats.drafts) is same


def test_acceptance_sticks_to_requests():
    """Answers differ in how well they draft by more than chance alone would have it."""

    def spread(sticky: float) -> float:
        scheduler = engine(Knobs(sticky=sticky), 3)
        requests = [request(output=400) for _ in range(40)]
        for each in requests:
            scheduler.submit(each)
        scheduler.advance(10_000)
        seconds = [each.last_token_at for each in requests]
        return max(seconds) / min(seconds)

    assert spread(0.0) < 1.25 < spread(0.8)


@pytest.mark.parametrize(
    ("share", "cache", "queries", "hits"),
    [(0.0, True, 4000, 0), (0.75, True, 4000, 3000), (1.0, True, 4000, 3996), (0.75, False, 0, 0)],
    ids=["no hit", "three quarters", "all but one token", "no prefix caching"],
)
def test_prompt_tokens_in_the_prefix_cache_are_counted_and_cost_no_prefill(share, cache, queries, hits):
    def first_token(knobs: Knobs) -> tuple[float, Stats]:
        scheduler = engine(knobs, cache=cache)
        for _ in range(4):
            scheduler.submit(request(prompt=1000, output=2))
        scheduler.advance(100)
        return scheduler.stats.ttft.total / 4, scheduler.stats

    steady = Knobs(noise=0, drift=0, prefill_ms=1)
    without, _ = first_token(steady)
    seconds, stats = first_token(steady.replaced({"prefix_hits": share}))
    assert (stats.prefix_queries, stats.prefix_hits, stats.prompt_tokens) == (queries, hits, 4000)
    assert stats.request_computed_tokens.total == 4000 - hits
    if hits == 0:
        assert seconds == without
    else:
        assert seconds < without * (1.1 - hits / 4000)


def test_a_full_kv_cache_preempts_the_youngest_which_finish_later_all_the_same():
    scheduler = engine(Knobs(), blocks=60)
    requests = [request(index / 100, output=200, prompt=16) for index in range(8)]
    for each in requests:
        scheduler.submit(each)
    for tick in range(400):
        scheduler.advance(tick / 20)
        assert scheduler.stats.kv_usage <= 1
    stats = scheduler.stats
    assert stats.preemptions > 0
    assert requests[0].preemptions == 0
    assert sum(each.preemptions for each in requests) == stats.preemptions == stats.request_preemptions.total
    assert [each.generated for each in requests] == [200] * 8
    assert (stats.finished["length"], stats.ttft.count, stats.prompt_tokens) == (8, 8, 128)
    assert stats.generation_tokens == 1600
    assert stats.inter_token_latency.count == 1600 - 8
    assert stats.inter_token_latency.total == pytest.approx(stats.decode_time.total)


def test_an_empty_engine_admits_even_what_its_kv_cache_cannot_hold():
    scheduler = engine(Knobs(), blocks=2)
    scheduler.submit(request(prompt=100, output=50))
    scheduler.advance(100)
    assert scheduler.stats.finished["length"] == 1


def test_slots_bound_the_batch_below_the_flags():
    scheduler = engine(Knobs(slots=3))
    for _ in range(5):
        scheduler.submit(request())
    scheduler.advance(0.5)
    assert (scheduler.stats.running, scheduler.stats.waiting) == (3, 2)
    scheduler.change_knobs(Knobs())
    scheduler.advance(1.0)
    assert (scheduler.stats.running, scheduler.stats.waiting) == (5, 0)


def test_a_young_engine_is_slow_and_then_no_more():
    scheduler = engine(Knobs(young_seconds=20, young_slowdown=3, noise=0, drift=0))
    speeds = []
    for second in (0, 30):
        before = (scheduler.stats.iteration_tokens.count, scheduler.clock)
        for _ in range(4):
            scheduler.submit(request(second, output=300))
        scheduler.advance(second + 15)
        steps = scheduler.stats.iteration_tokens.count - before[0]
        speeds.append(steps / (scheduler.clock - max(before[1], second)))
    assert speeds[1] / speeds[0] == pytest.approx(3, rel=0.05)


def test_acceptance_decays_by_the_hour():
    scheduler = engine(Knobs(q1=0.8, q=0.8, sticky=0, decay_per_hour=0.1), 1)
    shares = []
    for hour in (0, 5, 20):
        before = (scheduler.stats.drafts, scheduler.stats.accepted_per_position()[0])
        for _ in range(20):
            scheduler.submit(request(3600.0 * hour, output=200))
        scheduler.advance(3600.0 * hour + 600)
        drafts, accepted = scheduler.stats.drafts - before[0], scheduler.stats.accepted_per_position()[0]
        shares.append((accepted - before[1]) / drafts)
    assert shares == pytest.approx([0.8, 0.8 * 0.6065, 0.8 * 0.1353], abs=0.03)


@pytest.mark.parametrize(
    ("knobs", "endings"),
    [
        ({"error_share": 1}, {"error": 40}),
        ({"repetition_share": 1}, {"repetition": 40}),
        ({}, {"length": 40}),
    ],
)
def test_requests_that_go_wrong_end_half_way_with_their_reason(knobs, endings):
    scheduler = engine(Knobs().replaced(knobs))
    for _ in range(40):
        scheduler.submit(request(output=60))
    scheduler.advance(1000)
    stats = scheduler.stats
    assert {reason: count for reason, count in stats.finished.items() if count} == endings
    assert stats.generation_tokens == 40 * (60 if "length" in endings else 30)


def test_only_the_given_share_goes_wrong():
    scheduler = engine(Knobs(error_share=0.2, repetition_share=0.3))
    for _ in range(400):
        scheduler.submit(request(output=10))
    scheduler.advance(1000)
    finished = scheduler.stats.finished
    assert finished["error"] == pytest.approx(80, abs=25)
    assert finished["repetition"] == pytest.approx(120, abs=30)
