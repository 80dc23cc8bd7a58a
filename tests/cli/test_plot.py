"""Pictures of trials: well-formed, and true to the numbers."""

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from specdeploy.api.status import Status
from specdeploy.cli.plot import panels, svg

HERE = Path(__file__).parent
# One promoted, one slower, one disaster, as the judge has ended them on seeded windows.
THREE = json.loads((HERE / "three_trials.json").read_text())

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


def test_three_trials_look_as_they_did_when_somebody_looked_at_them() -> None:
    """Run with UPDATE_GOLDEN=1 to draw it anew, then look at it: five seconds must tell what happened."""
    golden = HERE / "golden" / "three_trials.svg"
    drawn = svg("default/gemma", panels(Status.model_validate(THREE)))
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(drawn)
    assert drawn == golden.read_text()


@pytest.mark.parametrize(
    ("outcome", "words"),
    [("Promoted", "it serves"), ("Slower", "taken away"), ("Disaster", "taken away at once")],
)
def test_the_panel_says_what_became_of_the_drafter(outcome: str, words: str) -> None:
    shown = {panel.title.partition(": ")[2]: panel.end for panel in panels(Status.model_validate(THREE))}
    assert words in shown[outcome]
