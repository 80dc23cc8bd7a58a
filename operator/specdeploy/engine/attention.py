"""Attention backends of vLLM: what each can do on AMD's GPUs, and which one vLLM takes where none is named.

Read by `backends`, which says what runs, and `rules.attention`. Source: vLLM 0.32 (platforms/rocm.py and
v1/attention/backends), with what is known to differ in 0.33: what is said here holds from `READ` on. Of older
releases only the names are sure.
"""

from dataclasses import dataclass
from enum import StrEnum

from .aiter import MHA, MLA
from .versions import ALWAYS, Span, Version, since

READ = since("0.32")


class Kind(StrEnum):
    """A kind of attention: each backend computes one."""

    DENSE = "dense"
    MLA = "latent (MLA)"
    SPARSE_MLA = "sparse latent (MLA)"


CDNA = ("gfx90a", "gfx942", "gfx950")
_CDNA3 = ("gfx942", "gfx950")
_FP8 = ("auto", "float16", "bfloat16", "fp8", "fp8_e4m3")
_FP8_BOTH = (*_FP8, "fp8_e5m2")
_SCALED = ("int4_per_token_head", "int8_per_token_head", "fp8_per_token_head")
_HEADS = (32, 64, 80, 96, 128, 160, 192, 224, 256)


@dataclass(frozen=True)
class Backend:
    """An attention backend that runs on AMD's GPUs.

    Attributes:
        name: as vLLM spells it.
        kind: of attention.
        architectures: on which it runs; empty: on none of the Instinct GPUs.
        strict: vLLM itself refuses it on other architectures, before anything is loaded.
        aiter: its kernels are AITER's. Named explicitly it runs with `VLLM_ROCM_USE_AITER` off as well.
        chosen: vLLM takes it by itself where it fits.
        switch: with the master, what has to be on before vLLM takes it by itself.
        non_causal: architectures on which it can look both ways, as drafts of DFlash and DSpark need; None:
            unknown.
        uneven: releases in which its graphs take batches of uneven length, as adaptive verification needs.
        kv: values of --kv-cache-dtype that it takes; empty: those that begin with its own name; None:
            unknown.
        heads: head sizes; empty: any.
        sinks: attention sinks (gpt-oss).
        connector: works with a KV connector.
        span: releases that have it.
    """

    name: str
    kind: Kind
    architectures: tuple[str, ...] = CDNA
    strict: bool = False
    aiter: bool = False
    chosen: bool = False
    switch: str | None = None
    non_causal: tuple[str, ...] | None = ()
    uneven: Span | None = None
    kv: tuple[str, ...] | None = _FP8
    heads: tuple[int, ...] = ()
    sinks: bool = True
    connector: bool = True
    span: Span = ALWAYS


# In the order in which vLLM tries those that it chooses by itself.
BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (
        Backend(
            "ROCM_ATTN",
            Kind.DENSE,
            chosen=True,
            non_causal=CDNA,
            uneven=ALWAYS,
            kv=_FP8_BOTH,
            heads=_HEADS,
            sinks=False,
            connector=False,
        ),
        Backend(
            "ROCM_AITER_FA",
            Kind.DENSE,
            _CDNA3,
            strict=True,
            aiter=True,
            chosen=True,
            switch=MHA,
            non_causal=_CDNA3,
            kv=_FP8_BOTH,
            heads=(64, 128, 256),
        ),
        Backend(
            "ROCM_AITER_UNIFIED_ATTN",
            Kind.DENSE,
            _CDNA3,
            aiter=True,
            chosen=True,
            uneven=ALWAYS,
            kv=_FP8_BOTH,
        ),
        Backend(
            "TRITON_ATTN",
            Kind.DENSE,
            chosen=True,
            non_causal=CDNA,
            uneven=ALWAYS,
            kv=(*_FP8_BOTH, *_SCALED),
        ),
        Backend("TURBOQUANT", Kind.DENSE, chosen=True, kv=()),
        Backend("ROCM_OCTAVE", Kind.DENSE, chosen=True, non_causal=None, kv=None, span=since("0.33")),
        Backend("ULTRAQUANT", Kind.DENSE, chosen=True, kv=(), sinks=False),
        Backend("FLEX_ATTENTION", Kind.DENSE, non_causal=CDNA, uneven=ALWAYS, kv=None),
        Backend("ROCM_SEGMENTED_ATTN", Kind.DENSE, (), strict=True),
        Backend(
            "ROCM_AITER_MLA",
            Kind.MLA,
            _CDNA3,
            aiter=True,
            chosen=True,
            switch=MLA,
            non_causal=("gfx950",),
            uneven=since("0.33"),
            kv=_FP8_BOTH,
        ),
        Backend("TRITON_MLA", Kind.MLA, chosen=True, non_causal=CDNA),
        Backend(
            "ROCM_AITER_TRITON_MLA",
            Kind.MLA,
            _CDNA3,
            aiter=True,
            chosen=True,
            switch=MLA,
            non_causal=("gfx950",),
            uneven=since("0.33"),
            kv=_FP8_BOTH,
        ),
        Backend("ROCM_AITER_MLA_SPARSE", Kind.SPARSE_MLA, _CDNA3, aiter=True, chosen=True),
    )
}

# Backends that belong to one model or are registered by a plugin: nothing is said of them.
ALIEN = (
    "CUSTOM",
    "MINIMAX_M3_SPARSE",
    "NO_ATTENTION",
    "ROCM_FLASHMLA_SPARSE_DSV4",
    "TRITON_ATTN_DIFFKV",
    "TRITON_FLASH_ATTN",
)
# Need the flash-attn package in the image, and are never chosen by the ROCm platform itself.
UNUSUAL = ("FLASH_ATTN", "FLASH_ATTN_DIFFKV")
# Need a library or an instruction set that only other vendors' hardware has.
FOREIGN = (
    "AMX_MLA",
    "B12X",
    "CPU_ATTN",
    "CPU_MLA",
    "CUTLASS_MLA",
    "CUTLASS_MSA",
    "FLASHINFER",
    "FLASHINFER_MLA",
    "FLASHINFER_MLA_SPARSE",
    "FLASHINFER_MLA_SPARSE_DSV4",
    "FLASHINFER_MLA_SPARSE_DSV41",
    "FLASHINFER_MLA_SPARSE_SM120",
    "FLASHINFER_MLA_SPARSE_SM90",
    "FLASHMLA",
    "FLASHMLA_MEGA_ATTN_DSV41",
    "FLASHMLA_SPARSE",
    "FLASHMLA_SPARSE_DSV4",
    "FLASHMLA_SPARSE_DSV41",
    "FLASH_ATTN_MLA",
    "FLASH_ATTN_MLA_SPARSE",
    "HPC_ATTN",
    "TOKENSPEED_MLA",
    "TORCH_SDPA",
    "TRITON_FLASHINFER",
    "TRITON_MSA",
    "XPU_MLA_SPARSE",
)


@dataclass(frozen=True)
class Need:
    """What a layer asks of a backend.

    `switches`: those of AITER that are on, the master's effect included. `kv`: its --kv-cache-dtype. `head`:
    its size, None where unknown.
    """

    kind: Kind
    architecture: str
    switches: frozenset[str] = frozenset()
    kv: str = "auto"
    head: int | None = None
    non_causal: bool = False
    sinks: bool = False
    connector: bool = False


def vllm_choice(need: Need, version: Version | None) -> str | None:
    """The backend that vLLM takes where none is named; None where none fits."""
    fitting = (backend.name for backend in BACKENDS.values() if _fits(backend, need, version))
    return next(fitting, None)


def _fits(backend: Backend, need: Need, version: Version | None) -> bool:
    return (
        backend.chosen
        and backend.kind is need.kind
        and backend.span.holds(version)
        and need.architecture in backend.architectures
        and (backend.switch is None or backend.switch in need.switches)
        and backend.kv is not None
        and takes_kv(backend, need.kv)
        and (not backend.heads or need.head is None or need.head in backend.heads)
        and (not need.non_causal or need.architecture in (backend.non_causal or ()))
        and (backend.sinks or not need.sinks)
        and (backend.connector or not need.connector)
    )


def takes_kv(backend: Backend, kv: str) -> bool:
    """Whether it takes this --kv-cache-dtype; True where that is not known."""
    if backend.kv is None:
        return True
    return kv in backend.kv if backend.kv else kv.startswith(backend.name.lower())
