"""`--speculative-config` as vLLM 0.33 checks it, before any weights are loaded.

A pydantic dataclass here because it is one there: an unknown key or a bad value gives the same report,
which the operator reads from the log. Fields and rules: vLLM's SpeculativeConfig; `token_count` adds what
vLLM decides once it has seen the models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

Method = Literal[
    "ngram",
    "ngram_gpu",
    "suffix",
    "draft_model",
    "eagle",
    "eagle3",
    "mtp",
    "dflash",
    "dspark",
    "custom_class",
    "extract_hidden_states",
]
MtpAlias = Literal[
    "deepseek_mtp",
    "mimo_mtp",
    "glm4_moe_mtp",
    "ernie_mtp",
    "exaone_moe_mtp",
    "qwen3_next_mtp",
    "qwen3_5_mtp",
    "longcat_flash_mtp",
    "minimax_m3_mtp",
    "kimi_k3_mtp",
    "step3p5_mtp",
    "gemma4_mtp",
]
NEEDS_MODEL = ("draft_model", "eagle", "eagle3", "dflash", "custom_class")
INFERRED_TOKENS = {"mtp": 1, "dspark": 7, "suffix": 24}
NO_TOKENS = (
    "num_speculative_tokens must be provided with speculative model unless the draft model config contains "
    "an n_predict parameter."
)

PositiveInt = Annotated[int, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, le=1)]


@dataclass(config=ConfigDict(extra="forbid"))
class SpeculativeConfig:
    """Keys that vLLM 0.33 knows. Construction raises pydantic's ValidationError, as the engine's does."""

    method: Literal[Method, MtpAlias] | None = None
    model: str | None = None
    num_speculative_tokens: PositiveInt | None = None
    draft_tensor_parallel_size: PositiveInt | None = None
    tensor_parallel_size: int | None = None
    quantization: str | None = None
    moe_backend: str | None = None
    attention_backend: str | None = None
    kv_cache_dtype: str | None = None
    max_model_len: PositiveInt | None = None
    revision: str | None = None
    code_revision: str | None = None
    draft_load_config: dict[str, Any] | None = None
    enforce_eager: bool | None = None
    parallel_drafting: bool = False
    num_speculative_tokens_per_batch_size: list[tuple[int, int, int]] | None = None
    enable_adaptive_verification: bool = False
    rejection_sample_method: Literal["standard", "block", "synthetic", "fly"] = "standard"
    synthetic_acceptance_rates: list[float] | None = None
    synthetic_acceptance_length: float | None = None
    draft_sample_method: Literal["greedy", "probabilistic"] = "greedy"
    fly_window_size: PositiveInt | None = None
    fly_entropy_threshold: float = 0.3
    fly_entropy_top_k: PositiveInt = 3
    dspark_draft_topk: PositiveInt | None = None
    xpress_topc: PositiveInt | None = None
    draft_lm_head_quantization: Literal["fp8", "nvfp4"] | None = None
    use_local_argmax_reduction: bool = False
    use_heterogeneous_vocab: bool = False
    disable_padded_drafter_batch: bool = False
    disable_eagle_block_drop: bool = False
    disable_lookahead_block_hashes: bool = False
    index_share_for_mtp_iteration: bool | None = None
    prompt_lookup_min: PositiveInt | None = None
    prompt_lookup_max: PositiveInt | None = None
    suffix_decoding_max_tree_depth: PositiveInt = 24
    suffix_decoding_max_cached_requests: int = 10000
    suffix_decoding_max_spec_factor: float = 1.0
    suffix_decoding_min_token_prob: Fraction = 0.1

    @model_validator(mode="after")
    def _check_together(self) -> SpeculativeConfig:
        if self.tensor_parallel_size is not None:
            raise ValueError(
                "'tensor_parallel_size' is not a valid argument; use 'draft_tensor_parallel_size'."
            )
        if self.model is None and self.resolved_method is None:
            raise ValueError("num_speculative_tokens was provided but without speculative model.")
        if self.model is None and self.resolved_method in NEEDS_MODEL:
            raise ValueError("num_speculative_tokens was provided but without speculative model.")
        lowest, highest = self.prompt_lookup_min, self.prompt_lookup_max
        if lowest is not None and highest is not None and lowest > highest:
            raise ValueError(f"prompt_lookup_min={lowest} must be <= prompt_lookup_max={highest}")
        if self.token_count is None:
            raise ValueError(NO_TOKENS)
        return self

    @property
    def resolved_method(self) -> str | None:
        """The method that runs: aliases are `mtp`, and an absent one is guessed from the model's name."""
        if self.method in get_args(MtpAlias):
            return "mtp"
        return self.method or _guessed_method(self.model)

    @property
    def token_count(self) -> int | None:
        """Drafted tokens a round: as given, else what the method's checkpoints usually say."""
        return self.num_speculative_tokens or INFERRED_TOKENS.get(self.resolved_method or "")


def _guessed_method(model: str | None) -> str | None:
    if model is None:
        return None
    name = model.lower()
    for part, method in (
        ("eagle3", "eagle3"),
        ("eagle-", "eagle"),
        ("dflash", "dflash"),
        ("dspark", "dspark"),
    ):
        if part in name:
            return method
    return "ngram" if name == "ngram" else "draft_model"
