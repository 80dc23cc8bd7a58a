"""Writes docs/amd.md from the engine's tables: `PYTHONPATH=operator python -m tools.amd`.

A test fails when the committed page is another.
"""

from pathlib import Path
from textwrap import fill

from specdeploy.engine.accelerators import (
    ARCHITECTURES,
    CONVERTING_FP8,
    FP8_OF_CHECKPOINTS,
    GPUS,
    Architecture,
    Gpu,
)
from specdeploy.engine.aiter import SWITCHES
from specdeploy.engine.attention import BACKENDS, READ, Backend
from specdeploy.engine.known_bad import KNOWN_BAD, OF_FLAVOURS, KnownBad
from specdeploy.engine.not_checkable import OF_ENGINES
from specdeploy.engine.rules.attention import CACHE_AND_WEIGHTS
from specdeploy.engine.rules.hardware import NO_FP8
from specdeploy.engine.rules.known import rule_of
from specdeploy.engine.versions import ALWAYS, Span
from tools.markdown import capital, code, releases, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "amd.md"

INTRODUCTION = """# AMD Instinct

Generated from the tables in `operator/specdeploy/engine/` by `tools/amd.py`; don't edit.

## Accelerators

`accelerator.type` becomes a node affinity on these device ids. Memory is that of one undivided device.

"""
PARTS = """
With the device plugin's naming strategy `mixed` a partition is a resource of its own, such as
`amd.com/cpx_nps4`: give it as `accelerator.resourceName`. With `single`, its default, partitions are
`amd.com/gpu` too, and only the node's labels tell how large one is. Clusters that offer GPUs by dynamic
resource allocation (DRA) alone are not supported yet.

| Architecture | FP8 in hardware | Checkpoints in FP8 | MXFP4, MXFP8 in hardware | AITER |
| --- | --- | --- | --- | --- |
"""
FLAVOURS = """
FP8 has two flavours here. Checkpoints are in {ocp}; {converting} in {other}, in which the same bits mean
half as much. There vLLM converts a checkpoint as it loads it: the bits stay, only minus zero becomes zero,
and each scale is doubled, so that every weight keeps its value (`normalize_e4m3fn_to_e4m3fnuz` in
`layers/quantization/utils/w8a8_utils.py` of vLLM 0.18 to 0.33; pull request 7210). A cache in FP8 is, as a
rule, in the GPU's own flavour. So a checkpoint in FP8 is no reason against such a GPU and no rule says so;
what went wrong was code that did not convert, or could not: {rows} of the known-bad combinations below
({codes}). The other way round vLLM converts nothing: what becomes of a checkpoint in {other} where the
hardware has {ocp} nobody has reported, the catalogue lists none, and no rule speaks of it.
[{none}](rules/{none}.md) finds FP8 on a GPU that has none, [{cache}](rules/{cache}.md) a cache in e5m2
beside weights in FP8.
"""
ATTENTION = f"""
## Attention backends

In the order in which vLLM tries those that it chooses by itself, as read in {READ.since}. Name them for the
target (`engine.attentionBackend`) and for each drafter (`drafters[].attentionBackend`): what vLLM chooses has
changed between releases.

"""
SWITCHED = """
## Switches of AITER

All of them are identical in every arm: they move the speed more than many drafters do.

"""
BAD = """
## Known-bad combinations

Each is found by `lint` before a GPU is taken. Issues and pull requests are of vllm-project/vllm where no
other project is named.

"""
UNKNOWN = """
Not known before the start:

"""


def page() -> str:
    """The whole page."""
    generations = "".join(
        f"| {each.name} | {each.fp8 or 'no'} | {_loaded(each)} | {_yes(each.mx)} | {_yes(each.aiter)} |\n"
        for each in ARCHITECTURES.values()
    )
    return "".join(
        (
            INTRODUCTION,
            table(("Type", "Architecture", "GiB", "Device ids", "Partitions"), map(_gpu, GPUS.values())),
            PARTS,
            generations,
            _flavours(),
            ATTENTION,
            table(
                ("Backend", "Attention", "Runs on", "DFlash, DSpark", "Adaptive verification", "By itself"),
                map(_backend, BACKENDS.values()),
            ),
            SWITCHED,
            table(
                ("Variable", "Unless set", "Decides about"),
                ((f"`{s.name}`", _default(s.on), s.chooses) for s in SWITCHES.values()),
            ),
            BAD,
            table(("What happens", "vLLM", "What to do", "Source"), map(_bad, KNOWN_BAD)),
            UNKNOWN,
            table(
                ("What", "Why it is not known", "Found by"),
                ((capital(each.what), each.why, each.seen_by) for each in OF_ENGINES),
            ),
        )
    )


def _loaded(architecture: Architecture) -> str:
    if architecture.fp8 is None:
        return "slow or not at all"
    return "converted" if architecture.converts_fp8 else "as they are"


def _flavours() -> str:
    codes = sorted({rule_of(row).code for row in OF_FLAVOURS})
    text = FLAVOURS.format(
        ocp=FP8_OF_CHECKPOINTS,
        converting=f"{' and '.join(CONVERTING_FP8)} {'computes' if len(CONVERTING_FP8) == 1 else 'compute'}",
        other=ARCHITECTURES[CONVERTING_FP8[0]].fp8,
        rows=len(OF_FLAVOURS),
        codes=", ".join(f"[{code}](rules/{code}.md)" for code in codes),
        none=NO_FP8.code,
        cache=CACHE_AND_WEIGHTS.code,
    )
    filled = fill(" ".join(text.split()), 110, break_long_words=False, break_on_hyphens=False)
    return f"\n{filled}\n"


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def _gpu(gpu: Gpu) -> tuple[str, ...]:
    ids = code(gpu.physical) + (f", virtual {code(gpu.virtual)}" if gpu.virtual else "")
    modes = "unknown" if gpu.compute is None else ", ".join(f"{m} ({n})" for m, n in gpu.compute.items())
    pairs = ", ".join(sorted(f"{compute}_{memory}" for compute, memory in gpu.pairs))
    return (
        gpu.name,
        gpu.architecture,
        str(gpu.memory_gib),
        ids,
        (f"{modes}; {pairs}" if pairs else modes or "none"),
    )


def _backend(backend: Backend) -> tuple[str, ...]:
    uneven = "no" if backend.uneven is None else releases(backend.uneven)
    itself = f"with `{backend.switch}`" if backend.switch else "yes"
    return (
        f"`{backend.name}`",
        backend.kind.value,
        ", ".join(backend.architectures) or "none of these",
        "unknown" if backend.non_causal is None else ", ".join(backend.non_causal) or "no",
        uneven,
        itself if backend.chosen else "no",
    )


def _default(on: Span | None) -> str:
    return "off" if on is None else "on" if on == ALWAYS else f"on {releases(on)}"


def _bad(row: KnownBad) -> tuple[str, ...]:
    return f"{row.what} ({row.effect.value})", releases(row.span), row.fix, row.source


if __name__ == "__main__":
    PAGE.write_text(page())
