"""The methods of speculation, a row for each: what it needs, what its numbers mean, what it changes.

`rules.methods` and `runner` read it; `docs/methods.md` is printed from it. Sources: SpeculativeConfig and
VllmConfig in every minor release of vLLM from 0.18 to 0.33, and AMD's measurements of 2026-08-20.
"""

from dataclasses import dataclass
from enum import StrEnum

from .versions import ALWAYS, Span, Version, between, since


class Needs(StrEnum):
    """Whether a method takes a checkpoint of its own (`drafters[].model`)."""

    CHECKPOINT = "needed"
    MAYBE = "optional"
    NOTHING = "none"


class Drafts(StrEnum):
    """How the tokens of a step come about."""

    ONE_BY_ONE = "one after another"
    BLOCK = "a block at once"
    LOOKED_UP = "looked up in the text"


class Runner(StrEnum):
    """vLLM's model runner, from 0.29 on V2 unless something needs V1."""

    V1 = "V1"
    V2 = "V2"


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: `drafters[].method`, and vLLM's `method`.
        title: what it is, in a few words.
        span: the releases that have it.
        needs: whether it takes a checkpoint.
        drafts: one token after another, or all at once.
        tokens: what `numSpeculativeTokens` means and how large it may be.
        runner: which model runner runs it.
        builds: development builds, of versions that were never released, some of which have it too.
        in_some_targets: its layers are in those targets only of which the catalogue says so.
        not_in_target: families that have none, so that vLLM refuses it without a checkpoint.
        non_causal: its attention looks both ways, which not every backend can.
        package: Python package that the stock image lacks; "" for none.
        variants: names under which it is known too, and how to ask for them.
        changes: what else it changes, and says in the log at most; sentences for the docs.
    """

    name: str
    title: str
    span: Span
    needs: Needs
    drafts: Drafts
    tokens: str
    runner: Runner = Runner.V2
    builds: tuple[Version, ...] = ()
    in_some_targets: bool = False
    not_in_target: tuple[str, ...] = ()
    non_causal: bool = False
    package: str = ""
    variants: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()


# True of every method.
CHANGES: tuple[str, ...] = (
    "Fewer KV blocks: the drafter's weights and cache, wider graphs, and on hybrid targets its share of the "
    "state take memory (vllm:cache_config_info, num_gpu_blocks)",
    "The compile cache is missed once: the speculative config is part of its key",
    "Requests with min_p or logit_bias are answered with HTTP 400, which the baseline serves",
    "Prefix-cache hits can fall, on hybrid targets to none (issues 38182, 54360)",
)
_LENGTH = (
    "From 0.33 on the engine's max_model_len falls to the draft's where the draft can't be extended "
    "(YaRN overrides are not passed on); /v1/models tells"
)
_DROP = (
    "The last block of a prefix-cache hit is dropped and computed again, unless disable_eagle_block_drop "
    "is set"
)
_HIDDEN_STATES = (_LENGTH, _DROP)
_ACTIVE = (
    "From 0.33 on at most max_num_batched_tokens / lookahead requests run at once, with a warning in the log"
)
_NO_ASYNC = "Async scheduling is off, which the baseline has on"
_ON_V1 = "It runs on the V1 model runner, the baseline from 0.29 on V2"

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "mtp",
            "layers of the target that predict further tokens, or Gemma 4's assistant",
            ALWAYS,
            Needs.MAYBE,
            Drafts.ONE_BY_ONE,
            "passes; above the number of layers in the checkpoint a multiple of it, and the layers run again",
            not_in_target=(
                "gemma4",
                "gpt-oss",
                "kimi-k2",
                "laguna",
                "llama3",
                "llama4",
                "minimax-m2",
                "mistral",
                "muse-glimmer",
                "qwen3",
                "qwen3-vl",
            ),
            variants=(
                "Gemma 4's assistant: mtp with model google/<target>-assistant",
                "the old names (deepseek_mtp, qwen3_next_mtp ...): mtp",
            ),
            changes=_HIDDEN_STATES,
        ),
        Method(
            "eagle",
            "a trained head on the target's last hidden state",
            ALWAYS,
            Needs.CHECKPOINT,
            Drafts.ONE_BY_ONE,
            "passes of the head, any number",
            changes=_HIDDEN_STATES,
        ),
        Method(
            "eagle3",
            "a trained head on hidden states of three layers",
            ALWAYS,
            Needs.CHECKPOINT,
            Drafts.ONE_BY_ONE,
            "passes of the head, any number; with parallel_drafting all in one pass",
            variants=(
                "EAGLE-3.1: eagle3 with its checkpoint",
                "P-EAGLE: eagle3 with options.parallel_drafting: true",
            ),
            changes=(*_HIDDEN_STATES, f"P-EAGLE: {_ON_V1[0].lower()}{_ON_V1[1:]}"),
        ),
        Method(
            "dflash",
            "a diffusion head that drafts a block in one pass",
            since("0.20"),
            Needs.CHECKPOINT,
            Drafts.BLOCK,
            "tokens of the block, at most block - 1: its first place is the token that is known",
            non_causal=True,
            variants=("DFlash2, LiLiCorr, XPress: dflash with a checkpoint that says so",),
            changes=(_LENGTH, f"Up to 0.32: {_DROP[0].lower()}{_DROP[1:]}", _ACTIVE),
        ),
        Method(
            "dspark",
            "DFlash's pass with a Markov head and a confidence head",
            since("0.25"),
            Needs.MAYBE,
            Drafts.BLOCK,
            "tokens of the block, at most block: it drafts from the known token too",
            builds=(Version(0, 23, 1),),
            in_some_targets=True,
            non_causal=True,
            variants=(
                "DeepSeek-V4-Flash-0731, V4-Pro-0813, V4.1: dspark without model; the target has the layers",
            ),
            changes=(_LENGTH, f"Up to 0.32: {_DROP[0].lower()}{_DROP[1:]}", _ACTIVE),
        ),
        Method(
            "draft_model",
            "a small model of the same vocabulary",
            ALWAYS,
            Needs.CHECKPOINT,
            Drafts.ONE_BY_ONE,
            "passes of the small model, any number",
            variants=("PARD: draft_model with options.parallel_drafting: true",),
            changes=(
                f"PARD, and use_heterogeneous_vocab: {_ON_V1[0].lower()}{_ON_V1[1:]}",
                _LENGTH,
            ),
        ),
        Method(
            "ngram",
            "the continuation of the last tokens' earlier occurrence in the request",
            ALWAYS,
            Needs.NOTHING,
            Drafts.LOOKED_UP,
            "tokens copied at most, any number",
            changes=(f"Up to 0.32: {_NO_ASYNC[0].lower()}{_NO_ASYNC[1:]}",),
        ),
        Method(
            "suffix",
            "the likeliest continuation in trees over earlier requests and this one",
            ALWAYS,
            Needs.NOTHING,
            Drafts.LOOKED_UP,
            "tokens copied at most, the tree's depth (options.suffix_decoding_max_tree_depth, 24) is the "
            "limit",
            runner=Runner.V1,
            package="arctic-inference==0.1.1",
            changes=(_ON_V1, _NO_ASYNC),
        ),
    )
}


@dataclass(frozen=True)
class NotTaken:
    """A method of vLLM's that `drafters[].method` does not have: its releases, why not, and what instead."""

    name: str
    span: Span
    why: str
    instead: str


# Names from before `mtp` was one method; vLLM takes them with a warning and means `mtp`.
MTP_ALIASES: dict[str, Span] = {
    "bailing_hybrid_mtp": since("0.25"),
    "bailing_hybrid_v3_mtp": since("0.28"),
    "deepseek_mtp": ALWAYS,
    "dots3_note_mtp": since("0.28"),
    "ernie_mtp": ALWAYS,
    "exaone4_5_mtp": since("0.20"),
    "exaone_moe_mtp": ALWAYS,
    "gemma4_mtp": since("0.21"),
    "glm4_moe_lite_mtp": ALWAYS,
    "glm4_moe_mtp": ALWAYS,
    "glm5_next_mtp": since("0.30"),
    "glm_ocr_mtp": ALWAYS,
    "hy_v3_mtp": since("0.20"),
    "hy_v4_mtp": since("0.29"),
    "inkling_mtp": since("0.26"),
    "kimi_k3_mtp": since("0.27"),
    "longcat_flash_mtp": ALWAYS,
    "mimo_mtp": ALWAYS,
    "mimo_v2_mtp": since("0.21"),
    "minimax_m3_mtp": since("0.24"),
    "nemotron_h_mtp": ALWAYS,
    "pangu_ultra_moe_mtp": ALWAYS,
    "qwen3_5_mtp": ALWAYS,
    "qwen3_next_mtp": ALWAYS,
    "qwen4_exp_mtp": since("0.29"),
    "step3p5_mtp": ALWAYS,
    "step5_mtp": since("0.33"),
}

NOT_TAKEN: dict[str, NotTaken] = {
    row.name: row
    for row in (
        NotTaken(
            "ngram_gpu", ALWAYS, "ngram on the GPU, which ngram itself is from 0.30 on", "use method ngram"
        ),
        NotTaken(
            "medusa", between(None, "0.33"), "vLLM dropped it in 0.33", "use a drafter of another method"
        ),
        NotTaken(
            "mlp_speculator",
            between(None, "0.33"),
            "vLLM dropped it in 0.33",
            "use a drafter of another method",
        ),
        NotTaken(
            "custom_class",
            since("0.22"),
            "it runs code of which nothing is known here",
            "use a drafter of another method",
        ),
        NotTaken(
            "extract_hidden_states",
            ALWAYS,
            "it writes training data and makes nothing faster",
            "remove the drafter",
        ),
        *(
            NotTaken(alias, span, "it is an old name of mtp", "use method mtp")
            for alias, span in MTP_ALIASES.items()
        ),
    )
}
