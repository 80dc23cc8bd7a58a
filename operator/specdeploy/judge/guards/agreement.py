"""Does a drafter change what users read? Its answers to fixed questions beside the baseline's.

Greedy output is not the same to the bit with and without speculation: several tokens are verified at once,
in other shapes and by other kernels, so log probabilities move a little. Where the first choice is hardly
better than the second, the order may turn and everything after it differs. Such a tie is no difference.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from specdeploy.judge.answers import Answer, Answers

TIE = 1.0
"""Two arms that choose differently have moved the log probabilities of the two tokens by at least the sum of
their gaps, one way or the other. Rounding explains less than this, in nats."""

_SHOWN_BEFORE = 3
_LONGEST_QUOTE = 48


class Difference(NamedTuple):
    """A question, and what baseline and trial wrote from a little before the first difference on."""

    question: str
    baseline: str
    trial: str


class Agreement(NamedTuple):
    """How many questions both arms answered, and those in which the trial differs from every baseline pod."""

    compared: int
    differing: tuple[Difference, ...]

    def broken(self, allowed: float) -> bool:
        """Whether more than this share of the answers differs."""
        return len(self.differing) > allowed * self.compared


def agreement(trial: Answers, baselines: Sequence[Answers]) -> Agreement:
    """Compare one pod of the trial with the baseline's pods. What one of them did not answer is left out."""
    found: list[Difference] = []
    compared = 0
    for question, ours in trial.items():
        theirs = [answers[question] for answers in baselines if question in answers]
        places = [differs_at(ours, each) for each in theirs]
        compared += bool(theirs)
        if theirs and places[0] is not None and None not in places:
            found.append(Difference(question, _shown(theirs[0], places[0]), _shown(ours, places[0])))
    return Agreement(compared, tuple(found))


def differs_at(ours: Answer, theirs: Answer) -> int | None:
    """The first token that differs by more than a tie; None where there is none, or a tie comes before: what
    follows a tie follows another beginning. An end is a token, too."""
    for place, (token, other) in enumerate(zip(ours.tokens, theirs.tokens, strict=False)):
        if token != other:
            return place if ours.gaps[place] + theirs.gaps[place] >= TIE else None
    shorter, longer = sorted((ours, theirs), key=lambda answer: len(answer.tokens))
    place = len(shorter.tokens)
    return place if place < len(longer.tokens) and longer.gaps[place] >= TIE else None


def _shown(answer: Answer, place: int) -> str:
    first = max(0, place - _SHOWN_BEFORE)
    text = "".join(answer.tokens[first:])
    cut = text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "..."
    return json.dumps(("..." if first else "") + cut, ensure_ascii=False)
