"""What the rules on methods, options and combinations find on one drafter."""

from __future__ import annotations

from typing import Any

from specdeploy.api.rule import Finding
from specdeploy.api.spec import Drafter
from specdeploy.engine.catalogue.entries import Checkpoint, Target, Tokens
from specdeploy.engine.checks import on_drafters
from specdeploy.engine.setting import setting_of
from tests.engine.specs import SMALLEST, smallest

CUSTOM = "team/vllm:v0.33.0"  # not the stock image: whatever a method needs may be in it


def on_drafter(
    one: Drafter,
    *,
    image: str = CUSTOM,
    target: Target | None = None,
    args: list[str] | None = None,
    path: str = "replicas",
    value: Any = 4,
) -> list[Finding]:
    """Findings of the codes SD3xx to SD5xx, in the smallest spec with this drafter and a few changes."""
    spec = smallest(path, value).model_copy(update={"drafters": [one]})
    if args is not None:
        spec = spec.model_copy(update={"engine": spec.engine.model_copy(update={"args": args})})
    setting = setting_of(spec, image=image, targets=(target,) if target else ())
    return [each for each in on_drafters(setting).get(one.name, ()) if each.code[2] in "345"]


def codes(one: Drafter, **where: Any) -> list[str]:
    """The codes alone."""
    return [finding.code for finding in on_drafter(one, **where)]


def a_target(
    family: str = "any", *, attention: str | None = None, block: int | None = None, within: str | None = None
) -> Target:
    """The smallest spec's model as a catalogue might have it, with a drafter of each block method; that of
    method `within` is layers of the target."""
    tokens = Tokens(least=1, most=15, suggested=7)
    drafters = tuple(
        Checkpoint(
            method=method,
            tokens=tokens,
            source="a test",
            model=None if method == within else f"org/{method}",
            block=block,
        )
        for method in ("dflash", "dspark")
    )
    return Target(
        model=SMALLEST["model"], family=family, source="a test", attention=attention, drafters=drafters
    )
