"""The words of status and Events: each has its meaning, and no other is ever said."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from specdeploy.api import reasons
from specdeploy.api.reasons import EventReason, Outcome, Reason, TrialReason, TrialState, VerdictReason, Word
from specdeploy.judge.verdict import Cause

PACKAGE = Path(reasons.__file__).parents[1]
KINDS = [kind for kind in vars(reasons).values() if isinstance(kind, type) and issubclass(kind, Word)]
WORDS = [word for kind in KINDS for word in kind]
# Who says which words: the call, the position of the word in it, and where its meanings are.
SAID = {
    "Ending": (1, VerdictReason),
    "Ailment": (0, VerdictReason),
    "Hold": (0, TrialReason),
    "Event": (1, EventReason),
}


@pytest.mark.parametrize("word", WORDS, ids=[f"{type(w).__name__}.{w}" for w in WORDS])
def test_every_word_is_one_camel_case_word_with_a_meaning(word: Word) -> None:
    assert re.fullmatch(r"([A-Z][a-z]*)+", word.value)
    assert word.meaning
    assert not word.meaning.endswith(".")


def test_a_word_is_its_text() -> None:
    assert Reason("InvalidSpec") is Reason.INVALID_SPEC
    assert f"{TrialState.WARMING_UP}" == "WarmingUp"
    assert {"WarmingUp": 1}[TrialState.WARMING_UP]


def test_every_cause_of_the_judge_has_its_meaning() -> None:
    assert {cause.value for cause in Cause} <= {reason.value for reason in VerdictReason}


def test_no_word_is_said_that_has_no_meaning_here() -> None:
    said = {
        (kind, word)
        for path in [*PACKAGE.glob("*.py"), *(PACKAGE / "rollout").glob("*.py")]
        for kind, word in literals(path)
    }
    known = {(kind, word.value) for kind in (VerdictReason, TrialReason, EventReason) for word in kind}
    assert len(said) > 10, "the words of the rollout were not found"
    assert said <= known


def literals(path: Path) -> Iterator[tuple[type[Word], str]]:
    """Reasons that are written out where they are said."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SAID):
            continue
        position, kind = SAID[node.func.id]
        word = node.args[position] if len(node.args) > position else None
        if isinstance(word, ast.Constant) and isinstance(word.value, str):
            yield kind, word.value


def test_what_was_proven_or_failed_is_not_tried_again_unasked() -> None:
    retried = set(Outcome) - reasons.QUARANTINED
    assert retried == {Outcome.PROMOTED, Outcome.RUNNER_UP, Outcome.NO_CAPACITY, Outcome.SUPERSEDED}
