"""The toy engine is held against a simulation of each step, and against what queues must do."""

import math
import random
from statistics import fmean

import pytest

from specdeploy.judge import BASELINE, TRIAL, PodWindow
from tests.judge.engines import Drafter, Engine, Pod, day, play, steady, worth
from tests.judge.windows import noise


def stepped(engine: Engine, rate: float, rng: random.Random, windows: int) -> list[PodWindow]:
    """The same engine step by step: requests join between steps, and each gets 0 or more drafted tokens."""
    now, arrival = 0.0, rng.expovariate(rate)
    rests: list[float] = []
    waiting = first = finished = 0
    tokens = held = 0.0
    found = []
    for index in range(windows):
        began = (first, tokens, held, finished)
        while now < 60.0 * (index + 1):
            while arrival <= now:
                waiting += 1
                arrival += rng.expovariate(rate)
            while waiting and len(rests) < engine.slots:
                waiting, first = waiting - 1, first + 1
                now += engine.prefill_seconds
                held += engine.prefill_seconds * len(rests)
                rests.append(rng.expovariate(1 / engine.output_tokens))
            if not rests:
                now = arrival
                continue
            step = engine.step(len(rests))
            now += step
            held += step * len(rests)
            for place, rest in enumerate(rests):
                gain = accepted(engine.drafter, rng)
                tokens += min(gain, max(0.0, rest))
                rests[place] = rest - gain
            finished += sum(rest <= 0 for rest in rests)
            rests = [rest for rest in rests if rest > 0]
        starts = first - began[0]
        found.append(PodWindow("p", 60.0, tokens - began[1] + starts, starts, held - began[2]))
    return found


def accepted(drafter: Drafter, rng: random.Random) -> int:
    if not drafter.depth:
        return 1
    chance = (drafter.tau - 1) / drafter.depth
    return 1 + sum(rng.random() < chance for _ in range(drafter.depth))


def means(pods: list[PodWindow]) -> tuple[float, float, float]:
    return (
        sum(pod.decode_tokens for pod in pods) / sum(pod.itl_seconds for pod in pods),
        sum(pod.itl_seconds for pod in pods) / sum(pod.seconds for pod in pods),
        sum(pod.first_tokens for pod in pods) / sum(pod.seconds for pod in pods),
    )


@pytest.mark.parametrize(
    ("engine", "batch"),
    [
        (Engine(), 6.0),
        (Engine(prefill_seconds=0.01), 10.0),
        (Engine(drafter=Drafter(3, 2.2, 0.1, 0.05)), 6.0),
        (Engine(slots=8), 7.0),
    ],
    ids=["plain", "prefill", "drafter", "few-slots"],
)
def test_a_window_counts_what_a_simulation_of_each_step_counts(engine: Engine, batch: float) -> None:
    windows, rate = 70, engine.rate_for(batch)
    pod = Pod(engine, random.Random(1))
    fluid = means([pod.run(rate) for _ in range(windows)])
    by_step = means(stepped(engine, rate, random.Random(2), windows))
    assert fluid[0] == pytest.approx(by_step[0], rel=0.05)
    assert fluid[1] == pytest.approx(by_step[1], rel=0.12)
    assert fluid[2] == pytest.approx(by_step[2], rel=0.05)


def test_fewer_slots_make_each_request_fast_while_the_queue_grows() -> None:
    rate = Engine().rate_for(18.0)
    arms = {BASELINE: [Pod(Engine(), random.Random(1))], TRIAL: [Pod(Engine(slots=8), random.Random(2))]}
    last = list(play(arms, steady(rate), 30))[-1]
    baseline, trial = last.arms[BASELINE][0], last.arms[TRIAL][0]
    assert (trial.speed or 0) > 1.2 * (baseline.speed or 0)
    assert baseline.requests_waiting == 0
    assert (trial.requests_waiting or 0) > 100


@pytest.mark.parametrize("ratio", [1.5, 0.44])
def test_clients_pinned_to_a_faster_pod_send_it_more(ratio: float) -> None:
    fast = Engine(drafter=worth(ratio))
    pods = {
        name: [Pod(engine, random.Random(3), clients=16, think_seconds=0.5)]
        for name, engine in ((BASELINE, Engine()), (TRIAL, fast))
    }
    windows = list(play(pods, steady(0.0), 60))
    arrivals = {name: sum(each.arms[name][0].first_tokens for each in windows) for name in pods}
    assert arrivals[TRIAL] / arrivals[BASELINE] == pytest.approx(ratio, rel=0.15)
    assert all((pod.requests_running or 0) <= 16 for each in windows for (pod,) in each.arms.values())


def test_arms_get_their_share_of_the_demand_and_the_content_of_the_day() -> None:
    content = noise(random.Random(5), 0.3, 0.9)
    pods = {name: [Pod(Engine(), random.Random(seed))] for seed, name in enumerate((BASELINE, TRIAL))}
    windows = list(play(pods, steady(0.5), 400, first=7, shares={TRIAL: 0.8}, content=content))
    assert [each.index for each in windows] == list(range(7, 407))
    starts = {name: sum(each.arms[name][0].first_tokens for each in windows) for name in pods}
    assert starts[TRIAL] / starts[BASELINE] == pytest.approx(0.8, abs=0.03)
    logs = [[math.log(each.arms[name][0].speed or 1) for each in windows] for name in pods]
    assert correlation(*logs) > 0.9


def test_a_day_is_quiet_at_its_ends_and_busy_in_its_middle() -> None:
    demand = day(0.2, 3.0)
    assert (demand(0), demand(720), demand(1440)) == pytest.approx((0.2, 3.0, 0.2))
    assert day(0.2, 3.0, first=720)(0) == pytest.approx(3.0)


def test_counters_fit_together() -> None:
    engine = Engine(drafter=Drafter(4, 2.5, 0.1, 0.1))
    pod = Pod(engine, random.Random(1), noise=noise(random.Random(2), 0.05, 0.8))
    windows = [pod.run(engine.rate_for(8.0)) for _ in range(200)]
    finished = sum(each.finished_tokens or 0 for each in windows)
    assert finished == pytest.approx(sum(each.generation_tokens for each in windows), rel=0.01)
    accepted_tokens = sum(each.accepted_tokens or 0 for each in windows)
    assert accepted_tokens == pytest.approx(sum(each.decode_tokens for each in windows) * 0.6, rel=0.01)
    assert fmean(each.ttft_seconds or 0 for each in windows) == 0


def correlation(left: list[float], right: list[float]) -> float:
    a, b = fmean(left), fmean(right)
    cross = sum((x - a) * (y - b) for x, y in zip(left, right, strict=True))
    return cross / math.sqrt(sum((x - a) ** 2 for x in left) * sum((y - b) ** 2 for y in right))
