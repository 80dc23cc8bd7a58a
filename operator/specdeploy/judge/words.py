"""Numbers as people read them: under every sentence that the judge and its guards say."""

from __future__ import annotations


def percent(fraction: float) -> str:
    """0.034 is 3.4%."""
    return f"{100 * fraction:.3g}%"


def times(ratio: float | None) -> str:
    """1.2 is 1.200x; None is a ratio so far out that it says nothing."""
    return "an unknown multiple of" if ratio is None else f"{ratio:.3f}x"
