"""What a trial is told where its lines end before its deadline: nothing that is not so."""

import io
import random
from collections.abc import Iterable

import pytest

from specdeploy.judge import Outcome, Settings
from specdeploy.replay import MOST_KEYS, Ended, Refused, UnknownKey, judge_stream
from tests.replay.recordings import judged, line, noisy


def end(lines: Iterable[bytes]) -> tuple[Outcome, str]:
    (ended,) = judged(lines)
    return ended.verdict.outcome, ended.verdict.message


@pytest.mark.parametrize(
    ("lines", "outcome", "message"),
    [
        (
            [line("t", window) for window in range(20)],
            Outcome.INCONCLUSIVE,
            "nothing is decided by the end of the recording (20 of 240 windows of evidence), not promoted: "
            "it lacks 10 more windows",
        ),
        (
            [line("t", window, 1.6, serving=1.57) for window in range(40)],
            Outcome.RUNNER_UP,
            "faster than the baseline, not proven faster than what serves by the end of the recording (40 of "
            "240 windows of evidence), runner-up",
        ),
        (
            [line("t", 0, ready_seconds=60), line("t", 1), line("t", 2, 1.0, ready_seconds=90)][::2],
            Outcome.INCONCLUSIVE,
            "nothing is decided by the end of the recording (0 of 240 windows of evidence), not promoted; "
            "most windows are WarmingUp: wait: a young pod is slow and is not evidence yet",
        ),
        (
            [line("t", window, None) for window in range(50)],
            Outcome.INCONCLUSIVE,
            "no line has both a baseline and a trial arm (50 lines have only a baseline), "
            "nothing is promoted",
        ),
        (
            [line("t", 0, None), line("t", 1, baseline=None), line("t", 2, None, baseline=None)],
            Outcome.INCONCLUSIVE,
            "no line has both a baseline and a trial arm (1 line has only a baseline, 1 line has only "
            "a trial arm, 1 line has neither), nothing is promoted",
        ),
    ],
    ids=["too short", "not proven against serving", "no evidence", "only a baseline", "never both"],
)
def test_a_recording_that_ends_early_is_told_so(lines: list[bytes], outcome: Outcome, message: str) -> None:
    assert end(lines) == (outcome, message)


def test_a_recording_that_reaches_the_deadline_is_told_so_by_the_judge() -> None:
    (ended,) = judged(noisy(random.Random(4), "t", 1.02, 300), Settings(pod_sd=0.1))
    assert ended.verdict.numbers.windows_used == 240
    assert "by the deadline" in ended.verdict.message


def test_each_unknown_key_is_named_once_and_its_lines_are_judged() -> None:
    plain = [line("t", window, 1.3) for window in range(60)]
    strange = [each.replace(b'"itl_seconds"', b'"restart": 1, "itl_seconds"') for each in plain]
    strange[7] = strange[7].replace(b'"restart"', b'"colour"')
    found = list(judge_stream(io.BytesIO(b"".join(strange)), Settings()))
    assert [each for each in found if not isinstance(each, Ended)] == [
        UnknownKey(1, "restart"),
        UnknownKey(8, "colour"),
    ]
    assert [each for each in found if isinstance(each, Ended)] == judged(plain)


def test_unknown_keys_without_end_are_not_kept() -> None:
    lines = [
        line("t", window, **{f"key-{window}-{part}-{'x' * 1000}": 1 for part in range(7)})
        for window in range(40)
    ]
    found = [
        each for each in judge_stream(io.BytesIO(b"".join(lines)), Settings()) if not isinstance(each, Ended)
    ]
    assert len(found) == MOST_KEYS
    assert max(len(each.key) for each in found if isinstance(each, UnknownKey)) == 100
    assert not any(isinstance(each, Refused) for each in found)
