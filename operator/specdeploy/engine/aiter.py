"""AITER's switches: the variables that choose its kernels, and whether each is on.

Read by `attention`, `backends`, `known_bad`, `rules.kernels` and `rules.hardware`. Source: vLLM 0.32
(envs.py, _aiter_ops.py), and the defaults that 0.33 changed.
"""

from dataclasses import dataclass

from specdeploy.api.engine_spec import EnvVar

from .setting import Setting
from .versions import ALWAYS, Span, between

MASTER = "VLLM_ROCM_USE_AITER"
SHUFFLE = "VLLM_ROCM_SHUFFLE_KV_CACHE_LAYOUT"
MHA = "VLLM_ROCM_USE_AITER_MHA"
MLA = "VLLM_ROCM_USE_AITER_MLA"


@dataclass(frozen=True)
class Switch:
    """A variable that chooses kernels of AITER.

    Attributes:
        name: of the variable.
        on: releases in which it is on unless set; None: in none.
        chooses: what it decides about.
        master: whether it means something only with `VLLM_ROCM_USE_AITER=1`.
    """

    name: str
    on: Span | None
    chooses: str
    master: bool = True


SWITCHES: dict[str, Switch] = {
    switch.name: switch
    for switch in (
        Switch(MASTER, None, "all of AITER", master=False),
        Switch(SHUFFLE, None, "a KV cache layout for AITER's paged attention", master=False),
        Switch("VLLM_ROCM_USE_AITER_LINEAR", ALWAYS, "linear layers"),
        Switch("VLLM_ROCM_USE_AITER_LINEAR_HIPBMM", None, "batched matrix products through hipBLASLt"),
        Switch("VLLM_ROCM_USE_AITER_MOE", ALWAYS, "experts"),
        Switch("VLLM_ROCM_USE_AITER_RMSNORM", ALWAYS, "norms"),
        Switch(MLA, ALWAYS, "latent attention (MLA)"),
        Switch(MHA, ALWAYS, "attention"),
        Switch("VLLM_ROCM_USE_AITER_TRITON_GEMM", ALWAYS, "unquantised matrix products"),
        Switch("VLLM_ROCM_USE_AITER_CUSTOM_AR", ALWAYS, "all-reduce"),
        Switch("VLLM_ROCM_USE_AITER_FP8BMM", between(None, "0.33"), "batched FP8 matrix products"),
        Switch("VLLM_ROCM_USE_AITER_FP4BMM", between(None, "0.33"), "batched FP4 matrix products"),
        Switch("VLLM_ROCM_USE_AITER_FP4_ASM_GEMM", None, "FP4 matrix products in assembly"),
        Switch("VLLM_ROCM_USE_AITER_UNIFIED_ATTENTION", None, "unified attention"),
        Switch("VLLM_ROCM_USE_AITER_TRITON_ROPE", None, "rotary embeddings"),
        Switch("VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS", None, "fused shared experts"),
        Switch("VLLM_ROCM_USE_AITER_TRITON_SPARSE_MLA", None, "sparse latent attention (gfx950)"),
    )
}


def variable_of(setting: Setting, name: str) -> EnvVar | None:
    """The variable in spec.engine.env, if it is there."""
    return setting.given(name)


def is_on(setting: Setting, name: str) -> bool | None:
    """Whether a switch of `SWITCHES` is on, the master aside; None where only the cluster knows its value."""
    given = variable_of(setting, name)
    if given is None:
        on = SWITCHES[name].on
        return on is not None and on.holds(setting.version)
    if given.value_from is not None or "$(" in (given.value or ""):
        return None
    return (given.value or "").lower() in ("1", "true")
