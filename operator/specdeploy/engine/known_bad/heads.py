"""Rows about the heads of latent attention that each GPU has: what AITER's kernels take, by release.

Read in v1/attention/backends/mla/rocm_aiter_mla.py and docker/Dockerfile.rocm_base of vLLM 0.18 to 0.33.
"""

from specdeploy.engine.versions import between

from .row import Effect, KnownBad

_MLA = ("ROCM_AITER_MLA",)
_FP8_CACHE = (("--kv-cache-dtype", "fp8"),)
_MOST = 256
_FEW = frozenset(range(1, 16))
_MULTIPLES = frozenset(range(16, _MOST + 1, 16))
_DIVISORS = frozenset({1, 2, 4, 8})
_OTHERS = "set spec.engine.attentionBackend to TRITON_MLA, or give a pod another number of GPUs"

ROWS: tuple[KnownBad, ...] = (
    KnownBad(
        "heads-that-aiter-mla-refuses",
        "ROCM_AITER_MLA asserts as the model is loaded: each GPU has a number of heads that is neither a "
        "multiple nor a divisor of 16",
        f"use vLLM 0.29 or newer; or {_OTHERS}",
        "v1/attention/backends/mla/rocm_aiter_mla.py of vLLM 0.20 to 0.26; #35641",
        Effect.CRASH,
        measured=True,
        span=between(None, "0.27"),
        baseline=True,
        architectures=("gfx942", "gfx950"),
        heads=frozenset(range(1, _MOST + 1)) - _MULTIPLES - _DIVISORS,
        target=_MLA,
    ),
    KnownBad(
        "more-heads-that-aiter-mla-refuses",
        "ROCM_AITER_MLA asserts as the model is loaded: each GPU has more than 16 heads and no "
        "multiple of 16",
        f"use vLLM 0.29 or newer; or {_OTHERS}",
        "v1/attention/backends/mla/rocm_aiter_mla.py of vLLM 0.27 and 0.28",
        Effect.CRASH,
        measured=True,
        span=between("0.27", "0.29"),
        baseline=True,
        architectures=("gfx942", "gfx950"),
        heads=frozenset(range(17, _MOST + 1)) - _MULTIPLES,
        target=_MLA,
    ),
    KnownBad(
        "few-heads-on-gfx942",
        "with fewer than 16 heads on each GPU this release takes a kernel of AITER that asserts on gfx942",
        f"use vLLM 0.28 or newer; or {_OTHERS}",
        "#50817 (Kimi-K3 on eight MI325X); rocm_aiter_mla.py of vLLM 0.28 asks for gfx950 first",
        Effect.CRASH,
        span=between("0.27", "0.28"),
        baseline=True,
        architectures=("gfx942",),
        heads=_FEW,
        target=_MLA,
    ),
    KnownBad(
        "few-heads-with-fp8-cache",
        "with fewer than 16 heads on each GPU and a cache in FP8 the engine was seen to fail as it starts, "
        "in a kernel of AITER",
        f"use vLLM 0.28 or newer, or remove --kv-cache-dtype; or {_OTHERS}",
        "#50563 and #51232, open (Kimi-K3 on eight MI355X, 12 heads each); 0.28 pads them (#51011)",
        Effect.CRASH,
        span=between("0.27", "0.28"),
        baseline=True,
        architectures=("gfx950",),
        heads=_FEW,
        target=_MLA,
        flags=_FP8_CACHE,
    ),
    KnownBad(
        "folded-heads-with-fp8-cache",
        "AITER has no kernel of its own for this number of heads and a cache in FP8, and folds them into 16 "
        "wrongly: of GSM8K, 93 % of which were right, nothing is",
        "use vLLM 0.26 or newer, give a pod another number of GPUs, or remove --kv-cache-dtype",
        "#46952 (Kimi-K2.5 on two MI355X, 32 heads each, aiter 0.1.16.post2, which the images of 0.25 have)",
        Effect.WRONG_OUTPUT,
        span=between("0.25", "0.26"),
        baseline=True,
        architectures=("gfx950",),
        heads=_MULTIPLES - {16, 64, 128},
        target=_MLA,
        flags=_FP8_CACHE,
    ),
)
