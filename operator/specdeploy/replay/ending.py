"""What a recorded trial ends with where its lines end before its deadline.

Beside recording. The judge knows of a deadline only, and would say that it has come. The numbers stand beside
the message in what replay prints, so they are not told twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from specdeploy.judge import ADVICE, BASELINE, TRIAL, Cause, Settings, Verdict, Window


@dataclass(slots=True)
class Unpaired:
    """The lines before a trial's first one with both arms, by what they have of the two."""

    only_baseline: int = 0
    only_trial: int = 0
    neither: int = 0

    def count(self, window: Window) -> None:
        if BASELINE in window.arms:
            self.only_baseline += 1
        elif TRIAL in window.arms:
            self.only_trial += 1
        else:
            self.neither += 1

    @property
    def gaps(self) -> int:
        """Lines that are windows without data: they have no baseline to learn from."""
        return self.only_trial + self.neither


def never_began(verdict: Verdict, unpaired: Unpaired) -> Verdict:
    """The end of a trial none of whose lines has both arms."""
    counts = {
        "only a baseline": unpaired.only_baseline,
        "only a trial arm": unpaired.only_trial,
        "neither": unpaired.neither,
    }
    found = ", ".join(f"{_lines(count)} {what}" for what, count in counts.items() if count)
    return replace(
        verdict, message=f"no line has both a baseline and a trial arm ({found}), nothing is promoted"
    )


def cut_short(verdict: Verdict, settings: Settings, lacks: str) -> Verdict:
    """The end of a trial whose lines ended: the judge's verdict, without a deadline that has not come.

    `lacks`: what a promotion would still need.

    What the judge has proven or found by then it says in its own words.
    """
    numbers = verdict.numbers
    deadline = round(settings.deadline_seconds / settings.window_seconds)
    by = f"by the end of the recording ({numbers.windows_used} of {deadline} windows of evidence)"
    if verdict.reason == Cause.NOT_PROVEN_AGAINST_SERVING:
        return replace(
            verdict, message=f"faster than the baseline, not proven faster than what serves {by}, runner-up"
        )
    if verdict.reason != Cause.DEADLINE:
        return verdict
    if numbers.windows_used:
        return replace(verdict, message=f"nothing is decided {by}, not promoted: it lacks {lacks}")
    most = max(numbers.skipped, key=lambda reason: numbers.skipped[reason])
    return replace(
        verdict, message=f"nothing is decided {by}, not promoted; most windows are {most}: {ADVICE[most]}"
    )


def _lines(count: int) -> str:
    return "1 line has" if count == 1 else f"{count} lines have"
