"""`Pulse`: who is asked for a token, and who is silent."""

from dataclasses import replace

import pytest

from specdeploy.metrics.counters import EngineCounters
from specdeploy.metrics.pulse import Felt, Key, Pulse, Reply
from specdeploy.metrics.sample import FailureKind, Sample, ScrapeFailure
from specdeploy.rollout.observation import Silence
from tests.metrics.samples import PLAIN, sample

LOST = ScrapeFailure(FailureKind.TIMEOUT, "no complete answer within 5 s")
EPOCH = 1_800_000_000.0
IDLE = replace(PLAIN, requests_running=0.0, requests_waiting=0.0)
HOLDS = replace(PLAIN, requests_running=3.0)


class Fleet:
    """Readings a minute apart (or `apart`); every question has the reply `reply` at the next reading."""

    def __init__(self, reply: Reply = Reply.OPEN, apart: float = 60.0, start: float = 1.0) -> None:
        self.pulse, self.reply, self.apart, self.start = Pulse(), reply, apart, start
        self.time, self.restarts = 0.0, 0
        self.asked: set[Key] = set()
        self.felt = Felt({}, frozenset())

    def read(self, **pods: EngineCounters | ScrapeFailure) -> Felt:
        replies = dict.fromkeys(self.asked, self.reply)
        samples = {(uid, self.restarts): self._sample(page) for uid, page in pods.items()}
        self.felt = self.pulse.feel(samples, replies, EPOCH + self.time)
        self.asked = (self.asked if self.reply is Reply.OPEN else set()) | self.felt.ask
        self.time += self.apart
        return self.felt

    def _sample(self, page: EngineCounters | ScrapeFailure) -> Sample | ScrapeFailure:
        return page if isinstance(page, ScrapeFailure) else sample(self.time, page, process_start=self.start)

    def seconds(self) -> dict[str, float]:
        return {uid: silence.seconds for uid, silence in self.silences().items()}

    def silences(self) -> dict[str, Silence]:
        return {key[0]: sign.silence for key, sign in self.felt.signs.items() if sign.silence is not None}


def after(tokens: float, engine: EngineCounters = IDLE) -> EngineCounters:
    return replace(engine, generation_tokens=engine.generation_tokens + tokens)


@pytest.mark.parametrize("engine", [IDLE, HOLDS], ids=["it shows no request", "it shows some"])
@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (Reply.OPEN, [0, 0, 60, 120]),
        (Reply.NOTHING, [0, 0, 60, 120]),
        (Reply.TOKEN, [0, 0, 0, 0]),
        (Reply.UNREACHED, [0, 0, 0, 0]),
        (Reply.FAILED, [0, 0, 0, 0]),
    ],
)
def test_a_pod_in_which_nothing_moves_is_silent_from_the_question_on_that_it_leaves_open(
    engine: EngineCounters, reply: Reply, seconds: list[float]
) -> None:
    fleet = Fleet(reply)
    seen = []
    for _ in seconds:
        fleet.read(a=engine)
        seen.append(fleet.seconds().get("a", 0.0))
    assert seen == seconds
    if reply is Reply.OPEN:
        assert fleet.silences()["a"] == Silence(EPOCH + 60, 120.0)


@pytest.mark.parametrize(
    "moved",
    [
        after(1, HOLDS),
        replace(HOLDS, requests_running=4.0),
        replace(HOLDS, requests_waiting=7.0),
        replace(HOLDS, kv_usage=0.7),
        replace(HOLDS, prompt_tokens=9_000.0),
    ],
    ids=["a token", "a request more", "one that waits", "the cache of a long prompt", "its end"],
)
def test_an_engine_in_which_anything_moves_lives(moved: EngineCounters) -> None:
    fleet = Fleet()
    for page in (HOLDS, HOLDS, moved, moved):
        fleet.read(a=page)
    assert fleet.seconds() == {}


@pytest.mark.parametrize(
    ("engine", "silence"),
    [(HOLDS, Silence(EPOCH + 60, 120.0, asked=False)), (IDLE, None)],
    ids=["with requests in it", "idle: nothing is known"],
)
def test_one_that_takes_no_questions_is_silent_by_the_requests_that_it_shows(
    engine: EngineCounters, silence: Silence | None
) -> None:
    fleet = Fleet(Reply.REFUSED)
    asked = [fleet.read(a=engine).ask for _ in range(4)]
    assert asked == [frozenset(), {("a", 0)}, frozenset(), frozenset()], "once for each process"
    assert fleet.silences().get("a") == silence


def test_where_all_clients_wait_for_the_pod_that_hangs_it_is_found() -> None:
    fleet = Fleet()
    for tokens in (0, 100, 200, 200, 200):
        fleet.read(other=after(tokens), hung=IDLE)
        fleet.asked.discard(("other", 0))
    assert fleet.seconds() == {"hung": 180.0}


def test_an_object_that_nobody_uses_is_asked_once_and_once_after_each_traffic() -> None:
    fleet, tokens, asked = Fleet(Reply.TOKEN), 0.0, []
    for users in (0, 0, 0, 0, 50, 0, 0, 0, 0):
        tokens += users + len(fleet.asked)  # ours are counted like any other
        asked.append(len(fleet.read(a=after(tokens)).ask))
    assert asked == [0, 1, 0, 0, 0, 1, 0, 0, 0]
    assert fleet.seconds() == {}


def test_short_windows_ask_no_more_often() -> None:
    fleet = Fleet(apart=5.0)
    asked = [bool(fleet.read(a=IDLE).ask) for _ in range(20)]
    assert asked.index(True) == 6
    assert sum(asked) == 1
    assert fleet.seconds() == {"a": 65.0}


def test_a_pod_that_can_not_be_read_now_and_then_stays_silent_and_one_that_is_gone_does_not() -> None:
    fleet = Fleet()
    for _ in range(3):
        fleet.read(a=IDLE, b=IDLE)
    fleet.read(a=LOST)
    assert fleet.seconds() == {"a": 60.0}
    fleet.read(a=IDLE, b=IDLE)
    assert fleet.seconds() == {"a": 180.0}


@pytest.mark.parametrize("lost", [Reply.UNREACHED, Reply.NOTHING])
def test_a_question_that_came_to_nothing_is_put_again_and_the_silence_lasts(lost: Reply) -> None:
    fleet = Fleet()
    for _ in range(3):
        fleet.read(a=IDLE)
    fleet.reply = lost
    assert fleet.read(a=IDLE).ask == {("a", 0)}
    fleet.reply = Reply.OPEN
    fleet.read(a=IDLE)
    assert fleet.seconds() == {"a": 180.0}


@pytest.mark.parametrize("told", [True, False], ids=["by its page", "by the restarts of its container"])
def test_another_process_in_the_same_pod_begins_anew(told: bool) -> None:
    fleet = Fleet()
    for process in (1, 1, 1, 2):
        fleet.start, fleet.restarts = float(process) if told else 0.0, 0 if told else process
        fleet.read(a=IDLE)
    assert fleet.seconds() == {}


def test_what_is_seen_for_the_first_time_is_believed_for_a_minute() -> None:
    """However late the reading is: the operator may have stood still itself."""
    fleet = Fleet(apart=3600.0)
    fleet.read(a=IDLE)
    fleet.read(a=IDLE)
    fleet.read(a=IDLE)
    assert fleet.seconds() == {"a": 60.0}
    fleet.read(a=IDLE)
    assert fleet.seconds() == {"a": 7200.0}


def test_an_engine_that_answers_with_an_error_does_not_stand_still() -> None:
    fleet = Fleet()
    for _ in range(4):
        fleet.read(a=IDLE)
    fleet.reply = Reply.FAILED
    fleet.read(a=IDLE)
    assert fleet.seconds() == {}


def test_every_pod_shows_whether_anything_moves_and_for_how_long_nothing_has() -> None:
    fleet = Fleet()
    signs = [fleet.read(a=page).signs["a", 0] for page in (IDLE, after(5), after(5), after(6))]
    assert [(sign.moves, sign.quiet) for sign in signs] == [(False, 0), (True, 0), (False, 60), (True, 0)]
