"""Builds of a catalogued target, told by name: `/models/Qwen3.5-27B`, `org/Qwen3.5-27B-FP8-dynamic`.

A copy or a quantised build has the architecture of the original, so what is known of that holds for it;
the size of its weights, and how gated it is, do not follow from the name.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import msgspec

from .entries import Checkpoint, Precision, Target

# What names of quantised builds end in, and the precision of the weights that it means.
_PRECISIONS: dict[str, Precision] = {
    "bf16": "bf16",
    "fp16": "fp16",
    "fp8": "fp8",
    "mxfp8": "mxfp8",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "nvfp4a16": "nvfp4",
    "int8": "int8",
    "w8a8": "int8",
    "w8a16": "int8",
    "8bit": "int8",
    "int4": "int4",
    "w4a16": "int4",
    "4bit": "int4",
    "awq": "int4",
    "gptq": "int4",
}
_BEFORE = "unsloth|quantized|quark|qat|w|awq|gptq|autoround|bnb|w8a8"
_AFTER = "dynamic|static|block|tensor|channel|kv|a|ct|quark|preview|asq|sym|asym|g[0-9]+"
_WORDS = "|".join(_PRECISIONS)
_ENDING = re.compile(rf"[-_](?:(?:{_BEFORE})[-_.])*({_WORDS})(?:[-_.](?:{_WORDS}|{_AFTER}))*$")

# No ending is longer; looking no further keeps a name of any length cheap.
_LONGEST_ENDING = 64


class Build(NamedTuple):
    """A name taken apart: the model, in lower case without its owner or folder, and what its ending says."""

    model: str
    precision: Precision | None


@lru_cache(maxsize=4096)
def build_of(name: str) -> Build:
    """`RedHatAI/Qwen3-8B-quantized.w4a16` is a build of `qwen3-8b` in int4."""
    last = name.rstrip("/").rpartition("/")[2].lower()
    ending = _ENDING.search(last, max(0, len(last) - _LONGEST_ENDING))
    if ending is None:
        return Build(last, None)
    return Build(last[: ending.start()], _PRECISIONS[ending[1]])


def original_of(model: str, known: Iterable[Target]) -> Target | None:
    """The target of which `model` is another build by its name: the one in the same precision, else the one
    whose name tells none, else the first. None: of none."""
    wanted = build_of(model)
    same = [each for each in known if each.model != model and build_of(each.model).model == wanted.model]
    return min(same, key=lambda each: _distance(build_of(each.model), wanted), default=None)


def _distance(one: Build, wanted: Build) -> int:
    if one.precision == wanted.precision:
        return 0
    return 1 if one.precision is None else 2


def as_build(original: Target, model: str) -> Target:
    """What is known of `original`, as far as it holds for its build `model`."""
    named, of_original = build_of(model).precision, build_of(original.model).precision
    # Where the original's name tells its format, a name without one is most likely of another.
    precision = named or (None if of_original else original.precision)
    other = precision != original.precision  # where another one runs is not known of this one
    return msgspec.structs.replace(
        original,
        model=model,
        precision=precision,
        verified=() if other else original.verified,
        unsupported=() if other else original.unsupported,
        weights_gib=None,
        gated=None,
        licence=None,
        drafters=tuple(_for_build(each, original.model) for each in original.drafters),
    )


def _for_build(drafter: Checkpoint, original: str) -> Checkpoint:
    notes = f"Known with {original}; acceptance on this build of it may differ. {drafter.notes}"
    return msgspec.structs.replace(drafter, notes=notes.strip())
