"""vLLM's speculative config of a drafter, and what is known to be wrong with one before a GPU is taken.

`arguments` renders the config, `checks` asks for the findings; the tables are in `options`.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from specdeploy.api.rule import Finding
from specdeploy.api.spec import NEEDS_MODEL, TAKES_NO_MODEL, Drafter, Spec

from . import options as table
from .image import is_stock
from .versions import Version, beyond_tables


@dataclass(frozen=True)
class Engine:
    """What a drafter is checked against.

    Attributes:
        image: the engine image in force.
        version: vLLM's version in it; None when unknown, then no rule by version applies.
        sizes: tensor, pipeline and data parallel size in force.
        eager: the target runs without graphs (--enforce-eager).
    """

    image: str
    version: Version | None
    tensor_parallel: int
    pipeline_parallel: int
    data_parallel: int
    eager: bool


def speculative_config(drafter: Drafter) -> dict[str, Any]:
    """The value of `--speculative-config`, keys in a fixed order.

    `method` is always written: left out, vLLM guesses it from the checkpoint's path.
    """
    fields = {key: getattr(drafter, key) for key in table.FIELDS}
    return {
        **{key: value for key, value in fields.items() if value is not None},
        **dict(sorted((drafter.options or {}).items())),
    }


def check_drafter(index: int, drafter: Drafter, spec: Spec, engine: Engine) -> tuple[Finding, ...]:
    """Everything that is known to be wrong with `spec.drafters[index]` on this engine."""
    path = f"spec.drafters[{index}]"
    options = drafter.options or {}
    return (
        *_check_method(path, drafter, engine),
        *_check_model(path, drafter),
        *(finding for key in options for finding in _check_option(path, key, drafter, engine)),
        *_check_lookup(path, options),
        *_check_schedule(path, drafter, engine),
        *_check_fly(path, drafter),
        *_check_backend(path, drafter, spec),
        *_check_adaptive(path, drafter, spec, engine),
    )


def _check_method(path: str, drafter: Drafter, engine: Engine) -> Iterator[Finding]:
    since = table.METHODS_SINCE.get(drafter.method)
    if since and engine.version and engine.version < since:
        reason = f"{drafter.method} came with vLLM {since}, the image has {engine.version}"
        yield Finding(f"{path}.method", reason, "use a newer spec.engine.image or another method")
    if drafter.method == "suffix" and is_stock(engine.image):
        reason = "method suffix needs the package arctic-inference, which the stock image does not have"
        yield Finding(f"{path}.method", reason, "use an image that has it (spec.engine.image)")


def _check_model(path: str, drafter: Drafter) -> Iterator[Finding]:
    field = f"{path}.model"
    if drafter.method in NEEDS_MODEL and not drafter.model:
        yield Finding(field, f"method {drafter.method} needs a draft checkpoint", "name it")
    if drafter.method in TAKES_NO_MODEL and drafter.model:
        yield Finding(field, f"method {drafter.method} takes no checkpoint", "remove it")
    trap = next((word for word in table.METHOD_SUBSTRINGS if word in (drafter.model or "").lower()), None)
    if drafter.method == "draft_model" and trap:
        reason = f"vLLM takes a draft_model with {trap!r} in its name for another method"
        yield Finding(field, reason, "use that method, or serve the checkpoint from another path")


def _check_option(path: str, key: str, drafter: Drafter, engine: Engine) -> Iterator[Finding]:
    field = f"{path}.options.{key}"
    option = table.OPTIONS.get(key)
    value = (drafter.options or {})[key]
    if key in table.FIELDS:
        yield Finding(field, "it has a field of its own", f"use {path}.{table.FIELDS[key]}")
    elif key in table.REFUSED:
        yield Finding(field, *table.REFUSED[key])
    elif key == "rejection_sample_method" and value == "synthetic":
        yield Finding(field, "synthetic acceptance makes the output garbage", "remove it")
    elif _may_be_newer(key, value, engine):
        return
    elif option is None:
        yield Finding(field, "vLLM's speculative config has no such key", _suggestion(key))
    elif option.methods and drafter.method not in option.methods:
        reason = f"it belongs to method {' or '.join(option.methods)}, this is {drafter.method}"
        yield Finding(field, reason, "remove it")
    elif not option.kind.accepts(value):
        yield Finding(field, f"it is {value!r:.60}", f"write {option.kind.wanted}")
    else:
        yield from _check_release(field, key, value, engine)
        yield from _check_draft_parallel(field, key, value, engine)


def _may_be_newer(key: str, value: Any, engine: Engine) -> bool:
    """Whether an engine newer than our tables may know what they don't: a key, or a way to reject drafts."""
    if not beyond_tables(engine.version):
        return False
    return key not in table.OPTIONS or (
        key == "rejection_sample_method" and value not in table.REJECTION_SINCE
    )


def _check_release(field: str, key: str, value: Any, engine: Engine) -> Iterator[Finding]:
    since = table.OPTIONS[key].since
    if key == "rejection_sample_method":
        since = table.REJECTION_SINCE[value]
    if engine.version and engine.version < since:
        reason = f"it came with vLLM {since}, the image has {engine.version}"
        yield Finding(field, reason, "use a newer spec.engine.image or remove it")


def _check_draft_parallel(field: str, key: str, value: Any, engine: Engine) -> Iterator[Finding]:
    if key == "draft_tensor_parallel_size" and value not in (1, engine.tensor_parallel):
        reason = f"it is {value}, vLLM takes 1 or the target's {engine.tensor_parallel}"
        yield Finding(field, reason, "use one of the two or remove it")


def _check_lookup(path: str, options: dict[str, Any]) -> Iterator[Finding]:
    least, most = options.get("prompt_lookup_min"), options.get("prompt_lookup_max")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        reason = f"prompt_lookup_min is {least}, above prompt_lookup_max {most}"
        yield Finding(f"{path}.options.prompt_lookup_min", reason, "make it at most prompt_lookup_max")


def _check_schedule(path: str, drafter: Drafter, engine: Engine) -> Iterator[Finding]:
    key = "num_speculative_tokens_per_batch_size"
    rows = (drafter.options or {}).get(key)
    if not table.SCHEDULE.accepts(rows) or not isinstance(rows, list):
        return
    if engine.data_parallel > 1:
        reason = "vLLM silently ignores it with data parallelism"
        yield Finding(f"{path}.options.{key}", reason, "remove it or use tensor parallelism")
    if max(row[2] for row in rows) > drafter.num_speculative_tokens:
        reason = f"a row asks for more than numSpeculativeTokens, {drafter.num_speculative_tokens}"
        yield Finding(f"{path}.options.{key}", reason, "lower the row or raise numSpeculativeTokens")


def _check_fly(path: str, drafter: Drafter) -> Iterator[Finding]:
    options = drafter.options or {}
    if options.get("rejection_sample_method") != "fly":
        return
    tokens, window = drafter.num_speculative_tokens, options.get("fly_window_size")
    if tokens < 2:
        reason = "rejection_sample_method fly needs at least 2 tokens"
        yield Finding(f"{path}.numSpeculativeTokens", reason, "raise it or use another rejection method")
    elif isinstance(window, int) and window >= tokens:
        reason = f"it is {window}, not below numSpeculativeTokens {tokens}"
        yield Finding(f"{path}.options.fly_window_size", reason, "lower it")


def _check_backend(path: str, drafter: Drafter, spec: Spec) -> Iterator[Finding]:
    if drafter.method not in table.NON_CAUSAL:
        return
    field, backend = _draft_backend(path, drafter, spec)
    if backend in table.CAUSAL_ONLY_BACKENDS:
        reason = f"{backend} can't run the non-causal attention of {drafter.method}"
        yield Finding(field, reason, f"set {path}.attentionBackend, e.g. TRITON_ATTN")
    known = spec.accelerator.type
    if backend in table.GFX950_NON_CAUSAL_BACKENDS and known and known not in table.GFX950:
        reason = f"{backend} runs the non-causal attention of {drafter.method} on {_or(table.GFX950)} only"
        yield Finding(field, reason, f"set {path}.attentionBackend, e.g. TRITON_MLA")


def _check_adaptive(path: str, drafter: Drafter, spec: Spec, engine: Engine) -> Iterator[Finding]:
    key = "enable_adaptive_verification"
    if (drafter.options or {}).get(key) is not True:
        return
    field = f"{path}.options.{key}"
    backend = (spec.engine.attention_backend or "").upper()
    if backend in table.NOT_ADAPTIVE_BACKENDS:
        reason = f"attention backend {backend} can't verify a varying number of tokens"
        yield Finding(field, reason, "remove it or set another spec.engine.attentionBackend")
    if engine.pipeline_parallel > 1:
        yield Finding(field, "vLLM refuses it with pipeline parallelism", "remove one of the two")
    if engine.eager:
        yield Finding(field, "it needs graphs, --enforce-eager turns them off", "remove one of the two")


def _draft_backend(path: str, drafter: Drafter, spec: Spec) -> tuple[str, str]:
    """The field that decides the drafter's backend, and the backend; absent, the target's is inherited."""
    if drafter.attention_backend and drafter.attention_backend.lower() != "auto":
        return f"{path}.attentionBackend", drafter.attention_backend.upper()
    return "spec.engine.attentionBackend", (spec.engine.attention_backend or "").upper()


def _suggestion(key: str) -> str:
    near = difflib.get_close_matches(key, table.OPTIONS, n=1)
    return f"write {near[0]} or remove it" if near else "remove it"


def _or(words: tuple[str, ...]) -> str:
    return " or ".join(words)
