"""From bytes to windows: what is read, what is refused and what is said of it."""

import io
import json
import re
from inspect import signature
from typing import Any

import pytest

from specdeploy.judge import BASELINE, SERVING, TRIAL, PodWindow
from specdeploy.replay import LONGEST_LINE, BrokenLine, parse, read_lines, unknown_keys
from tests.replay.recordings import line, pod


def read(raw: bytes) -> list[tuple[int, bytes]]:
    return list(read_lines(io.BytesIO(raw)))


def with_pod(**changes: Any) -> bytes:
    """A line with one pod in the baseline; a value of None leaves a key out."""
    changed = {key: value for key, value in (pod() | changes).items() if value is not None}
    return json.dumps({"trial": "t", "window": 1, "arms": {"baseline": [changed]}}).encode()


def test_a_line_is_a_window_of_the_named_trial() -> None:
    found = parse(line("t1", 17, 1.5, serving=1.2))
    window = found.window(60.0)
    assert (found.trial, window.index, window.seconds) == ("t1", 17, 60.0)
    assert {name: [each.pod for each in pods] for name, pods in window.arms.items()} == {
        BASELINE: ["baseline-0"],
        TRIAL: ["trial-0"],
        SERVING: ["serving-0"],
    }


def test_every_field_of_a_pod_is_read_by_its_name() -> None:
    fields = list(signature(PodWindow).parameters)
    written = {name: 2 + place for place, name in enumerate(fields)} | {"pod": "p"}
    arms = {"trial": [written]}
    raw = json.dumps({"trial": "t", "window": 1, "arms": arms}).encode()
    (read_back,) = parse(raw).window(60.0).arms[TRIAL]
    assert {name: getattr(read_back, name) for name in fields} == written


def test_a_field_that_is_absent_or_null_is_unknown() -> None:
    raw = json.dumps({"trial": "t", "window": 1, "arms": {"trial": [pod(ready_seconds=None)]}}).encode()
    (found,) = parse(raw).window(60.0).arms[TRIAL]
    assert (found.ready_seconds, found.requests_waiting, found.engines) == (None, None, 1)


@pytest.mark.parametrize("arms", [{}, {"trial": []}])
def test_an_arm_without_pods_is_absent(arms: dict[str, Any]) -> None:
    raw = json.dumps({"trial": "t", "window": 1, "arms": arms}).encode()
    assert parse(raw).window(60.0).arms == {}


def test_keys_that_nobody_knows_are_ignored_and_those_of_pods_can_be_asked_for() -> None:
    """Flagger 1581 (PD-06): a misspelt metric was ignored in silence, and a bad release was promoted."""
    raw = json.loads(with_pod(colour="red", ready_second=5)) | {"note": {"of": ["a", "person"]}}
    written = json.dumps(raw).encode()
    assert parse(written).window(60.0) == parse(with_pod()).window(60.0)
    assert (parse(with_pod()).all_known, parse(written).all_known) == (True, False)
    assert (unknown_keys(with_pod()), unknown_keys(written)) == (set(), {"colour", "ready_second"})


@pytest.mark.parametrize("arm", ["candidate", "Trial", "shadow"])
def test_an_arm_of_another_name_is_refused(arm: str) -> None:
    """PD-06 for arms: a trial under a misspelt name would be a window without data."""
    raw = json.dumps({"trial": "t", "window": 1, "arms": {"baseline": [pod()], arm: [pod()]}}).encode()
    with pytest.raises(BrokenLine, match=f"unknown field `{arm}` - at `\\$.arms`"):
        parse(raw)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_in_json_is_refused_with_what_to_write_instead(value: float) -> None:
    with pytest.raises(BrokenLine, match="JSON has no NaN or Infinity: use null, or leave the key out"):
        parse(with_pod(requests_waiting=value))


def test_a_name_may_be_nan() -> None:
    with pytest.raises(BrokenLine) as refused:
        parse(with_pod(pod="NaN") + b"}")
    assert "Infinity" not in str(refused.value)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "truncated"),
        (b"window 17", "malformed"),
        (b"[1]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
        (b'{"trial": "t", "window": 1', "truncated"),
        (b'{"trial": "t", "window": 1, "arms": {}} {}', "trailing"),
        (b'{"window": 1, "arms": {}}', "missing required field `trial`"),
        (b'{"trial": "t", "arms": {}}', "missing required field `window`"),
        (b'{"trial": "t", "window": 1}', "missing required field `arms`"),
        (b'{"trial": "", "window": 1, "arms": {}}', "length >= 1"),
        (b'{"trial": "' + b"t" * 254 + b'", "window": 1, "arms": {}}', "length <= 253"),
        (b'{"trial": 1, "window": 1, "arms": {}}', "Expected `str`, got `int` - at `$.trial`"),
        (b'{"trial": "t", "window": -1, "arms": {}}', ">= 0"),
        (b'{"trial": "t", "window": 1.5, "arms": {}}', "Expected `int`, got `float`"),
        (b'{"trial": "t", "window": true, "arms": {}}', "Expected `int`, got `bool`"),
        (b'{"trial": "t", "window": 9007199254740992, "arms": {}}', "<= 9007199254740991"),
        (b'{"trial": "t", "window": 1, "arms": []}', "Expected `object`, got `array` - at `$.arms`"),
        (b'{"trial": "t", "window": 1, "arms": {"trial": {}}}', "Expected `array`"),
        (b'{"trial": "t", "window": 1, "arms": {"trial": [NaN]}}', "malformed"),
        (b'{"trial": "\xff", "window": 1, "arms": {}}', "UTF-8"),
        (b'{"trial": "t", "window": 1, "arms": {}, "x": ' + b"[" * 100_000, "recursion"),
        (with_pod(itl_seconds=None), "missing required field `itl_seconds` - at `$.arms.baseline[0]`"),
        (with_pod(generation_tokens="12"), "Expected `float`, got `str`"),
        (with_pod(first_tokens=True), "Expected `float`, got `bool`"),
        (with_pod(requests_waiting=[]), "requests_waiting"),
        (with_pod(engines=1.5), "engines"),
        (with_pod(itl_seconds=float("nan")), "malformed"),
        (with_pod(itl_seconds=float("-inf")), "malformed"),
        (with_pod(itl_seconds=-1).replace(b"-1", b"1e999"), "out of range"),
    ],
)
def test_a_broken_line_is_refused_with_a_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(BrokenLine, match="(?i)" + re.escape(reason)):
        parse(raw)


def test_a_pod_that_is_given_twice_in_an_arm_is_refused() -> None:
    arms = {"baseline": [pod("a")], "trial": [pod("a"), pod("b"), pod("a")]}
    found = parse(json.dumps({"trial": "t", "window": 1, "arms": arms}).encode())
    with pytest.raises(BrokenLine, match="pod 'a' is twice in the trial arm"):
        found.window(60.0)


def test_ten_thousand_pods_in_one_line_are_read() -> None:
    arms = {"trial": [pod(f"pod-{number}") for number in range(10_000)]}
    found = parse(json.dumps({"trial": "t", "window": 1, "arms": arms}).encode())
    assert len(found.window(60.0).arms[TRIAL]) == 10_000


def test_ten_thousand_pods_with_every_field_on_three_arms_are_not_too_long() -> None:
    unknown = dict.fromkeys(signature(PodWindow).parameters, 123456789.123456) | {"engines": 8}
    longest_pod = len(json.dumps(unknown | {"pod": "x" * 63}))
    assert 3 * 10_000 * longest_pod < LONGEST_LINE


def test_lines_have_their_numbers_and_blank_ones_are_left_out() -> None:
    assert read(b"\xef\xbb\xbfone\n\n \r\ntwo\r\nlast") == [(1, b"one\n"), (4, b"two\r\n"), (5, b"last")]


@pytest.mark.parametrize("raw", [b"", b"\n", b"\xef\xbb\xbf", b"\n\n  \n"])
def test_an_empty_file_has_no_lines(raw: bytes) -> None:
    assert read(raw) == []


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read() -> None:
    too_long, good = b"x" * (LONGEST_LINE * 2), line("t", 1)
    (first, cut), (second, kept) = read(too_long + b"\n" + good)
    assert (first, second, kept) == (1, 2, good)
    assert len(cut) <= LONGEST_LINE + 1
    with pytest.raises(BrokenLine, match="longer than 32 MiB"):
        parse(cut)


def test_the_longest_line_is_not_too_long() -> None:
    head = b'{"trial": "t", "window": 1, "arms": {}, "note": "'
    raw = head + b"x" * (LONGEST_LINE - len(head) - 2) + b'"}\n'
    ((_, kept),) = read(raw)
    assert len(kept) == LONGEST_LINE + 1
    assert parse(kept).number == 1
