"""Rows about number formats, above all FP8 on GPUs whose flavour is another one than that of checkpoints.

What vLLM does with a checkpoint of the other flavour is on the page `docs/amd.md`.
"""

from specdeploy.engine.accelerators import CONVERTING_FP8
from specdeploy.engine.aiter import MASTER
from specdeploy.engine.versions import between

from .row import Effect, KnownBad

_CDNA3 = ("gfx942", "gfx950")
_EXPERTS = "VLLM_ROCM_USE_AITER_MOE"

# Where a checkpoint or a cache is not converted, or can't be.
OF_FLAVOURS: tuple[KnownBad, ...] = (
    KnownBad(
        "minimax-m3-fp8-cache-on-gfx942",
        "MiniMax-M3's sparse attention reads a cache in FP8 as the other flavour of FP8: 1 % of GSM8K is "
        "right where 97 % are without",
        "use vLLM 0.24 or newer, or remove --kv-cache-dtype",
        "#45562 (MI300X, image minimax-m3 with vLLM 0.22.1rc1); #45720, which ended it, is in 0.24",
        Effect.WRONG_OUTPUT,
        measured=True,
        span=between(None, "0.24"),
        baseline=True,
        architectures=CONVERTING_FP8,
        targets=("minimax-m3*",),
        flags=(("--kv-cache-dtype", "fp8"),),
    ),
    KnownBad(
        "modelopt-channels-on-gfx942",
        "a ModelOpt checkpoint with FP8 scales by channel stays in the other flavour of FP8 and fails at its "
        "first matrix product",
        "use vLLM 0.26 or newer, or a checkpoint of another maker",
        "#47201 (vLLM's tests on MI325X), which is in 0.26",
        Effect.CRASH,
        span=between(None, "0.26"),
        baseline=True,
        architectures=CONVERTING_FP8,
        flags=(("--quantization", "=modelopt"),),
    ),
    KnownBad(
        "deepseek-v4-scales-on-gfx942",
        "DeepSeek-V4 fails as it is loaded: its FP8 scales are powers of two (e8m0), with which vLLM can't "
        "convert it to this GPU's flavour of FP8",
        "use vLLM 0.24 or newer, or a GPU with gfx950",
        "#41961 (V4-Flash on MI325X, vLLM 0.20.2rc1); #45681, which ended it, is in 0.24",
        Effect.CRASH,
        span=between(None, "0.24"),
        baseline=True,
        architectures=CONVERTING_FP8,
        targets=("deepseek-v4*",),
    ),
)

ROWS: tuple[KnownBad, ...] = (
    *OF_FLAVOURS,
    KnownBad(
        "laguna-fp8-cache",
        "quantised builds of Laguna have a cache in FP8, whose scales this release gives layers with another "
        "number of heads: the output is scrambled",
        "use vLLM 0.22 or newer, or the BF16 checkpoint",
        "vllm-project/recipes, Laguna-XS.2 and XS-2.1 (seen on everything but Hopper); #42650",
        Effect.WRONG_OUTPUT,
        span=between(None, "0.22"),
        baseline=True,
        targets=("laguna*fp8*", "laguna*int4*", "laguna*nvfp4*"),
    ),
    KnownBad(
        "step-3.5-on-aiter-experts",
        "two layers of Step-3.5 have an activation (SWIGLUSTEP) that AITER's experts lack, and it was seen "
        "not to start with them",
        f"set {_EXPERTS} to 0 in spec.engine.env",
        "ROCm/aiter#2484 (Step-3.5-Flash-FP8), open; #39436, open; vllm-project/recipes, Step-3.5",
        Effect.CRASH,
        baseline=True,
        architectures=_CDNA3,
        targets=("step-3.5*",),
        switches=(MASTER, _EXPERTS),
    ),
)
