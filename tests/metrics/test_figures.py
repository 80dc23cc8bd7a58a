"""`arm_figures`: what telemetry shows of an arm."""

import pytest

from specdeploy.judge import PodWindow
from specdeploy.metrics.figures import ArmFigures, arm_figures


def pod(name: str = "p", **figures: float) -> PodWindow:
    base = {"seconds": 60.0, "generation_tokens": 6_100.0, "first_tokens": 100.0, "itl_seconds": 120.0}
    return PodWindow(pod=name, **(base | figures))  # type: ignore[arg-type]


def test_a_speculating_arm_has_all_its_figures() -> None:
    figures = arm_figures([pod(drafts=1_000, draft_tokens=3_000, accepted_tokens=1_500)])

    assert figures == ArmFigures(
        speed=pytest.approx(50.0),
        batch=pytest.approx(2.0),
        acceptance=0.5,
        accepted_length=2.5,
        tokens_per_second=pytest.approx(101.667, abs=0.001),
        pods=1,
        seconds=60.0,
    )


def test_a_baseline_has_no_acceptance() -> None:
    figures = arm_figures([pod()])

    assert (figures.acceptance, figures.accepted_length) == (None, None)


def test_a_drafter_that_made_no_draft_has_no_acceptance_either() -> None:
    figures = arm_figures([pod(drafts=0, draft_tokens=0, accepted_tokens=0)])

    assert (figures.acceptance, figures.accepted_length) == (None, None)


def test_speed_and_batch_are_geometric_means_over_pods_and_throughput_is_a_sum() -> None:
    figures = arm_figures([pod("p", itl_seconds=60), pod("q", itl_seconds=240)])

    assert figures.speed == pytest.approx(50.0)
    assert figures.batch == pytest.approx(2.0)
    assert figures.tokens_per_second == pytest.approx(2 * 6_100 / 60)
    assert figures.pods == 2


def test_acceptance_is_a_ratio_of_sums() -> None:
    many = pod("p", drafts=900, draft_tokens=900, accepted_tokens=900)
    few = pod("q", drafts=100, draft_tokens=100, accepted_tokens=0)

    assert arm_figures([many, few]).acceptance == pytest.approx(0.9)


def test_the_batch_is_per_engine_and_the_speed_is_not() -> None:
    figures = arm_figures([pod(itl_seconds=480, engines=4)])

    assert figures.batch == pytest.approx(2.0)
    assert figures.speed == pytest.approx(12.5)


@pytest.mark.parametrize(
    "pods",
    [[], [pod(restarts=1, generation_tokens=0, first_tokens=0, itl_seconds=0)]],
    ids=["no pod", "only a restarted pod"],
)
def test_an_arm_without_measured_pods_shows_nothing(pods: list[PodWindow]) -> None:
    assert arm_figures(pods) == ArmFigures(
        speed=None,
        batch=None,
        acceptance=None,
        accepted_length=None,
        tokens_per_second=0.0,
        pods=0,
        seconds=0.0,
    )


def test_an_idle_pod_counts_as_measured_but_has_no_speed() -> None:
    idle = pod("q", generation_tokens=0, first_tokens=0, itl_seconds=0)

    figures = arm_figures([pod("p"), idle])

    assert (figures.speed, figures.batch, figures.pods) == (pytest.approx(50.0), pytest.approx(2.0), 2)


def test_what_is_not_speed_is_a_ratio_of_sums_over_pods() -> None:
    one = pod(
        "p",
        ttft_seconds=30.0,
        requests_waiting=2,
        http_requests=90,
        client_errors=4,
        server_errors=0,
        prefix_queries=1_000,
        prefix_hits=600,
    )
    other = pod(
        "q",
        ttft_seconds=10.0,
        requests_waiting=1,
        http_requests=10,
        client_errors=0,
        server_errors=6,
        prefix_queries=1_000,
        prefix_hits=0,
    )

    figures = arm_figures([one, other])

    assert figures.first_token_seconds == pytest.approx(0.2)
    assert figures.waiting == 3
    assert figures.error_share == pytest.approx(0.1)
    assert figures.prefix_hit_share == pytest.approx(0.3)


@pytest.mark.parametrize(
    "idle",
    [
        {},
        {"first_tokens": 0.0, "ttft_seconds": 0.0, "http_requests": 0.0, "client_errors": 0.0}
        | {"server_errors": 0.0, "prefix_queries": 0.0, "prefix_hits": 0.0},
    ],
    ids=["not counted", "nothing to count"],
)
def test_a_share_of_nothing_is_unknown(idle: dict[str, float]) -> None:
    figures = arm_figures([pod(**idle)])

    assert (figures.first_token_seconds, figures.error_share, figures.prefix_hit_share) == (None,) * 3
