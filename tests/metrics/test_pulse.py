"""`Pulse`: who is asked for a token, and who is silent."""

from dataclasses import replace

import pytest

from specdeploy.metrics.pulse import Pulse, Reply
from specdeploy.metrics.sample import FailureKind, Sample, ScrapeFailure
from specdeploy.rollout.observation import Silence
from tests.metrics.samples import PLAIN, sample

LOST = ScrapeFailure(FailureKind.TIMEOUT, "no complete answer within 5 s")
EPOCH = 1_800_000_000.0
MINUTE = 60.0


def engine(
    time: float, tokens: float, running: float = 0.0, waiting: float = 0.0, start: float = 1.0
) -> Sample:
    gauges = {"requests_running": running, "requests_waiting": waiting}
    return sample(time, replace(PLAIN, generation_tokens=tokens, **gauges), process_start=start)


def read(
    pulse: Pulse, readings: dict[str, Sample | ScrapeFailure], reply: Reply = Reply.NOTHING
) -> tuple[frozenset[str], dict[str, Silence]]:
    """One reading, in which whoever is asked replies so: who was asked, and who is silent."""
    asked = pulse.feel(readings)
    time = max((s.time for s in readings.values() if isinstance(s, Sample)), default=0.0)
    return asked, pulse.note(readings, dict.fromkeys(asked, reply), EPOCH + time)


@pytest.mark.parametrize(
    ("running", "waiting", "tokens", "silent"),
    [
        (3.0, 0.0, (5, 5, 5), Silence(3.0, EPOCH + 60, 60.0)),
        (0.0, 2.0, (5, 5, 5), Silence(2.0, EPOCH + 60, 60.0)),
        (3.0, 0.0, (4, 5, 5), Silence(3.0, EPOCH + 120, 0.0)),
        (3.0, 0.0, (5, 5, 6), None),
        (0.0, 0.0, (5, 5, 5), None),
    ],
    ids=["runs", "waits", "since the reading that saw no token", "a token is enough", "nobody asks"],
)
def test_who_holds_requests_and_gives_no_token_is_silent(
    running: float, waiting: float, tokens: tuple[float, ...], silent: Silence | None
) -> None:
    pulse = Pulse()
    for turn, count in enumerate(tokens):
        asked, silences = read(pulse, {"a": engine(turn * MINUTE, count, running, waiting)})
        assert asked == frozenset()
    assert silences.get("a") == silent


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [(Reply.NOTHING, 120.0), (Reply.TOKEN, None), (Reply.REFUSED, None), (Reply.UNREACHED, None)],
)
def test_an_idle_pod_beside_busy_ones_is_asked_and_silent_if_it_does_not_answer(
    reply: Reply, seconds: float | None
) -> None:
    pulse = Pulse()
    for turn in range(4):
        asked, silences = read(
            pulse, {"busy": engine(turn * MINUTE, 100.0 * turn), "idle": engine(turn * MINUTE, 7)}, reply
        )
    found = silences.get("idle")
    assert (found.seconds if found else None) == seconds
    assert found is None or (found.held, found.asked) == (1.0, True)
    assert asked == (frozenset() if reply is Reply.REFUSED else frozenset({"idle"}))


def test_where_all_clients_wait_for_a_pod_that_hangs_it_is_asked_on_though_nobody_gives_a_token() -> None:
    pulse = Pulse()
    for turn, tokens in enumerate((0, 100, 100, 100, 100)):
        readings = {"other": engine(turn * MINUTE, tokens), "hung": engine(turn * MINUTE, 0)}
        asked = pulse.feel(readings)
        replies = {uid: Reply.TOKEN if uid == "other" else Reply.NOTHING for uid in asked}
        silences = pulse.note(readings, replies, EPOCH)
    assert asked == {"hung"}
    assert {uid: found.seconds for uid, found in silences.items()} == {"hung": 180.0}


def test_an_object_that_nobody_uses_is_asked_once_after_its_last_traffic_and_then_left_alone() -> None:
    pulse, tokens, asked = Pulse(), 100.0, []
    read(pulse, {"a": engine(0, 0)})
    for turn in range(1, 6):
        named, silences = read(pulse, {"a": engine(turn * MINUTE, tokens)}, Reply.TOKEN)
        tokens += len(named)  # what it gave is counted like any other token
        asked.append(len(named))
    assert asked == [0, 1, 0, 0, 0]
    assert silences == {}


def test_a_pod_that_could_not_be_read_once_keeps_its_silence_and_one_that_is_gone_does_not() -> None:
    pulse = Pulse()
    for turn in range(3):
        read(pulse, {uid: engine(turn * MINUTE, 5, running=1) for uid in "ab"})
    read(pulse, {"a": LOST})
    _, silences = read(pulse, {uid: engine(4 * MINUTE, 5, running=1) for uid in "ab"})
    assert {uid: found.seconds for uid, found in silences.items()} == {"a": 180.0}


def test_another_process_in_the_same_pod_begins_anew() -> None:
    pulse = Pulse()
    for turn, start in enumerate((1.0, 1.0, 1.0, 2.0, 2.0)):
        _, silences = read(pulse, {"a": engine(turn * MINUTE, 5, running=1, start=start)})
    assert silences["a"].seconds == 0.0
