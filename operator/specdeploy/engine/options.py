"""Keys of vLLM's speculative config beside the drafter's fields: kind, methods, releases, defaults.

`rules.options` reads it; `docs/methods.md` is printed from it. vLLM forbids keys that it does not know, so a
key that is right in one release keeps an older engine from starting. Source: SpeculativeConfig in every
minor release of vLLM from 0.18 to 0.33.
"""

from dataclasses import dataclass

from .kinds import OBJECT, SCHEDULE, SWITCH, TEXT, WORD, Kind, number, one_of, whole
from .versions import ALWAYS, Span, between, since


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
    """A key that is a field of the drafter: the field's name, and the releases that have the key."""

    name: str
    span: Span = ALWAYS


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

# In the order in which they are rendered.
FIELDS: dict[str, Field] = {
    "method": Field("method"),
    "model": Field("model"),
    "num_speculative_tokens": Field("numSpeculativeTokens"),
    "revision": Field("revision"),
    "attention_backend": Field("attentionBackend", since("0.21")),
}

# Keys that are never right here: (why, what to do).
REFUSED: dict[str, tuple[str, str]] = {
    "tensor_parallel_size": ("vLLM refuses it always", "use draft_tensor_parallel_size"),
}
# Keys of a test hook that makes answers up.
SYNTHETIC: tuple[str, ...] = (
    "synthetic_acceptance_rate",
    "synthetic_acceptance_rates",
    "synthetic_acceptance_length",
)


def _words(*by_release: tuple[str, str], until: dict[str, str] | None = None) -> dict[str, Span]:
    """Words and the releases that have them: (first release, words); and the ends of those that ended."""
    ends = until or {}
    return {word: between(first, ends.get(word)) for first, words in by_release for word in words.split()}


# Words that a key takes, with their releases.
VALUES: dict[str, dict[str, Span]] = {
    # `synthetic` is refused by a rule of its own.
    "rejection_sample_method": {
        "strict": between(None, "0.21", "standard"),
        "probabilistic": between(None, "0.21", "standard"),
        "standard": since("0.21"),
        "block": since("0.25"),
        "fly": since("0.33"),
    },
    "draft_sample_method": {
        "greedy": since("0.21"),
        "gumbel": between("0.21", "0.22", "probabilistic"),
        "probabilistic": since("0.22"),
    },
    "kv_cache_dtype": _words(
        ("0.18", "auto float16 bfloat16 fp8 fp8_e4m3 fp8_e5m2 fp8_inc fp8_ds_mla"),
        ("0.20", "turboquant_k8v4 turboquant_4bit_nc turboquant_k3v4_nc turboquant_3bit_nc"),
        ("0.20", "int8_per_token_head fp8_per_token_head nvfp4"),
        ("0.25", "int4_per_token_head"),
        ("0.28", "nvfp4_4over6"),
        ("0.30", "nvfp4_ds_mla"),
        ("0.32", "ultraquant_4bit"),
        ("0.33", "octave_k3v4 octave_k3v3 octave_k3v3_compact"),
    ),
    "moe_backend": _words(
        ("0.18", "auto triton deep_gemm cutlass flashinfer_trtllm flashinfer_cutlass flashinfer_cutedsl"),
        ("0.18", "marlin aiter"),
        ("0.20", "deep_gemm_mega_moe emulation"),
        ("0.21", "humming triton_unfused"),
        ("0.22", "flashinfer_b12x"),
        ("0.24", "flydsl"),
        ("0.25", "hpc"),
        ("0.27", "batched_triton"),
        ("0.29", "b12x flashinfer_moe_ep_mega_deep_gemm flashinfer_moe_ep_mega_cutedsl"),
        ("0.30", "aiter_triton_mxfp4_bf16 rdna3"),
        ("0.32", "flashinfer_moe_ep_cutedsl aiter_mega_moe"),
        ("0.33", "aiter_triton_mxfp4_mxfp4"),
        until={"flashinfer_moe_ep_mega_cutedsl": "0.32"},
    ),
    "quantization": _words(
        ("0.18", "awq fp8 fbgemm_fp8 fp_quant modelopt modelopt_fp4 modelopt_mxfp8 modelopt_mixed gptq"),
        ("0.18", "gptq_marlin awq_marlin compressed-tensors experts_int8 quark moe_wna16 torchao inc mxfp4"),
        ("0.18", "ptpc_fp8 gguf bitsandbytes petit_nvfp4 cpu_awq"),
        ("0.19", "mxfp8"),
        ("0.20", "humming gpt_oss_mxfp4 deepseek_v4_fp8 online fp8_per_tensor fp8_per_block"),
        ("0.20", "int8_per_channel_weight_only"),
        ("0.22", "auto_gptq"),
        ("0.24", "auto_awq fp8_per_channel"),
        ("0.26", "nvfp4_per_token"),
        until={
            "ptpc_fp8": "0.19",
            "petit_nvfp4": "0.20",
            "cpu_awq": "0.23",
            "gguf": "0.24",
            "bitsandbytes": "0.28",
        },
    ),
}
# Keys whose words are a list of vLLM's, checked apart from their kind.
WORD_KEYS = ("kv_cache_dtype", "moe_backend", "quantization")
# Lists to which a package in the image can add, and since when.
OPEN_VALUES: dict[str, Span] = {"quantization": ALWAYS, "kv_cache_dtype": since("0.33")}
LOSSY = ("fly",)

_FLY = since("0.33")
OPTIONS: dict[str, Option] = {
    "draft_tensor_parallel_size": Option(whole(1), MODELS, default="the target's"),
    "quantization": Option(
        WORD, MODELS, default="as the checkpoint says; of mtp in the target, the target's"
    ),
    "moe_backend": Option(WORD, MODELS, since("0.19"), "the target's"),
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
        one_of(*VALUES["rejection_sample_method"]), default="standard (before 0.21: strict)", nullable=False
    ),
    "draft_sample_method": Option(
        one_of(*VALUES["draft_sample_method"]), MODELS, since("0.21"), "greedy", nullable=False
    ),
    "fly_window_size": Option(whole(1), span=_FLY, default="the smaller of 6 and numSpeculativeTokens - 1"),
    "fly_entropy_threshold": Option(number(0), span=_FLY, default="0.3", nullable=False),
    "fly_entropy_top_k": Option(whole(1), span=_FLY, default="3", nullable=False),
    "dspark_draft_topk": Option(
        whole(1), ("dspark",), since("0.28"), "as the checkpoint says, else all", refusing=MODELS
    ),
    "xpress_topc": Option(whole(0), ("dflash",), since("0.33"), "as the checkpoint says", refusing=MODELS),
    "draft_lm_head_quantization": Option(
        one_of("fp8", "nvfp4"), ("eagle", "eagle3", "mtp"), since("0.33"), refusing=_ALL
    ),
    "use_local_argmax_reduction": Option(SWITCH, MODELS, default="false", nullable=False),
    "use_heterogeneous_vocab": Option(
        SWITCH, ("draft_model",), since("0.25"), "false", nullable=False, refusing=_ALL
    ),
    "disable_padded_drafter_batch": Option(SWITCH, EAGLES, default="false", nullable=False),
    "disable_eagle_block_drop": Option(SWITCH, EAGLES, since("0.30"), "false", nullable=False),
    "disable_lookahead_block_hashes": Option(SWITCH, span=since("0.33"), default="false", nullable=False),
    "index_share_for_mtp_iteration": Option(
        SWITCH, ("mtp",), since("0.29"), "as the checkpoint says", refusing=_ALL
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
    "speculative_token_tree": Option(TEXT, ("eagle", "eagle3"), between(None, "0.21")),
    "disable_by_batch_size": Option(
        whole(1), span=between(None, "0.18", "num_speculative_tokens_per_batch_size")
    ),
}
