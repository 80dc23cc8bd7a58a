"""Several hundred configurations, right and wrong, to ask both the rules and the real engine about.

A systematic product: every method with every key of the speculative config and values of the right and of
wrong kinds, numbers of tokens, parallel sizes, flags. Each case has a name that says what is in it. Targets
and drafts are the tiny models and the made-up ones of `configs`; one image, of the engine's own version.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from specdeploy.api.spec import Drafter, Spec
from specdeploy.engine.catalogue.load import targets
from tests.vllm.lines import Line, lines

VERSION = "0.32.0"
STOCK = f"vllm/vllm-openai-rocm:v{VERSION}"
# For the one method that needs a package which the stock image lacks: that is no matter of vLLM's parser.
WITH_PACKAGES = f"registry.example/team/vllm:v{VERSION}"


@dataclass(frozen=True)
class Case:
    """One arm of one spec. `drafter`: as written in the spec, unchecked; None asks about the baseline."""

    name: str
    model: str
    drafter: dict[str, Any] | None
    gpus: int = 1
    arguments: tuple[str, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()
    gpu: str | None = None

    def spec(self) -> Spec:
        """The spec with no drafter in it."""
        suffix = self.drafter is not None and self.drafter["method"] == "suffix"
        env = [{"name": name, "value": value} for name, value in self.variables]
        image = WITH_PACKAGES if suffix else STOCK
        engine = {"image": image, "args": list(self.arguments), "env": env or None}
        accelerator = {"count": self.gpus, "type": self.gpu}
        return Spec.model_validate(
            {"model": self.model, "accelerator": accelerator, "engine": engine, "drafters": []}
        )

    def unchecked_drafter(self) -> Drafter | None:
        """The drafter with its values as they are, right or wrong."""
        if self.drafter is None:
            return None
        smallest = Drafter(name="d", method="ngram", num_speculative_tokens=1)
        names = {each.alias or name: name for name, each in Drafter.model_fields.items()}
        return smallest.model_copy(update={names[key]: value for key, value in self.drafter.items()})


@dataclass(frozen=True)
class Pair:
    """A target and what a method needs on it."""

    target: str
    needs: dict[str, Any] = field(default_factory=dict)


PAIRS: dict[str, Pair] = {
    "ngram": Pair("tiny/target"),
    "suffix": Pair("tiny/target"),
    "draft_model": Pair("tiny/target", {"model": "tiny/draft"}),
    "eagle": Pair("tiny/target", {"model": "tiny/eagle-head"}),
    "eagle3": Pair("tiny/target", {"model": "tiny/eagle3-head"}),
    "dflash": Pair("tiny/target", {"model": "tiny/dflash-head"}),
    "dspark": Pair("Qwen/Qwen3-8B", {"model": "deepseek-ai/dspark_qwen3_8b_block7"}),
    "mtp": Pair("tiny/mtp"),
}

# Keys of the speculative config, of this release and of others, with values right and wrong.
VALUES: dict[str, tuple[object, ...]] = {
    "draft_tensor_parallel_size": (1, 2, 0, "1", "x", 1.5, True, None),
    "tensor_parallel_size": (1,),
    "quantization": ("fp8", "nonsense", 1, None),
    "moe_backend": ("triton", "nonsense", 1),
    "kv_cache_dtype": ("auto", "fp8", "nonsense", 8),
    "max_model_len": (256, 0, "256", 25.5),
    "code_revision": ("main", 1),
    "draft_load_config": ({"load_format": "dummy"}, {"no_such_key": 1}, {}, "dummy"),
    "enforce_eager": (True, False, "yes", "perhaps", 1, 2, None),
    "parallel_drafting": (True, "perhaps", None),
    "num_speculative_tokens_per_batch_size": (
        [[1, 4, 3], [5, 16, 1]],
        [[1, 4, 3], [4, 8, 1]],
        [[2, 4, 3]],
        [[1, 4]],
        [],
        [[1, 4, 9]],
        [[4, 1, 2]],
        [[1, 4, -1]],
        [[1, 4, 0]],
        [["1", 4, 2]],
        [[1, 4, 2.5]],
        "1-4:3",
    ),
    "enable_adaptive_verification": (True, False, "perhaps"),
    "rejection_sample_method": ("standard", "block", "synthetic", "fly", "strict", "probabilistic", 1, None),
    "synthetic_acceptance_rates": ([0.9, 0.8, 0.7],),
    "synthetic_acceptance_length": (2.0,),
    "draft_sample_method": ("greedy", "probabilistic", "random", None),
    "fly_window_size": (2,),
    "fly_entropy_threshold": (0.3,),
    "fly_entropy_top_k": (3,),
    "dspark_draft_topk": (8, 0, "8"),
    "xpress_topc": (4,),
    "draft_lm_head_quantization": ("fp8",),
    "use_local_argmax_reduction": (True, "perhaps"),
    "use_heterogeneous_vocab": (True, False),
    "disable_padded_drafter_batch": (True, "perhaps"),
    "disable_eagle_block_drop": (True, "perhaps"),
    "disable_lookahead_block_hashes": (True,),
    "index_share_for_mtp_iteration": (True, "perhaps"),
    "prompt_lookup_min": (1, 9, 0, "3", 2.5),
    "prompt_lookup_max": (9, 0, "3", 2.5),
    "suffix_decoding_max_tree_depth": (32, 0, "x"),
    "suffix_decoding_max_cached_requests": (0, -1, 1.5),
    "suffix_decoding_max_spec_factor": (2, -0.5, "2"),
    "suffix_decoding_min_token_prob": (0.5, 1.5, "x"),
    "speculative_token_tree": ("[(0,)]",),
    "disable_by_batch_size": (8,),
    "no_such_key": (1,),
    "num-speculative-tokens": (5,),
}
# Combinations that one rule or another is about, and values that only a model's sizes make wrong.
TOGETHER: tuple[dict[str, object], ...] = (
    {"max_model_len": 10_000_000},
    {"dspark_draft_topk": 10_000_000},
    {"prompt_lookup_min": 2, "prompt_lookup_max": 4},
    {"prompt_lookup_min": 5, "prompt_lookup_max": 2},
    {"enable_adaptive_verification": True, "use_local_argmax_reduction": True},
    {"use_heterogeneous_vocab": True, "draft_sample_method": "probabilistic"},
    {"draft_sample_method": "probabilistic", "rejection_sample_method": "block"},
    {"parallel_drafting": True, "enable_adaptive_verification": True},
    {"disable_padded_drafter_batch": True, "parallel_drafting": True},
)
TOKENS = (1, 2, 3, 7, 15, 16, 24, 64, 0, -1, "3", 2.5)
BACKENDS = ("TRITON_ATTN", "triton_attn", "auto", "ROCM_AITER_FA", "NO_SUCH_BACKEND")

# GPUs and arguments of the engine that a method can have to do with.
ARGUMENTS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (2, ()),
    (4, ()),
    (2, ("--pipeline-parallel-size", "2")),
    (2, ("--data-parallel-size", "2")),
    (4, ("--tensor-parallel-size", "2", "--pipeline-parallel-size", "2")),
    (2, ("--tensor-parallel-size", "1")),
    (1, ("--enforce-eager",)),
    (1, ("--async-scheduling",)),
    (1, ("--no-async-scheduling",)),
    (1, ("--max-num-batched-tokens", "3", "--max-num-seqs", "1")),
    (1, ("--max-num-batched-tokens", "8192", "--max-num-seqs", "256")),
    (1, ("--enable-lora",)),
    (1, ("--enable-lora", "--max-num-batched-tokens", "512", "--max-num-seqs", "256")),
    (1, ("--no-enable-chunked-prefill",)),
    (1, ("--no-enable-prefix-caching",)),
    (1, ("--kv-sharing-fast-prefill",)),
    (1, ("--kv-cache-dtype", "fp8")),
    (1, ("--compilation-config", '{"cudagraph_mode": "PIECEWISE"}')),
    (1, ("-O1",)),
    (1, ("--max-cudagraph-capture-size", "64")),
    (2, ("--enable-batch-sharded-sampling",)),
    (1, ("--watermark-config", '{"key": 7}')),
    (1, ("--watermark-config", '{"key": 7, "algorithm": "dual_key_gumbel"}')),
    (1, ("--override-generation-config", '{"min_p": 0.05}')),
    (1, ("--enable-dbo",)),
    (1, ("--logits-processors", "some.module:Processor")),
    (1, ("--block-size", "16")),
    (1, ("--max-model-len", "128")),
)
# Drafts that are for other methods than the one that is asked for.
DRAFTS = (
    None,
    "tiny/draft",
    "tiny/eagle3-head",
    "tiny/dflash-head",
    "deepseek-ai/dspark_qwen3_8b_block7",
    "RedHatAI/Qwen3-8B-speculator.eagle3",
)
SEED = 7
MIXTURES = 300

# Methods whose layers can be in the target itself.
BUILT_IN = ("mtp", "dspark")
# A target with several such layers, and numbers of tokens.
CHAINED = ("thinkingmachines/Inkling-NVFP4", (1, 8, 12, 16))


def cases() -> tuple[Case, ...]:
    """All of them, in a fixed order; no two have the same name."""
    one_thing = (*_methods_with_options(), *_tokens(), *_backends(), *_arguments(), *_drafts(), *_targets())
    written = tuple(_of_line(line) for line in lines())
    found = (*one_thing, *written, *_mixtures(random.Random(SEED)))
    return tuple({case.name: case for case in found}.values())


def _mixtures(chance: random.Random) -> Iterator[Case]:
    """Several things at once, right and wrong, drawn at random and always the same."""
    for _ in range(MIXTURES):
        method = chance.choice(list(PAIRS))
        gpus, arguments = chance.choice(((1, ()), *ARGUMENTS))
        keys = chance.sample(list(VALUES), chance.choice((1, 2, 2, 3)))
        written = {
            "options": {key: chance.choice(VALUES[key]) for key in keys},
            "numSpeculativeTokens": chance.choice((1, 2, 3, 7, 15)),
        }
        name = f"{_written(method, gpus, arguments)} {json.dumps(written)}"
        yield _case(name, method, PAIRS[method], gpus, arguments, **written)


def _methods_with_options() -> Iterator[Case]:
    single = tuple({key: value} for key, values in VALUES.items() for value in values)
    for method, pair in PAIRS.items():
        for options in ({}, *single, *TOGETHER):
            written = " ".join(f"{key}={value}" for key, value in options.items())
            yield _case(f"{method}: {written or 'as it is'}", method, pair, options=options)


def _tokens() -> Iterator[Case]:
    for method, pair in PAIRS.items():
        for tokens in TOKENS:
            yield _case(f"{method}: {tokens!r} tokens", method, pair, numSpeculativeTokens=tokens)


def _backends() -> Iterator[Case]:
    for method, pair in PAIRS.items():
        for backend in BACKENDS:
            yield _case(f"{method}: {backend}", method, pair, attentionBackend=backend)


def _arguments() -> Iterator[Case]:
    for gpus, arguments in ARGUMENTS:
        yield Case(_written("baseline", gpus, arguments), "tiny/target", None, gpus, arguments)
    for gpus, arguments in ARGUMENTS:
        for method, pair in PAIRS.items():
            yield _case(_written(method, gpus, arguments), method, pair, gpus, arguments)
    for size in (1, 2, 3, 4):
        for method, pair in PAIRS.items():
            options = {"draft_tensor_parallel_size": size}
            yield _case(f"{method}: drafting on {size} of 2 GPUs", method, pair, gpus=2, options=options)


def _written(arm: str, gpus: int, arguments: tuple[str, ...]) -> str:
    return " ".join((f"{arm}: {gpus} GPU{'s' if gpus > 1 else ''}", *arguments))


def _drafts() -> Iterator[Case]:
    for method in PAIRS:
        for draft in DRAFTS:
            needs = {"model": draft} if draft else {}
            yield _case(f"{method}: with {draft}", method, Pair("tiny/target", needs))


def _targets() -> Iterator[Case]:
    for target in targets():
        for method in BUILT_IN:
            yield _case(f"{method}: of {target.model}", method, Pair(target.model))
    model, numbers = CHAINED
    for tokens in numbers:
        yield _case(f"mtp: {tokens} tokens of {model}", "mtp", Pair(model), numSpeculativeTokens=tokens)


def _of_line(line: Line) -> Case:
    drafter = {"name": "d", "numSpeculativeTokens": 3, **line.drafter} if line.drafter else None
    return Case(line.text, line.model, drafter, line.gpus, line.arguments, line.variables, line.gpu)


def _case(
    name: str, method: str, pair: Pair, gpus: int = 1, arguments: tuple[str, ...] = (), **written: object
) -> Case:
    drafter = {"name": "d", "method": method, "numSpeculativeTokens": 3, **pair.needs, **written}
    return Case(name, pair.target, drafter, gpus, arguments)
