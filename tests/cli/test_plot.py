"""Pictures of trials: well-formed, and true to the numbers."""

import re
import xml.etree.ElementTree as ET

import pytest

from specdeploy.api.status import Status
from specdeploy.cli.plot import panels, svg

VERDICT = {
    "drafter": "slow<er>",
    "revision": "r",
    "attempt": 1,
    "outcome": "Disaster",
    "time": "2026-01-01T00:00:00Z",
    "ratio": "0.440",
    "recent": [430, 450],
}
TRIAL = {
    "drafter": "fast",
    "revision": "r2",
    "template": "t2",
    "attempt": 1,
    "state": "Measuring",
    "startTime": "2026-01-01T00:00:00Z",
    "stateTime": "2026-01-01T00:00:00Z",
    "ratio": "1.800",
    "lower": "1.700",
    "upper": "1.900",
    "recent": [1750, 1800, 1850],
}


def test_a_picture_has_a_dot_for_each_window_of_each_trial() -> None:
    text = svg("demo", panels(Status.model_validate({"trial": TRIAL, "verdicts": [VERDICT]})))
    root = ET.fromstring(text)
    dots = [e for e in root.iter() if e.get("class") == "window"]
    assert len(dots) == len(TRIAL["recent"]) + len(VERDICT["recent"])


def test_a_faster_window_is_drawn_higher() -> None:
    text = svg("demo", panels(Status.model_validate({"trial": TRIAL})))
    heights = [float(y) for y in re.findall(r'<circle class="window"[^>]* cy="([0-9.]+)"', text)]
    assert heights == sorted(heights, reverse=True)


def test_names_are_escaped() -> None:
    text = svg("a & b", panels(Status.model_validate({"verdicts": [VERDICT]})))
    assert "slow&lt;er&gt;" in text
    assert "a &amp; b" in text


def test_a_verdict_without_windows_has_no_panel_and_nothing_to_draw_is_said() -> None:
    status = Status.model_validate({"verdicts": [{**VERDICT, "recent": None}]})
    assert panels(status) == []
    with pytest.raises(ValueError, match="no trial has measured a window yet"):
        svg("demo", [])
