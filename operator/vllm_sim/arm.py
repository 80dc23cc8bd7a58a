"""From flags and environment to one arm: what it serves, how it drafts, and how it behaves.

Everything that vLLM refuses before it loads weights is refused here, as StartFailure.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from vllm_sim import failures
from vllm_sim.drafters import BASELINE, Drafter, arm_knobs, split_checkpoint
from vllm_sim.knobs import KnobError, Knobs
from vllm_sim.scheduler import Limits
from vllm_sim.speculative import SpeculativeConfig

_BLOCKS_PER_GPU = 8192
_DEFAULT_UTILIZATION = 0.92
_BLOCK_DRAFTERS = ("dflash", "dspark")
# What the real page's only info series says beside the values that depend on flags.
_FIXED_CACHE_LABELS = {
    "_block_size_resolved": "True",
    "cache_hit_alignment_tokens": "None",
    "enable_mamba_shared_prefix_checkpoint": "False",
    "hash_block_size": "None",
    "is_attention_free": "False",
    "kv_cache_dtype_skip_layers": "[]",
    "kv_cache_layout": "None",
    "kv_offloading_backend": "native",
    "kv_offloading_size": "None",
    "kv_sharing_fast_prefill": "False",
    "mamba_block_size": "None",
    "mamba_cache_dtype": "auto",
    "mamba_cache_mode": "none",
    "mamba_page_size_padded": "None",
    "mamba_ssm_cache_dtype": "auto",
    "num_cpu_blocks": "None",
    "prefix_cache_retention_interval": "0",
    "prefix_caching_hash_algo": "sha256",
    "prefix_match_unit": "None",
    "replayssm_buffer_len": "16",
    "skip_page_size_padded": "None",
    "sliding_window": "None",
    "swa_bounded_replay": "True",
    "use_kda_recoverssm": "False",
    "use_replayssm": "False",
}


@dataclass(frozen=True, slots=True)
class Arm:
    """One engine, ready to be started. `drafter` None: a baseline."""

    names: tuple[str, ...]
    model: str
    max_model_len: int
    limits: Limits
    drafter: Drafter | None
    knobs: Knobs
    seed: str
    cache_labels: Mapping[str, str]
    log_stats: bool
    """False: `/metrics` says nothing of the engine."""

    @property
    def speculative_tokens(self) -> int:
        return self.drafter.tokens if self.drafter else 0

    def random(self) -> random.Random:
        """The arm's own source of chance: the same for the same seed, drafter and host."""
        return random.Random(self.seed)  # noqa: S311 - chance, not cryptography


def build(args: argparse.Namespace, environ: Mapping[str, str], *, start: int = 1) -> Arm:
    """`start` counts the starts of this engine, from 1.

    Raises StartFailure, also for a failure that the knob `fail` asks for.
    """
    drafter, model = _drafter(args.speculative_config)
    method = drafter.method if drafter else BASELINE
    try:
        knobs = arm_knobs(method, model, environ)
        if 0 < knobs.fail_starts < start:
            knobs = knobs.replaced({"fail": ""})
    except KnobError as error:
        raise failures.config_failure(f"ValueError: {error}") from None
    checkpoint = drafter.checkpoint if drafter else None
    limits = _limits(args, knobs, drafter)
    max_model_len = _max_model_len(args.max_model_len, knobs, drafter)
    if drafter and args.max_num_batched_tokens <= drafter.tokens:
        raise failures.config_failure(
            f"ValueError: max_num_batched_tokens={args.max_num_batched_tokens} must exceed the "
            f"{drafter.tokens} lookahead slots of speculative decoding."
        )
    failure = failures.asked_for(
        knobs.fail, method=method, checkpoint=checkpoint, utilization=args.gpu_memory_utilization
    )
    if failure and not failure.while_loading:
        raise failure
    host = environ.get("VLLM_SIM_SEED") or environ.get("HOSTNAME", "")
    return Arm(
        names=tuple(args.served_model_name),
        model=args.model,
        max_model_len=max_model_len,
        limits=limits,
        drafter=drafter,
        knobs=knobs,
        seed=f"{host}/{args.seed}/{method}/{checkpoint}",
        cache_labels=_cache_labels(args, limits, max_model_len),
        log_stats=not args.disable_log_stats,
    )


def _drafter(config: Mapping[str, object] | None) -> tuple[Drafter | None, str | None]:
    """The drafter, and its model as written (with its suffix of knobs)."""
    if config is None:
        return None, None
    try:
        checked = SpeculativeConfig(**config)  # type: ignore[arg-type]  # checking is its purpose
        checkpoint, _ = split_checkpoint(checked.model)
    except ValidationError as error:
        raise failures.config_failure(f"pydantic_core._pydantic_core.ValidationError: {error}") from None
    except KnobError as error:
        raise failures.config_failure(f"ValueError: {error}") from None
    method, tokens = checked.resolved_method, checked.token_count
    if method is None or tokens is None:
        raise AssertionError("SpeculativeConfig lets no config pass without a method and a number of tokens")
    return Drafter(method=method, checkpoint=checkpoint, tokens=tokens), checked.model


def _limits(args: argparse.Namespace, knobs: Knobs, drafter: Drafter | None) -> Limits:
    share = args.gpu_memory_utilization / _DEFAULT_UTILIZATION * (1 - knobs.kv_loss)
    profiled = max(1, int(_BLOCKS_PER_GPU * args.tensor_parallel_size * share))
    return Limits(
        max_num_seqs=_seats(args, drafter),
        max_num_batched_tokens=args.max_num_batched_tokens,
        kv_blocks=args.num_gpu_blocks_override or profiled,
        block_size=args.block_size,
        prefix_caching=bool(args.enable_prefix_caching),
    )


def _seats(args: argparse.Namespace, drafter: Drafter | None) -> int:
    """Drafters of whole blocks verify so many tokens at once that fewer requests fit in a step."""
    seats = int(args.max_num_seqs)
    if drafter is None or drafter.method not in _BLOCK_DRAFTERS:
        return seats
    room = max(1, int(args.max_num_batched_tokens) // (drafter.tokens + 1))
    if room < seats:
        failures.log(f"WARNING Overriding max_num_active_seqs from {seats} to {room}.")
    return min(seats, room)


def _max_model_len(asked: int, knobs: Knobs, drafter: Drafter | None) -> int:
    """vLLM serves no longer a context than its drafter can follow, and says so in its log only."""
    length = int(knobs.draft_max_model_len)
    if drafter is None or not 0 < length < asked:
        return asked
    failures.log(f"WARNING The draft model's context is shorter: reducing max_model_len to {length}.")
    return length


def _cache_labels(args: argparse.Namespace, limits: Limits, max_model_len: int) -> dict[str, str]:
    tokens = limits.kv_blocks * limits.block_size
    return {
        **_FIXED_CACHE_LABELS,
        "block_size": str(limits.block_size),
        "effective_attention_block_size": str(limits.block_size),
        "cache_dtype": args.kv_cache_dtype,
        "enable_prefix_caching": str(args.enable_prefix_caching),
        "gpu_memory_utilization": str(args.gpu_memory_utilization),
        "kv_cache_max_concurrency": str(round(tokens / max_model_len, 2)),
        "kv_cache_memory_bytes": str(args.kv_cache_memory_bytes),
        "kv_cache_size_tokens": str(tokens),
        "num_gpu_blocks": str(limits.kv_blocks),
        "num_gpu_blocks_override": str(args.num_gpu_blocks_override),
        "user_specified_block_size": "False",
    }


def loading_failure(arm: Arm, utilization: float) -> failures.StartFailure | None:
    """The failure that comes only while weights load, if the arm's knobs ask for one."""
    drafter = arm.drafter or Drafter(method=BASELINE, checkpoint=None, tokens=0)
    return failures.asked_for(
        arm.knobs.fail, method=drafter.method, checkpoint=drafter.checkpoint, utilization=utilization
    )
