"""Keys of vLLM's speculative config beside the drafter's fields: kind, methods, releases, defaults.

`rules.options` reads it; `docs/methods.md` is printed from it. vLLM forbids keys that it does not know, so a
key that is right in one release keeps an older engine from starting. Source: SpeculativeConfig of vLLM, 0.20
to 0.33.
"""

from dataclasses import dataclass

from .kinds import OBJECT, SCHEDULE, SWITCH, TEXT, WORD, Kind, number, one_of, whole
from .versions import ALWAYS, Span, Version, between, since


@dataclass(frozen=True)
class Option:
    """One key.

    Attributes:
        kind: the values that it takes.
        methods: those that it has a meaning for; none named: all.
        span: the releases that have it.
        default: what holds where it is absent, for the docs.
        nullable: whether null is taken, for "absent".
        refusing: methods that it is not for and that refuse it; the others ignore it.
        ignored: the kind that its value has to be even where it is ignored; None: the same.
    """

    kind: Kind
    methods: tuple[str, ...] = ()
    span: Span = ALWAYS
    default: str = "none"
    nullable: bool = True
    refusing: tuple[str, ...] = ()
    ignored: Kind | None = None


@dataclass(frozen=True)
class Field:
    """A key that is a field of the drafter: the field's name, and the releases that have the key.

    `seen`: an older build that is known to have had it.
    """

    name: str
    span: Span = ALWAYS
    seen: Version | None = None


# Methods with a model that drafts; the others have nothing that these keys could be about.
MODELS = ("mtp", "eagle", "eagle3", "dflash", "dspark", "draft_model")
# Methods that read the target's hidden states: vLLM's own "use_eagle".
EAGLES = ("mtp", "eagle", "eagle3", "dflash", "dspark")
_ALL = (*MODELS, "ngram", "suffix")
# Methods that parallel_drafting is a choice for; block drafters always draft so.
PARALLEL = ("eagle", "eagle3", "draft_model")

# With one of these in its path vLLM takes a draft_model or mtp for another method, in this order.
PATH_METHODS: tuple[tuple[str, str], ...] = (
    ("eagle-", "eagle"),
    ("eagle3", "eagle3"),
    ("dflash", "dflash"),
    ("dspark", "dspark"),
)
METHOD_SUBSTRINGS = tuple(word for word, _ in PATH_METHODS)

# In the order in which they are rendered.
FIELDS: dict[str, Field] = {
    "method": Field("method"),
    "model": Field("model"),
    "num_speculative_tokens": Field("numSpeculativeTokens"),
    "revision": Field("revision"),
    # AMD's measurements set it on a build of 0.23.1.
    "attention_backend": Field("attentionBackend", since("0.24"), Version(0, 23, 1)),
}

# Keys that are never right here: (why, what to do).
REFUSED: dict[str, tuple[str, str]] = {
    "tensor_parallel_size": ("vLLM refuses it always", "use draft_tensor_parallel_size"),
}
# Keys of a test hook that makes answers up.
SYNTHETIC: tuple[str, ...] = ("synthetic_acceptance_rates", "synthetic_acceptance_length")


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# The release whose lists of words these are: another may have more or fewer.
WORDS_OF = Version(0, 32)
CACHE_TYPES: tuple[str, ...] = _words(
    "auto float16 bfloat16 fp8 fp8_e4m3 fp8_e5m2 fp8_inc fp8_ds_mla nvfp4_ds_mla turboquant_k8v4 "
    "turboquant_4bit_nc turboquant_k3v4_nc turboquant_3bit_nc ultraquant_4bit int4_per_token_head "
    "int8_per_token_head fp8_per_token_head nvfp4 nvfp4_4over6"
)
MOE_BACKENDS: tuple[str, ...] = _words(
    "auto triton batched_triton deep_gemm deep_gemm_mega_moe cutlass flashinfer_trtllm flashinfer_cutlass "
    "flashinfer_cutedsl flashinfer_moe_ep_cutedsl flashinfer_b12x b12x flashinfer_moe_ep_mega_deep_gemm "
    "marlin humming triton_unfused aiter aiter_mega_moe aiter_triton_mxfp4_bf16 flydsl hpc emulation rdna3"
)
QUANTIZATIONS: tuple[str, ...] = _words(
    "awq auto_awq fp8 fbgemm_fp8 fp_quant modelopt modelopt_fp4 modelopt_mxfp8 modelopt_mixed auto_gptq gptq "
    "gptq_marlin awq_marlin humming compressed-tensors experts_int8 quark moe_wna16 torchao inc mxfp4 "
    "gpt_oss_mxfp4 deepseek_v4_fp8 online fp8_per_tensor fp8_per_block fp8_per_channel "
    "int8_per_channel_weight_only nvfp4_per_token mxfp8"
)
WORDS: dict[str, tuple[str, ...]] = {
    "kv_cache_dtype": CACHE_TYPES,
    "moe_backend": MOE_BACKENDS,
    "quantization": QUANTIZATIONS,
}
# Lists to which a package in the image can add.
OPEN_WORDS = ("quantization",)

# Ways to reject drafted tokens; `synthetic` is refused by its own rule.
REJECTIONS: dict[str, Span] = {
    "strict": between("0.20", "0.22", "standard"),
    "probabilistic": between("0.20", "0.22", "standard"),
    "standard": since("0.22"),
    "block": since("0.26"),
    "fly": since("0.33"),
}
LOSSY = ("fly",)

_FLY = since("0.33")
OPTIONS: dict[str, Option] = {
    "draft_tensor_parallel_size": Option(whole(1), MODELS, default="the target's"),
    "quantization": Option(
        WORD, MODELS, default="as the checkpoint says; of mtp in the target, the target's"
    ),
    "moe_backend": Option(WORD, MODELS, default="the target's"),
    "kv_cache_dtype": Option(WORD, MODELS, since("0.26"), "the target's"),
    "max_model_len": Option(whole(1), MODELS, default="the smaller of the draft's and the target's"),
    "code_revision": Option(TEXT, MODELS),
    "draft_load_config": Option(OBJECT, MODELS, default="the target's"),
    "enforce_eager": Option(SWITCH, MODELS, default="the target's"),
    "parallel_drafting": Option(SWITCH, PARALLEL, default="false; of dflash and dspark true", nullable=False),
    "num_speculative_tokens_per_batch_size": Option(
        SCHEDULE,
        ("ngram", "eagle", "eagle3", "mtp", "draft_model", "dflash", "dspark"),
        since("0.24"),
        "numSpeculativeTokens at every batch size",
    ),
    "enable_adaptive_verification": Option(SWITCH, MODELS, since("0.28"), "false", nullable=False),
    "rejection_sample_method": Option(
        one_of(*REJECTIONS), default="standard (before 0.22: strict)", nullable=False
    ),
    "draft_sample_method": Option(
        one_of("greedy", "probabilistic"), MODELS, default="greedy", nullable=False
    ),
    "fly_window_size": Option(whole(1), span=_FLY, default="the smaller of 6 and numSpeculativeTokens - 1"),
    "fly_entropy_threshold": Option(number(0, 100), span=_FLY, default="0.3", nullable=False),
    "fly_entropy_top_k": Option(whole(1), span=_FLY, default="3", nullable=False),
    "dspark_draft_topk": Option(
        whole(1), ("dspark",), since("0.28"), "as the checkpoint says, else all", refusing=MODELS
    ),
    "xpress_topc": Option(whole(1), ("dflash",), since("0.33"), "as the checkpoint says"),
    "draft_lm_head_quantization": Option(
        one_of("fp8", "nvfp4"), ("eagle", "eagle3", "mtp"), since("0.33"), refusing=MODELS
    ),
    "use_local_argmax_reduction": Option(SWITCH, MODELS, default="false", nullable=False),
    "use_heterogeneous_vocab": Option(
        SWITCH, ("draft_model",), since("0.26"), "false", nullable=False, refusing=_ALL
    ),
    "disable_padded_drafter_batch": Option(SWITCH, EAGLES, default="false", nullable=False),
    "disable_eagle_block_drop": Option(SWITCH, EAGLES, since("0.30"), "false", nullable=False),
    "disable_lookahead_block_hashes": Option(SWITCH, span=since("0.33"), default="false", nullable=False),
    "index_share_for_mtp_iteration": Option(
        SWITCH, ("mtp",), since("0.30"), "as the checkpoint says", refusing=_ALL
    ),
    "prompt_lookup_min": Option(whole(1), ("ngram",), default="prompt_lookup_max, else 5"),
    "prompt_lookup_max": Option(whole(1), ("ngram",), default="prompt_lookup_min, else 5"),
    "suffix_decoding_max_tree_depth": Option(
        whole(1), ("suffix",), default="24", nullable=False, ignored=whole()
    ),
    "suffix_decoding_max_cached_requests": Option(
        whole(0), ("suffix",), default="10000", nullable=False, ignored=whole()
    ),
    "suffix_decoding_max_spec_factor": Option(
        number(0), ("suffix",), default="1.0", nullable=False, ignored=number()
    ),
    "suffix_decoding_min_token_prob": Option(
        number(0, 1), ("suffix",), default="0.1", nullable=False, ignored=number()
    ),
    "speculative_token_tree": Option(TEXT, ("eagle", "eagle3"), between(None, "0.22")),
    "disable_by_batch_size": Option(
        whole(1), span=between(None, "0.18", "num_speculative_tokens_per_batch_size")
    ),
}
