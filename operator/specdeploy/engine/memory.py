"""Will it fit: an estimate of one GPU's memory, with every assumption in words.

`rules.memory` makes findings of it. Numbers of a model are the catalogue's; what it does not know stays
unknown and is named. Layers with a sliding window are left out: their cache is small and of one size. An
estimate is no promise: the engine itself measures what is left at its start.
"""

from dataclasses import dataclass

from .catalogue.entries import Checkpoint, Target
from .kinds import as_whole
from .serving import sequences
from .setting import Candidate, Setting
from .sizes import (
    CACHE_BYTES,
    GIB,
    Part,
    drafter_token_bytes,
    drafter_weights_gib,
    target_token_bytes,
    weights_gib,
)
from .tables.defaults import default

# Kernels' work space, the largest batch's activations and captured graphs. A round figure; what an engine
# reports at its start replaces it.
WORKSPACE_GIB = 6.0
_PLAIN_BYTES = 2  # of a number in a cache that is not compressed

_RESIZING = ("--quantization", "--cpu-offload-gb", "--offload-backend", "--hf-overrides", "--hf-config-path")
_SPREADING = ("--decode-context-parallel-size", "--prefill-context-parallel-size")


@dataclass(frozen=True)
class Memory:
    """One GPU's memory for one arm.

    Attributes:
        device_gib: all of it.
        budget_gib: what the engine may take.
        parts: what is taken before the cache gets the rest.
        token_bytes: of cache for one token of context, target and drafter together; None: unknown.
        state_block_bytes: of one block where some layers keep a state instead of a cache; None: no such
            layers, or unknown.
        cache_dtype: of the numbers in the cache, as --kv-cache-dtype has it.
    """

    device_gib: float
    budget_gib: float
    parts: tuple[Part, ...]
    token_bytes: float | None
    state_block_bytes: float | None
    cache_dtype: str

    @property
    def reckoning(self) -> str:
        """The sum in words, with what it assumes."""
        taken = ", ".join(f"{part.gib:.0f} for {part.words}" for part in self.parts if part.gib is not None)
        return f"{self.budget_gib:.0f} of {self.device_gib:g} GiB, less {taken}; cache in {self._cache_words}"

    @property
    def _cache_words(self) -> str:
        return "16 bits" if CACHE_BYTES.get(self.cache_dtype) == _PLAIN_BYTES else self.cache_dtype

    @property
    def unknown(self) -> tuple[str, ...]:
        """What is not known, by name."""
        parts = tuple(part.name for part in self.parts if part.gib is None)
        return parts if self.token_bytes is not None else (*parts, "the size of a token in the cache")

    @property
    def cache_gib(self) -> float | None:
        """What is left for the cache, negative when the rest does not fit; None where a part is unknown."""
        sizes = [part.gib for part in self.parts]
        return None if None in sizes else self.budget_gib - sum(size or 0 for size in sizes)

    @property
    def cache_tokens(self) -> int | None:
        """Tokens that the cache holds, at least 0; None: unknown."""
        if self.cache_gib is None or not self.token_bytes:
            return None
        return max(0, int(self.cache_gib * GIB / self.token_bytes))

    @property
    def state_blocks(self) -> int | None:
        """Blocks for states and cache of a hybrid target; each request at once needs at least one."""
        if self.cache_gib is None or not self.state_block_bytes:
            return None
        return max(0, int(self.cache_gib * GIB / self.state_block_bytes))


def baseline_memory(setting: Setting) -> Memory | None:
    """Of the arm without a drafter; None where GPU or target are unknown, or the cache's size is given."""
    return _memory(setting, None)


def drafter_memory(candidate: Candidate) -> Memory | None:
    """Of the arm with this drafter; None also where the drafter is unknown."""
    return _memory(candidate.setting, candidate) if candidate.checkpoint else None


def cache_lost(candidate: Candidate) -> float | None:
    """Share of the baseline's tokens of cache that this drafter costs, 0 to 1; None: unknown."""
    checkpoint = candidate.checkpoint
    if checkpoint is not None and checkpoint.kv_share is not None:
        return checkpoint.kv_share
    before, after = baseline_memory(candidate.setting), drafter_memory(candidate)
    if before is None or after is None or not before.cache_tokens or after.cache_tokens is None:
        return None
    return max(0.0, 1 - after.cache_tokens / before.cache_tokens)


def requests_at_once(setting: Setting, tokens: int) -> tuple[int, int] | None:
    """Of a hybrid target: requests whose states fit, with so many drafted tokens and without; None: unknown.

    A request keeps one state in each layer without a cache, and with a drafter one more for each drafted
    token. Blocks for its context come on top.
    """
    target, memory = setting.target, baseline_memory(setting)
    if target is None or memory is None or memory.state_blocks is None:
        return None
    if not target.state_layers or not target.layers:
        return None
    groups = -(-target.state_layers // target.layers)
    return memory.state_blocks // (groups * (1 + tokens)), memory.state_blocks // groups


def _memory(setting: Setting, candidate: Candidate | None) -> Memory | None:
    target, device = setting.target, setting.device_gib
    if target is None or device is None or setting.flag("--kv-cache-memory-bytes"):
        return None
    parts = [
        _target_weights(setting, target),
        Part("work space", WORKSPACE_GIB, "work space"),
    ]
    token = _target_token_bytes(setting, target)
    if candidate is not None and candidate.checkpoint is not None:
        parts += _drafter_parts(candidate, candidate.checkpoint, target)
        token = _plus(token, _drafter_token_bytes(candidate, candidate.checkpoint, target))
    return Memory(
        device_gib=device,
        budget_gib=device * utilization(setting, device),
        parts=tuple(parts),
        token_bytes=token,
        state_block_bytes=_state_block_bytes(setting, target),
        cache_dtype=_cache_dtype(setting),
    )


def _target_weights(setting: Setting, target: Target) -> Part:
    whole = weights_gib(target)
    ranks = setting.parallel.tensor * setting.parallel.pipeline
    if whole.gib is None or setting.parallel.data > 1 or resized(setting):
        return Part(whole.name, None, "share of the weights on one GPU unknown")
    return Part(whole.name, whole.gib / ranks, f"{whole.words} over {ranks} {_gpus(ranks)}")


def resized(setting: Setting) -> bool:
    """Whether arguments may give the weights on the GPUs another size than the checkpoint's."""
    return any(setting.flag(option) is not None for option in _RESIZING)


def _drafter_parts(candidate: Candidate, checkpoint: Checkpoint, target: Target) -> list[Part]:
    parts = []
    if checkpoint.model is not None:
        parts.append(_drafter_weights(candidate, checkpoint))
    if candidate.options.get("draft_sample_method") == "probabilistic":
        parts.append(_draft_logits(candidate, target))
    return parts


def _drafter_weights(candidate: Candidate, checkpoint: Checkpoint) -> Part:
    whole, ranks = drafter_weights_gib(checkpoint), _draft_ranks(candidate)
    words = f"drafter of {checkpoint.parameters}B parameters in bf16 over {ranks} {_gpus(ranks)}"
    return Part("drafter's weights", None if whole is None else whole / ranks, words)


def _draft_logits(candidate: Candidate, target: Target) -> Part:
    """Kept from one step to the next: requests x tokens x vocabulary, in 16 bits."""
    requests, tokens = sequences(candidate.setting), candidate.drafter.num_speculative_tokens
    if target.vocabulary is None or requests is None:
        return Part("draft logits", None, "")
    size = requests * tokens * target.vocabulary * 2 / GIB
    words = f"draft logits of {requests} requests x {tokens} tokens x a vocabulary of {target.vocabulary}"
    return Part("draft logits", size, words)


def _target_token_bytes(setting: Setting, target: Target) -> float | None:
    parallel = setting.parallel
    if any(setting.flag(option) is not None for option in _SPREADING):
        return None
    element = CACHE_BYTES.get(_cache_dtype(setting))
    if element is None:
        return None
    return target_token_bytes(target, tensor=parallel.tensor, pipeline=parallel.pipeline, element=element)


def _drafter_token_bytes(candidate: Candidate, checkpoint: Checkpoint, target: Target) -> float | None:
    setting = candidate.setting
    ranks = setting.parallel.tensor if checkpoint.model is None else _draft_ranks(candidate)
    own = candidate.options.get("kv_cache_dtype")
    element = CACHE_BYTES.get(str(own) if own is not None else _cache_dtype(setting))
    if element is None:
        return None
    return drafter_token_bytes(checkpoint, target, tensor=ranks, element=element)


def _state_block_bytes(setting: Setting, target: Target) -> float | None:
    """A block of a hybrid target is one layer's state, times the layers that have a cache."""
    if target.state_mib is None or not target.state_layers or target.layers is None:
        return None
    return target.state_mib * 2**20 / target.state_layers * target.layers / setting.parallel.tensor


def _draft_ranks(candidate: Candidate) -> int:
    size = as_whole(candidate.options.get("draft_tensor_parallel_size"))
    return size if size is not None and size > 0 else candidate.setting.parallel.tensor


def _gpus(count: int) -> str:
    return "GPU" if count == 1 else "GPUs"


def _cache_dtype(setting: Setting) -> str:
    flag = setting.flag("--kv-cache-dtype")
    return (flag.value if flag else None) or "auto"


def utilization(setting: Setting, device: float) -> float:
    """Share of a device of `device` GiB that the engine may take."""
    flag = setting.flag("--gpu-memory-utilization") or setting.flag("--device-memory-utilization")
    usual = default("--gpu-memory-utilization", setting.version, device)
    try:
        value = float(flag.value or "") if flag else usual
    except ValueError:
        return usual
    return value if 0 < value <= 1 else usual


def _plus(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other
