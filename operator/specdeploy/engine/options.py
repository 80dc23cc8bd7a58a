"""Tables: the methods and keys of vLLM's speculative config, with the release that brought each one.

Read by `speculative`. vLLM forbids keys that it does not know, so a key that is valid in one release makes an
older engine crash at start. Source: SpeculativeConfig of vLLM 0.20 to 0.33; "since" is the first release in
which the key was seen.
"""

from collections.abc import Callable
from dataclasses import dataclass

from .versions import Version

ANY = Version(0, 0)


@dataclass(frozen=True)
class Kind:
    """A kind of value: how to say it, and whether a JSON value is one."""

    wanted: str
    accepts: Callable[[object], bool]


@dataclass(frozen=True)
class Option:
    """One key: its kind, the methods it has a meaning for (none named: all), and its first release."""

    kind: Kind
    methods: tuple[str, ...] = ()
    since: Version = ANY


def whole(least: int) -> Kind:
    """Whole numbers from `least` on; JSON's true and false are none."""
    return Kind(
        f"a whole number of at least {least}",
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
    )


def number(least: float, most: float) -> Kind:
    """Numbers from `least` to `most`, both included."""
    return Kind(
        f"a number from {least:g} to {most:g}",
        lambda value: (
            isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
        ),
    )


def one_of(*words: str) -> Kind:
    """One of these words, spelled exactly so."""
    return Kind(f"one of {', '.join(words)}", lambda value: value in words)


def _is_schedule(value: object) -> bool:
    """[first batch size, last batch size, tokens] rows: from 1 on, in order, without overlap."""
    if not isinstance(value, list) or not value or not all(_is_row(row) for row in value):
        return False
    ends = [0, *(row[1] for row in value)]
    starts = [row[0] for row in value]
    ordered = all(start > end for start, end in zip(starts, ends, strict=False))
    return starts[0] == 1 and ordered and all(row[0] <= row[1] for row in value)


def _is_row(row: object) -> bool:
    return (
        isinstance(row, list)
        and len(row) == 3
        and all(isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in row)
    )


TEXT = Kind("a text", lambda value: isinstance(value, str) and value != "")
SWITCH = Kind("true or false", lambda value: isinstance(value, bool))
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
SCHEDULE = Kind("a list of [first, last, tokens] rows, from 1 on, in order, without overlap", _is_schedule)

# Methods that are younger than the oldest engine.
METHODS_SINCE: dict[str, Version] = {"dspark": Version(0, 26)}

# Draft attention of these looks both ways; not every backend can.
NON_CAUSAL = ("dflash", "dspark")
CAUSAL_ONLY_BACKENDS = ("ROCM_AITER_UNIFIED_ATTN",)
# Looks both ways on gfx950 only.
GFX950_NON_CAUSAL_BACKENDS = ("ROCM_AITER_MLA",)
GFX950 = ("MI350X", "MI355X")
# Their graphs are for uniform batches, which adaptive verification does not have.
NOT_ADAPTIVE_BACKENDS = ("ROCM_AITER_FA", "TRITON_MLA", "ROCM_OCTAVE", "ROCM_AITER_MLA_SPARSE")

# vLLM takes a draft_model with one of these in its name or path for another method.
METHOD_SUBSTRINGS = ("eagle3", "eagle-", "dflash", "dspark")

# Keys that are fields of the drafter.
FIELDS: dict[str, str] = {
    "method": "method",
    "model": "model",
    "num_speculative_tokens": "numSpeculativeTokens",
    "revision": "revision",
    "attention_backend": "attentionBackend",
}

# Keys that are never right here: (why, what to do).
REFUSED: dict[str, tuple[str, str]] = {
    "tensor_parallel_size": ("vLLM refuses it always", "use draft_tensor_parallel_size"),
    "synthetic_acceptance_rates": ("the output would be garbage", "remove it"),
    "synthetic_acceptance_length": ("the output would be garbage", "remove it"),
}

OPTIONS: dict[str, Option] = {
    "draft_tensor_parallel_size": Option(whole(1)),
    "quantization": Option(TEXT),
    "moe_backend": Option(TEXT),
    "kv_cache_dtype": Option(TEXT, since=Version(0, 26)),
    "max_model_len": Option(whole(1)),
    "code_revision": Option(TEXT),
    "draft_load_config": Option(OBJECT),
    "enforce_eager": Option(SWITCH),
    "parallel_drafting": Option(SWITCH),
    "num_speculative_tokens_per_batch_size": Option(SCHEDULE, since=Version(0, 24)),
    "enable_adaptive_verification": Option(SWITCH, since=Version(0, 28)),
    "rejection_sample_method": Option(one_of("standard", "block", "fly")),
    "draft_sample_method": Option(one_of("greedy", "probabilistic")),
    "fly_window_size": Option(whole(1), since=Version(0, 33)),
    "fly_entropy_threshold": Option(number(0, 100), since=Version(0, 33)),
    "fly_entropy_top_k": Option(whole(1), since=Version(0, 33)),
    "dspark_draft_topk": Option(whole(1), ("dspark",), Version(0, 28)),
    "xpress_topc": Option(whole(1), since=Version(0, 33)),
    "draft_lm_head_quantization": Option(one_of("fp8", "nvfp4"), ("eagle", "eagle3", "mtp"), Version(0, 33)),
    "use_local_argmax_reduction": Option(SWITCH),
    "use_heterogeneous_vocab": Option(SWITCH, ("draft_model",), Version(0, 26)),
    "disable_padded_drafter_batch": Option(SWITCH),
    "disable_eagle_block_drop": Option(SWITCH, since=Version(0, 30)),
    "disable_lookahead_block_hashes": Option(SWITCH, since=Version(0, 33)),
    "index_share_for_mtp_iteration": Option(SWITCH, ("mtp",), Version(0, 30)),
    "prompt_lookup_min": Option(whole(1), ("ngram",)),
    "prompt_lookup_max": Option(whole(1), ("ngram",)),
    "suffix_decoding_max_tree_depth": Option(whole(1), ("suffix",)),
    "suffix_decoding_max_cached_requests": Option(whole(0), ("suffix",)),
    "suffix_decoding_max_spec_factor": Option(number(0, 1000), ("suffix",)),
    "suffix_decoding_min_token_prob": Option(number(0, 1), ("suffix",)),
}

# Values of rejection_sample_method that are younger than the oldest engine.
REJECTION_SINCE: dict[str, Version] = {
    "standard": Version(0, 22),
    "block": Version(0, 26),
    "fly": Version(0, 33),
}
