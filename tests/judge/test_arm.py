import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.judge import PodWindow, Reason
from specdeploy.judge.arm import measure_arm
from specdeploy.judge.window import tell_only_speed
from tests.judge.windows import pod


def test_an_arm_is_the_mean_of_its_pods_logs_not_the_ratio_of_sums() -> None:
    arm = measure_arm([pod(80, tokens=9600), pod(42, tokens=75600)])
    assert arm.pods == 2
    assert arm.log_speed == pytest.approx((math.log(80) + math.log(42)) / 2)
    assert arm.log_rate == pytest.approx((math.log(160) + math.log(1260)) / 2)
    assert arm.log_batch == pytest.approx((math.log(2) + math.log(30)) / 2)
    assert arm.batch_sd == pytest.approx(math.log(15) / math.sqrt(2))


def test_decode_tokens_leave_out_the_first_token_of_each_request() -> None:
    one = PodWindow("p", 60.0, 1100, 100, 20.0)
    assert (one.decode_tokens, one.speed, one.batch) == (1000, 50.0, pytest.approx(1 / 3))
    assert PodWindow("p", 60.0, 5, 9, 1.0).decode_tokens == 0


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (pod(restarts=1), Reason.POD_RESTARTED),
        (PodWindow("p", 60.0, 0, 0, 0.0), Reason.NO_TRAFFIC),
        (PodWindow("p", 60.0, 0, 0, 0.0, requests_running=3), Reason.STALLED),
        (pod(tokens=40, first=1), Reason.NO_TRAFFIC),
        (PodWindow("p", 60.0, 500, 10, 0.0), Reason.BAD_NUMBERS),
        (PodWindow("p", 0.0, 500, 10, 10.0), Reason.BAD_NUMBERS),
        (PodWindow("p", 60.0, -500, 10, 10.0), Reason.BAD_NUMBERS),
        (PodWindow("p", 60.0, math.nan, 10, 10.0), Reason.BAD_NUMBERS),
        (PodWindow("p", 60.0, 500, 10, math.inf), Reason.BAD_NUMBERS),
        (PodWindow("p", 60.0, 10**400, 10, 10.0), Reason.BAD_NUMBERS),
    ],
)
def test_a_pod_without_a_speed_is_left_out_with_its_reason(refused: PodWindow, reason: Reason) -> None:
    alone = measure_arm([refused])
    assert (alone.pods, alone.trouble) == (0, reason)
    beside = measure_arm([refused, pod(50)])
    # What stands still is told, though another pod has a speed.
    assert (beside.pods, beside.trouble) == (1, reason if reason is Reason.STALLED else None)
    assert beside.log_speed == pytest.approx(math.log(50))


def test_a_pod_that_holds_requests_and_gives_one_token_a_second_is_slow_not_idle() -> None:
    arm = measure_arm([pod(0.5, tokens=60, first=2)])
    assert (arm.pods, arm.log_speed) == (1, pytest.approx(math.log(0.5)))


def test_the_queue_is_the_mean_over_the_pods_that_tell_it() -> None:
    pods = [pod(requests_waiting=4), pod(requests_waiting=0), pod(), pod(requests_waiting=math.nan)]
    assert measure_arm(pods).waiting == 2
    assert measure_arm([pod()]).waiting is None


number = st.floats(0, 2e12) | st.sampled_from(
    [math.nan, math.inf, -1.0, 0.0, 1e-3, 99.0, 100.0, 1e12, 10**400]
)


@given(
    one=st.builds(
        PodWindow,
        pod=st.just("p"),
        seconds=number | st.just(60.0),
        generation_tokens=number | st.floats(0, 300),
        first_tokens=number | st.floats(0, 20),
        itl_seconds=number | st.floats(0, 20),
        restarts=st.none() | st.sampled_from([0, 1, math.nan]),
        engines=st.sampled_from([1, 2, 0]),
        requests_running=st.none() | st.just(3.0),
        requests_waiting=st.none() | number,
        prompt_tokens=st.none() | number,
    )
)
def test_one_pod_is_measured_as_if_it_were_one_of_several(one: PodWindow) -> None:
    """The short way for one pod says what the sums say, whose second pod here tells nothing at all."""
    restarted = one._replace(restarts=1)
    alone, among = measure_arm([one]), measure_arm([one, restarted])
    if alone.trouble is None:
        assert alone._replace(more=None, waiting=None) == among._replace(more=None, waiting=None)
    else:
        assert (alone.pods, alone.trouble) == (among.pods, among.trouble)


@given(
    changes=st.dictionaries(
        st.sampled_from(PodWindow._fields[5:]), st.sampled_from([0.0, 1.0, math.nan, 7.0]), max_size=2
    )
)
def test_a_pod_tells_only_speed_unless_it_tells_anything_else(changes: dict[str, float]) -> None:
    plain = pod()
    changed = plain._replace(**changes)  # type: ignore[arg-type]
    assert tell_only_speed([plain, changed]) is (set(changes) <= {"engines"} and changed.engines == 1)
