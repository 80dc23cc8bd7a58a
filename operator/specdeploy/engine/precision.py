"""Number formats: of the weights and of the cache, and which quantisations vLLM has on AMD.

`rules.hardware` asks here. Source: vLLM 0.32 (platforms/rocm.py); 0.33 has the same ones.
"""

import re

from .accelerators import DOMAIN, Architecture
from .attention import READ
from .catalogue.entries import Precision
from .catalogue.variants import build_of
from .setting import Setting
from .versions import beyond_tables

# Values of --quantization.
SUPPORTED = (
    "awq",
    "auto_awq",
    "awq_marlin",
    "gptq",
    "auto_gptq",
    "fp8",
    "deepseek_v4_fp8",
    "compressed-tensors",
    "fbgemm_fp8",
    "inc",
    "quark",
    "mxfp4",
    "mxfp8",
    "torchao",
    "modelopt",
    "modelopt_fp4",
    "modelopt_mxfp8",
    "modelopt_mixed",
    "fp8_per_tensor",
    "fp8_per_block",
    "fp8_per_channel",
    "online",
    "gpt_oss_mxfp4",
)

# gpt-oss is published in MXFP4 and has kernels of its own on every Instinct GPU.
_OWN_KERNELS = "gpt-oss"
_FORMATS = re.compile(r"(nvfp4|mxfp4|mxfp8|fp8)")


def is_refused(setting: Setting, quantization: str) -> bool:
    """Whether vLLM is known to refuse this --quantization here."""
    known = READ.holds(setting.version) and not beyond_tables(setting.version)
    amd = setting.spec.accelerator.resource_name.startswith(DOMAIN)
    return amd and known and quantization.lower() not in SUPPORTED


def precision_of(setting: Setting) -> tuple[str, str] | None:
    """The field that tells the format of the weights, and the format: nvfp4, mxfp4, mxfp8 or fp8.

    None where nothing tells, or where the format needs no hardware of its own.
    """
    flag = setting.flag("--quantization")
    if flag is not None and flag.text:
        return _found(flag.path, flag.text.replace("modelopt_fp4", "nvfp4"))
    if _OWN_KERNELS in setting.spec.model.lower():
        return None
    known = setting.target.precision if setting.target else None
    return _found("spec.model", known or setting.spec.model.rstrip("/").rpartition("/")[2])


def other_build(setting: Setting) -> str | None:
    """Another build of the target in the catalogue whose weights do better here; None where there is none.

    One that the GPU computes in, else one in MXFP4, which gfx942 emulates and vLLM's recipes serve there.
    """
    if setting.gpu is None:
        return None
    name = build_of(setting.spec.model).model
    builds: dict[Precision | None, str] = {}
    for target in setting.catalogue:
        build = build_of(target.model)
        if target.model != setting.spec.model and build.model == name:
            builds.setdefault(target.precision or build.precision, target.model)
    return next((builds[each] for each in _formats_of(setting.gpu.can) if each in builds), None)


def _formats_of(can: Architecture) -> tuple[Precision, ...]:
    """Formats of weights, those first that are computed in."""
    if can.mx:
        return "mxfp4", "mxfp8", "fp8", "bf16"
    return ("fp8", "bf16", "mxfp4") if can.fp8 else ("bf16",)


def _found(field: str, text: str) -> tuple[str, str] | None:
    found = _FORMATS.search(text.lower())
    return (field, found[1]) if found else None
