"""What the tables of `rules.needs` ask of a setting, each a name: `off("--numa-bind")`, `one_rank`.

Source: ParallelConfig, VllmConfig and EngineArgs of vLLM 0.18, 0.32 and 0.33.
"""

from collections.abc import Callable

from .accelerators import DOMAIN
from .kinds import as_switch, as_whole
from .serving import is_on, object_of, size_of
from .setting import Setting
from .versions import Span, between, since

Holds = Callable[[Setting], bool]

# Where routed experts are asked for: by the flag, or by a key of the object.
ROUTED = ("--enable-return-routed-experts", "--aux-output-config")
# Ways to exchange tokens that micro-batches work with on ROCm.
_MICROBATCHES: tuple[tuple[Span, tuple[str, ...]], ...] = (
    (between(None, "0.19"), ("deepep_low_latency", "deepep_high_throughput")),
    (between("0.19", "0.33"), ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")),
    (since("0.33"), ("deepep_low_latency", "deepep_high_throughput", "nixl_ep", "allgather_reducescatter")),
)
# From here on the ranks of prefill context parallelism count for experts.
_CONTEXT_MOVES = since("0.32")


def both(one: Holds, other: Holds) -> Holds:
    return lambda setting: one(setting) and other(setting)


def negated(one: Holds) -> Holds:
    return lambda setting: not one(setting)


def given(flag: str) -> Holds:
    return lambda setting: setting.flag(flag) is not None


def without(flag: str) -> Holds:
    return negated(given(flag))


def off(switch: str) -> Holds:
    return lambda setting: not is_on(setting, switch)


def unset(variable: str) -> Holds:
    """Whether a variable that is a switch is absent, or off."""
    return lambda setting: setting.variable(variable) in (None, "0")


def other_than(flag: str, value: str) -> Holds:
    return lambda setting: (found := setting.flag(flag)) is None or found.text != value


def has_key(option: str, key: str) -> Holds:
    return lambda setting: (object_of(setting, option) or {}).get(key) is not None


def on_amd(setting: Setting) -> bool:
    return setting.spec.accelerator.resource_name.startswith(DOMAIN)


def one_rank(setting: Setting) -> bool:
    """Whether there is no data parallelism."""
    return setting.parallel.data == 1


def pipeline(setting: Setting) -> bool:
    return setting.parallel.pipeline > 1


def context(setting: Setting) -> bool:
    return max(setting.parallel.prefill_context, decode_context(setting)) > 1


def decode_context(setting: Setting) -> int:
    """The size of decode context parallelism in force."""
    return size_of(setting, "--decode-context-parallel-size") or 1


def internal(setting: Setting) -> bool:
    """Whether no data parallel rank is an engine of its own that is balanced from outside."""
    rank = setting.flag("--data-parallel-rank")
    return not is_on(setting, "--data-parallel-external-lb") and (rank is None or rank.text is None)


def dense(setting: Setting) -> bool:
    """Whether the target's config.json is known to have no experts."""
    target = setting.as_published
    return target is not None and target.config is not None and target.experts == 0


def keeps_states(setting: Setting) -> bool:
    """Whether some layers of the target are known to keep a state instead of a cache."""
    target = setting.as_published
    return target is not None and target.attention == "hybrid"


def routed_experts(setting: Setting) -> bool:
    """Whether the experts that answered are asked for."""
    flag, option = ROUTED
    key = (object_of(setting, option) or {}).get("enable_return_routed_experts")
    return is_on(setting, flag) or bool(as_switch(key))


def nowhere_to_move_experts(setting: Setting) -> bool:
    """Whether experts are spread, over one rank."""
    sizes = setting.parallel
    context_ranks = sizes.prefill_context if _CONTEXT_MOVES.holds(setting.version) else 1
    alone = sizes.tensor * sizes.data * context_ranks == 1
    return alone and is_on(setting, "--enable-expert-parallel")


def adds_experts_in_vain(setting: Setting) -> bool:
    """Whether there are redundant experts that nothing would fill."""
    extra = as_whole((object_of(setting, "--eplb-config") or {}).get("num_redundant_experts"))
    return bool(extra) and not is_on(setting, "--enable-eplb")


def deprecated_quantization(setting: Setting) -> bool:
    flag = setting.flag("--quantization")
    named = flag is not None and (flag.text or "").lower() == "fbgemm_fp8"
    return named and not is_on(setting, "--allow-deprecated-quantization")


def backend_lacks(key: str, backends: tuple[str, ...]) -> Holds:
    """Whether a switch of structured outputs is on with a backend that does not have it."""

    def lacks(setting: Setting) -> bool:
        config = object_of(setting, "--structured-outputs-config") or {}
        return bool(as_switch(config.get(key))) and config.get("backend", "auto") not in backends

    return lacks


def prefetches(setting: Setting) -> bool:
    """Whether weights are offloaded layer by layer."""
    backend = setting.flag("--offload-backend")
    named = backend is not None and backend.text == "prefetch"
    return named or (size_of(setting, "--offload-group-size") or 0) > 0


def prefetches_nothing(setting: Setting) -> bool:
    return prefetches(setting) and size_of(setting, "--offload-prefetch-step") == 0


def profiles_nowhere(setting: Setting) -> bool:
    config = object_of(setting, "--profiler-config") or {}
    return config.get("profiler") == "torch" and not config.get("torch_profiler_dir")


def microbatch_backends(setting: Setting) -> tuple[str, ...]:
    """Values of --all2all-backend that micro-batches work with."""
    return next((names for span, names in _MICROBATCHES if span.holds(setting.version)), ())
