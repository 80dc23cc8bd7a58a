"""The shape of the catalogue: what is known of a target and of each drafter for it, and who says so."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

# Methods that draft with a checkpoint or with layers of the target.
Method = Literal["mtp", "eagle3", "eagle", "dflash", "dspark", "draft_model"]
Attention = Literal["gqa", "mla", "sparse-mla", "hybrid"]
Precision = Literal["bf16", "fp16", "fp8", "int8", "mxfp8", "mxfp4", "nvfp4", "int4"]
Positive = Annotated[float, Meta(gt=0)]
Count = Annotated[int, Meta(ge=1)]
Text = Annotated[str, Meta(min_length=1)]
Release = Annotated[str, Meta(pattern=r"^\d+\.\d+(\.\d+)?$")]


class Measured(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """One measurement that somebody published.

    `ratio`: throughput relative to no speculation. `accepted_length`: tokens a step, the target's own
    included. `concurrency`: requests at once; None where it is not stated.
    """

    hardware: Text
    workload: Text
    tokens: Count
    ratio: Positive
    source: Text
    gpus: Count | None = None
    accepted_length: Annotated[float, Meta(ge=1)] | None = None
    concurrency: Count | None = None


class Tokens(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Values of numSpeculativeTokens: the range that makes sense, and the first to try."""

    least: Count
    most: Count
    suggested: Count

    def __post_init__(self) -> None:
        """Raises ValueError where the numbers contradict each other."""
        if not self.least <= self.suggested <= self.most:
            numbers = f"least {self.least}, suggested {self.suggested}, most {self.most}"
            raise ValueError(f"The numbers do not ascend: {numbers}")


class Checkpoint(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A drafter for one target.

    `model` is None where the layers are in the target. `block`: tokens that it was trained to draft at once
    (DFlash counts its anchor: block 16 drafts 15). `chain`: mtp layers that draft one token each; None: one
    layer, or unknown. `parameters`: billions. `layers`, `kv_heads`, `head_dim`:
    of its own cache (0 layers: it reads the target's); those of an mtp layer in the target are the target's.
    `vocabulary`: tokens, of a small model that drafts; of a head nobody compares it. `config`: where a copy
    of its config.json was read, of which `vocabulary` is then.
    `kv_share`: share of all cache that it is known to take, where that is published instead. `backends`:
    attention backend by architecture (gfx942 ...) with which it is known to work, where others are not.
    `options`: keys of the speculative config that it needs. `unsupported`: accelerators on which it is known
    not to run. `gated`, `licence`: None, unknown.
    """

    method: Method
    tokens: Tokens
    source: Text
    model: Text | None = None
    block: Count | None = None
    chain: Count | None = None
    parameters: Positive | None = None
    layers: Annotated[int, Meta(ge=0)] | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    vocabulary: Count | None = None
    config: Text | None = None
    kv_share: Annotated[float, Meta(gt=0, lt=1)] | None = None
    since: Release | None = None
    gated: bool | None = None
    licence: str | None = None
    backends: dict[str, str] = {}
    options: dict[str, Any] = {}
    unsupported: tuple[str, ...] = ()
    notes: str = ""
    measured: tuple[Measured, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError where it could draft nothing."""
        if self.longest == 0:
            raise ValueError("A block of dflash is at least 2: its first place is the token that is known")

    @property
    def longest(self) -> int | None:
        """Most tokens that it can draft at once; None where its block is unknown, or it has none."""
        if self.block is None:
            return None
        return self.block - 1 if self.method == "dflash" else self.block

    @property
    def name(self) -> str:
        """The checkpoint, or that there is none."""
        return self.model or "the target's own layers"


class Target(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A model to serve, and its drafters.

    `family` groups targets that share rules (gemma4, qwen3.5, deepseek-v4 ...). `attention`: gqa, mla,
    sparse-mla (an indexer picks the tokens) or hybrid (some layers keep a state instead of a cache).
    `parameters`, `active`: billions, all and per token. `weights_gib`: size of the checkpoint where it is
    published. `layers`, `kv_heads`, `head_dim`: of the
    layers that keep a cache of the whole context, for the size of a token in it; of mla, one head of the
    latent and the rotary part together. `latent`: of a hybrid target, whether those layers keep one latent
    as mla does. `state_layers`: those that keep a state; `state_mib`: the state of
    one request in all of them. `heads`: of attention, those that share a key and value counted apart.
    `experts`: those that a router chooses from; 0: dense. `vocabulary`: tokens. `context`: the longest
    request. `config`: where a copy of its config.json was read, of which `heads`, `experts`, `vocabulary`
    and `context` are then. `verified`, `unsupported`: accelerators on which vLLM's recipes say that the model
    runs, or does not; of its drafters that says nothing. None, or no accelerator: unknown.
    """

    model: Text
    family: Text
    source: Text
    attention: Attention | None = None
    precision: Precision | None = None
    parameters: Positive | None = None
    active: Positive | None = None
    weights_gib: Positive | None = None
    layers: Count | None = None
    kv_heads: Count | None = None
    head_dim: Count | None = None
    latent: bool | None = None
    state_layers: Count | None = None
    state_mib: Positive | None = None
    heads: Count | None = None
    experts: Annotated[int, Meta(ge=0)] | None = None
    vocabulary: Count | None = None
    context: Count | None = None
    config: Text | None = None
    since: Release | None = None
    verified: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    gated: bool | None = None
    licence: str | None = None
    drafters: tuple[Checkpoint, ...] = ()
