"""Rare events: has the trial more of them per request than is tolerated? An exact sequential test.

The tolerated rate is r0 = 1 + increase times the baseline's plus an absolute rate f. With x and X events in
n and N requests of trial and baseline, and any r > r0,

    exp(x a + X b - (e^a - 1) f n),   e^a = (r / r0) e^b,   e^b = (r0 n + N) / (r n + N)

has a mean of at most 1 wherever the trial's rate is tolerated and events are independent (Poisson or
binomial); for f = 0 it is the likelihood ratio of the binomial split of x + X. Products over windows,
averaged over r and over the window at which the trouble began (weight 1 / (j (j + 1)) for the j-th), stay
below 1000 with probability 0.999 (Ville), however often one looks, until all is forgotten: each epoch of 240
windows and each guard may err by 0.001 anew. As every window may be the beginning, trouble that begins late
is found, whatever the baseline suffered before.

Events that are not independent: a client that retries a broken request, or a burst of preemptions, makes
many events in one window. So one window multiplies by at most exp(`most`), and an alarm needs several. For
the faint excess, which many windows of bursts could feign, it is 0.4 of that. What
remains: a client that stays connected to the trial's one pod and sends, through all those windows, requests
that are broken anyway. Counters cannot tell that from a fault of the drafter; the sentence shows the counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from specdeploy.judge.guards.limits import CountLimit

ALARM = 1000.0
EPOCH = 240
"""Windows after which all is forgotten: the counts shown are recent however long an arm is watched."""
FAINT, SLIGHT, GREAT = 1.15, 2.0, 12.0
"""The excesses tried, r / r0. Evidence for one sinks while the true excess is below its (r - 1) / ln r: 1.44
for 2, 1.07 for 1.15."""
FAINT_AT_MOST = 0.4
"""Of `most`: bursts at the very limit then raise no more alarms than they would without the faint excess."""

_LOG_FAINT, _LOG_SLIGHT, _LOG_GREAT = math.log(FAINT), math.log(SLIGHT), math.log(GREAT)


class Counts(NamedTuple):
    """The evidence for a faint, a slight and a great excess, from 0, and totals over the windows.

    No logs: a step is bounded above, and evidence that has sunk to 0 is renewed by the next beginning.
    """

    windows: int = 0
    faint: float = 0.0
    slight: float = 0.0
    great: float = 0.0
    trial: float = 0.0
    trial_requests: float = 0.0
    baseline: float = 0.0
    baseline_requests: float = 0.0

    def add(
        self,
        trial: float | None,
        requests: float | None,
        baseline: float | None,
        others: float | None,
        limit: CountLimit | None,
        most: float,
    ) -> Counts:
        """One window: events of so many requests on the trial, and the same of the baseline.

        Unchanged if something is unknown, an arm had no request, the guard is off, or an alarm was raised:
        it stays. `most`: the largest log of a step.
        """
        if trial is None or requests is None or baseline is None or others is None or limit is None:
            return self
        if requests < 1 or others < 1 or self.alarmed:
            return self
        if self.windows >= EPOCH:
            return Counts().add(trial, requests, baseline, others, limit, most)
        windows, faint, slight, great, ours, our_requests, theirs, their_requests = self
        beginning = 1 / ((windows + 1) * (windows + 2))
        faint_step, step, great_step = _steps(trial, requests, baseline, others, limit, most)
        return Counts(
            windows + 1,
            (faint + beginning) * faint_step,
            (slight + beginning) * step,
            (great + beginning) * great_step,
            ours + trial,
            our_requests + requests,
            theirs + baseline,
            their_requests + others,
        )

    @property
    def sound(self) -> bool:
        """Can these numbers have come from windows?"""
        return min(self) >= 0

    @property
    def alarmed(self) -> bool:
        return self.faint + self.slight + self.great >= 3 * ALARM


def _steps(
    trial: float, requests: float, baseline: float, others: float, limit: CountLimit, most: float
) -> tuple[float, float, float]:
    """What the window multiplies the evidence by, for a faint, a slight and a great excess."""
    tolerated = (1 + limit.increase) * requests
    allowed = limit.rate * requests
    whole = tolerated + others
    faint = whole / (FAINT * tolerated + others)
    slight, great = whole / (SLIGHT * tolerated + others), whole / (GREAT * tolerated + others)
    faint_log, log = (1 - FAINT * faint) * allowed, (1 - SLIGHT * slight) * allowed
    great_log = (1 - GREAT * great) * allowed
    if trial or baseline:
        both, little = trial + baseline, FAINT_AT_MOST * most
        faint_log = min(little, faint_log + trial * _LOG_FAINT + both * math.log(faint))
        log = min(most, log + trial * _LOG_SLIGHT + both * math.log(slight))
        great_log = min(most, great_log + trial * _LOG_GREAT + both * math.log(great))
    return math.exp(faint_log), math.exp(log), math.exp(great_log)
