"""Which answers differ by more than rounding, and when that is too many."""

import pytest

from specdeploy.judge.answers import Answer, Answers
from specdeploy.judge.guards.agreement import Agreement, Difference, agreement, differs_at


def answer(text: str, *gaps: float) -> Answer:
    """One token a letter; every gap is 5 but for those given."""
    return Answer(tuple(text), (*gaps, *[5.0] * (len(text) - len(gaps))))


@pytest.mark.parametrize(
    ("ours", "theirs", "place"),
    [
        (answer("abcd"), answer("abcd"), None),
        (answer("abcd"), answer("abcd", 0.1, 0.2), None),
        (answer("abcd"), answer("abxd"), 2),
        (answer("xbcd"), answer("abcd"), 0),
        # Nearly as likely in both arms: a tie, and what follows follows another beginning.
        (answer("axyz", 5, 0.4), answer("abcd", 5, 0.5), None),
        (answer("axyz", 5, 0.5), answer("abcd", 5, 0.5), 1),
        # Sure of itself in one arm: rounding does not turn that.
        (answer("axyz", 5, 0.0), answer("abcd", 5, 4.0), 1),
        (answer("axyz", 5, 4.0), answer("abcd", 5, 0.0), 1),
        # It ends earlier: the end is a token, too.
        (answer("ab"), answer("abcd"), 2),
        (answer("abcd"), answer("ab"), 2),
        (answer("ab"), answer("abcd", 5, 5, 0.9), None),
        (answer("a"), answer("a"), None),
    ],
)
def test_the_first_difference_counts_unless_it_is_a_tie(
    ours: Answer, theirs: Answer, place: int | None
) -> None:
    assert differs_at(ours, theirs) == place


THEIRS: Answers = {"count": answer("abcdefgh"), "json": answer("{[1]}"), "code": answer("n-1")}


@pytest.mark.parametrize(
    ("ours", "baselines", "compared", "differing"),
    [
        (THEIRS, [THEIRS], 3, []),
        ({}, [THEIRS], 0, []),
        (THEIRS, [], 0, []),
        (THEIRS, [{}], 0, []),
        ({**THEIRS, "json": answer("{{{{{")}, [THEIRS], 3, ["json"]),
        ({"new": answer("a"), "json": answer("{{{{{")}, [THEIRS], 1, ["json"]),
        # One baseline pod that answers alike is enough: the other one may be sick.
        ({**THEIRS, "json": answer("{{{{{")}, [THEIRS, {"json": answer("{{{{{")}], 3, []),
        ({**THEIRS, "json": answer("{{{{{")}, [THEIRS, {"json": answer("}}}")}], 3, ["json"]),
        ({**THEIRS, "json": answer("{{{{{")}, [{}, THEIRS], 3, ["json"]),
    ],
)
def test_a_difference_counts_only_against_every_baseline_pod_that_answered(
    ours: Answers, baselines: list[Answers], compared: int, differing: list[str]
) -> None:
    found = agreement(ours, baselines)
    assert found.compared == compared
    assert [each.question for each in found.differing] == differing


def test_an_example_shows_both_answers_from_a_little_before_the_difference() -> None:
    ours = {"count": answer("abcdefgh"[:5] + "x" * 60), "json": answer('"\n')}
    found = agreement(ours, [{"count": answer("abcdefgh"), "json": answer("{}")}])
    assert found.differing == (
        Difference("count", '"...cdefgh"', f'"...cde{"x" * 45}..."'),
        Difference("json", '"{}"', '"\\"\\n"'),
    )


@pytest.mark.parametrize(
    ("compared", "differing", "allowed", "broken"),
    [
        (7, 0, 0.0, False),
        (7, 1, 0.0, True),
        (7, 1, 0.25, False),
        (7, 2, 0.25, True),
        (4, 1, 0.25, False),
        (1, 1, 0.25, True),
        (7, 7, 1.0, False),
        (0, 0, 0.0, False),
    ],
)
def test_more_than_the_allowed_share_is_too_much(
    compared: int, differing: int, allowed: float, broken: bool
) -> None:
    example = Difference("count", "a", "b")
    assert Agreement(compared, (example,) * differing).broken(allowed) is broken
