"""How to read the decision table, for somebody who sees it for the first time; printed around it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping

from benchmarks.decisions import streams
from benchmarks.decisions.cells import BAD, GOOD
from benchmarks.decisions.judges import SHIPPED, WINDOWS
from benchmarks.decisions.table import SAME_SHARE

_LINE = 110
_EFFECT, _POD_SD = f"{SHIPPED.minimum_effect:.0%}", f"{SHIPPED.pod_sd:.0%}"
_NOISE = f"sd {streams.OWN_SD:.0%}, autocorrelation {streams.OWN_PHI}"
_DEMAND = f"shocks of {streams.SHOCK_SD:.0%} and a swing of {streams.SWING:.0%} over the day"

_STREAMS = f"""The streams. A baseline pod and a trial pod get the same requests, counted in windows of
{streams.SECONDS:.0f} s. The true ratio is the trial's decode speed to the baseline's at equal batch. The
log speed of each has noise of its own ({_NOISE}). Demand has {_DEMAND}; at equal demand the slower pod has
the larger batch, and so reads as slower still. First the baseline runs alone for {streams.HISTORY} windows,
of which only this judge learns. A rule that has decided nothing after {WINDOWS} windows of the trial has
neither promoted nor dropped it."""

_COLUMNS = {
    "false rollback 1.00": f"""called slower, though it is equal. "Not worth it" of this judge (dropped, as it
        cannot be worth the {_EFFECT} asked for) says no such thing and is not counted here; the others
        have no such word, and all that they roll back is counted""",
    "false rollback 1.05": 'rolled back or "not worth it", though it is worth more than is asked',
    "false promotion 1.00": "promoted, though it gains nothing",
    "rollback r": 'at a true ratio of r: rolled back or "not worth it". More is better, and earlier',
    "promotion r": "at a true ratio of r: promoted. More is better, and earlier",
    "no traffic": f"""{streams.QUIET_WINDOWS} windows without a request. Half of the runs are at
        {GOOD:.2f}x, where to drop is wrong, the others at {BAD:.2f}x, where to promote is wrong""",
    "outage": f"the same runs with {streams.OUTAGE_WINDOWS} windows in which no metrics can be read",
    "restart": f"the same runs; the trial's pod restarts where it is at {GOOD:.2f}x, else the baseline's",
    "unequal load": f"the trial is at {BAD:.2f}x and gets a third of the requests: to promote is wrong",
    "growing queue": "too few slots: fast for whom it serves, a queue without end; to promote is wrong",
}

_RULES = {
    "Argo": """a check passes by the condition named; more failed ones than the limit, or a minute without
        an answer, abort; all checks done promotes""",
    "Flagger": """a value below the minimum, no traffic and no answer are a strike each, never forgiven; so
        many strikes roll back, so many good checks promote""",
    "Kayenta": """Mann-Whitney interval of 98 % over all minutes so far, with a tolerance of 25 %; the last
        look promotes what has not failed""",
    "paired t": "on the log ratios, two-sided 5 %, at every window from the fifth on",
    "this judge": f"""as shipped it allows for two pods of one kind that differ by {_POD_SD} for good. Here
        they do not, and no other rule reckons with it: with pods known to be alike it is asked the same as
        the others""",
}

_SOURCES = """All but this judge look once a window at the quotient of the two decode speeds: no number
without traffic, no answer in an outage. That is kinder than the latency that is usually queried. Their
settings are such as a user would write for this job; stricter ones would trade one column for another.
Sources: benchmarks/decisions/rules.py."""

_STANDING = f"""Where this judge is behind another rule: by more than {SAME_SHARE:g} point of the share, or,
where something is to be found and is found as often, by the median window. In all other columns it is
ahead of every rule, or level with it."""

_WHY = f"""Why this judge is later: short of a disaster, or of proof that the trial is below 0.9x, it decides
nothing before {SHIPPED.windows_needed} windows, since a young pod is slow; and then only what stays true
however often one looks. As shipped it takes longer still over 5 % either way, and many a trial at 1.05 ends
unpromoted: two pods that differ by {_POD_SD} could look like that, and it can't know that these do not."""


def _paragraph(text: str, name: str = "", column: int = 0) -> str:
    words = " ".join(text.split())
    return textwrap.fill(f"{name:<{column}}{words}", _LINE, subsequent_indent=" " * column)


def points(texts: Iterable[str]) -> list[str]:
    """A list with a dash for each text, wrapped."""
    return [_paragraph(text, "  -", 4) for text in texts]


def _list(entries: Mapping[str, str]) -> list[str]:
    column = max(map(len, entries)) + 4
    return [_paragraph(text, f"  {name}", column) for name, text in entries.items()]


LEGEND = "\n".join(
    [
        _paragraph(_STREAMS),
        "",
        "The columns:",
        *_list(_COLUMNS),
        "",
        "The rules:",
        *_list(_RULES),
        _paragraph(_SOURCES),
    ]
)
STANDING = _paragraph(_STANDING)
WHY = _paragraph(_WHY)
