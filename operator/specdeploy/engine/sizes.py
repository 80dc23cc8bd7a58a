"""Sizes of models by the catalogue's numbers: weights, and one token in the cache; None where unknown."""

from dataclasses import dataclass

from .catalogue.entries import Checkpoint, Target

GIB = 2**30

# Bytes a parameter takes; 4-bit formats with the scales of their groups.
PARAMETER_BYTES: dict[str, float] = {
    "bf16": 2,
    "fp16": 2,
    "fp8": 1,
    "int8": 1,
    "mxfp8": 1.03,
    "mxfp4": 0.53,
    "nvfp4": 0.56,
    "int4": 0.56,
}

# Bytes a number takes in the cache, by --kv-cache-dtype. Those per token and head carry a scale of four bytes
# for each head, reckoned for heads of 128. Others are packed as only their kernels know, or are of one model.
# Source: vLLM 0.32 (kv_cache_interface.py, STR_DTYPE_TO_TORCH_DTYPE).
CACHE_BYTES: dict[str, float] = {
    "auto": 2,
    "bfloat16": 2,
    "float16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "fp8_inc": 1,
    "fp8_per_token_head": 1.03,
    "int8_per_token_head": 1.03,
    "int4_per_token_head": 0.53,
}


@dataclass(frozen=True)
class Part:
    """Something that takes memory of each GPU: how much, in GiB (None: unknown), and how that is reckoned."""

    name: str
    gib: float | None
    words: str


def spreads_over(target: Target, ranks: int) -> bool:
    """Whether tensor parallelism of `ranks` gives every GPU the same number of heads; true where unknown."""
    if target.heads is not None and target.heads % ranks:
        return False
    shared = target.kv_heads if has_kv_heads(target) and target.heads is not None else None
    return shared is None or shared % ranks == 0 or ranks % shared == 0


def has_kv_heads(target: Target) -> bool:
    """Latent attention keeps one latent for all heads, whole on every GPU."""
    return target.kv_heads is not None and target.attention in ("gqa", "hybrid") and not target.latent


def weights_gib(target: Target) -> Part:
    """The target's weights, whole."""
    if target.weights_gib is not None:
        return Part("weights", target.weights_gib, "the weights as published")
    bytes_each = PARAMETER_BYTES.get(target.precision or "")
    if target.parameters is None or bytes_each is None:
        return Part("weights", None, "size of the target's weights unknown")
    size = target.parameters * 1e9 * bytes_each / GIB
    return Part("weights", size, f"{target.parameters:g}B parameters in {target.precision}")


def drafter_weights_gib(checkpoint: Checkpoint) -> float | None:
    """A checkpoint's weights, whole; None: unknown."""
    size = checkpoint.parameters
    return None if size is None else size * 1e9 * PARAMETER_BYTES["bf16"] / GIB


def target_token_bytes(
    target: Target, *, tensor: int = 1, pipeline: int = 1, element: float = 2
) -> float | None:
    """Bytes of cache of one token on one GPU; `element`: bytes of one number. None: unknown."""
    if target.layers is None or target.head_dim is None:
        return None
    layers, each = target.layers / pipeline, target.head_dim * element
    if (
        target.attention in ("mla", "sparse-mla") or target.latent
    ):  # one for keys and values, whole on every GPU
        return layers * each
    return None if target.kv_heads is None else 2 * layers * _heads_here(target.kv_heads, tensor) * each


def drafter_token_bytes(
    checkpoint: Checkpoint, target: Target, *, tensor: int = 1, element: float = 2
) -> float | None:
    """The same of a drafter's own cache; 0 where it reads the target's."""
    layers = checkpoint.layers
    if layers == 0:
        return 0.0
    if checkpoint.model is None and layers is not None:  # of the same kind as the target's
        whole = target_token_bytes(target, tensor=tensor, element=element)
        return None if whole is None or not target.layers else whole / target.layers * layers
    heads, size = checkpoint.kv_heads, checkpoint.head_dim or _like_target(target)
    if layers is None or heads is None or size is None:
        return None
    return 2 * layers * _heads_here(heads, tensor) * size * element


def _like_target(target: Target) -> int | None:
    """A drafter whose size of head is not published is taken to have the target's."""
    return target.head_dim if target.attention == "gqa" else None


def _heads_here(heads: int, ranks: int) -> float:
    """Heads on each GPU: with more GPUs than heads each still has one."""
    return max(1.0, heads / ranks)
