"""Replicas that are too few for a trial, of the first drafter or of one after a promotion."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.setting import setting_of


def told(replicas: int | None, baseline: int = 1, trial: int = 1, drafters: int = 1) -> list[tuple[str, str]]:
    """Code and reason of what is said of spec.replicas."""
    body: dict[str, Any] = {
        "model": "Qwen/Qwen3-8B",
        "accelerator": {"type": "MI300X", "count": 1},
        "baseline": {"replicas": baseline},
        "trial": {"replicas": trial},
        "drafters": [
            {"name": f"n{each}", "method": "ngram", "numSpeculativeTokens": each + 1}
            for each in range(drafters)
        ],
    }
    if replicas is not None:
        body["replicas"] = replicas
    found = on_spec(setting_of(Spec.model_validate(body)))
    return [(each.code, each.reason) for each in found if each.field == "spec.replicas"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"replicas": None}, [("SD106", "a trial needs 2 replicas, there is 1")]),
        ({"replicas": 1}, [("SD106", "a trial needs 2 replicas, there is 1")]),
        ({"replicas": 4, "trial": 8}, [("SD106", "a trial needs 9 replicas, there are 4")]),
        ({"replicas": 2}, []),
        ({"replicas": 2, "baseline": 3}, []),
        (
            {"replicas": 2, "drafters": 2},
            [("SD107", "beside a drafter that serves a trial needs 3 replicas, there are 2")],
        ),
        (
            {"replicas": 4, "baseline": 3, "drafters": 2},
            [("SD107", "beside a drafter that serves a trial needs 5 replicas, there are 4")],
        ),
        ({"replicas": 5, "baseline": 3, "drafters": 2}, []),
        ({"replicas": 1, "drafters": 0}, []),
        ({"replicas": 0}, []),
    ],
)
def test_replicas_that_no_trial_can_borrow_from_are_told(
    given: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert told(**given) == expected
