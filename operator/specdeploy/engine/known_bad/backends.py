"""Rows about attention backends."""

from specdeploy.engine.aiter import MASTER, SHUFFLE
from specdeploy.engine.versions import between, since

from .row import DEFAULT, Effect, KnownBad

_CDNA3 = ("gfx942", "gfx950")
_ALL_AMD = ("gfx90a", *_CDNA3)
_LING = "recipes#926 (MI350X, vLLM 0.28.1rc1; on MI300X it runs, 40 % faster than on TRITON_MLA)"

ROWS: tuple[KnownBad, ...] = (
    KnownBad(
        "eagle3-on-rocm-attn",
        "the acceptance of EAGLE-3 can collapse in the first layer of a drafter on ROCM_ATTN",
        "set the drafter's attentionBackend to ROCM_AITER_UNIFIED_ATTN or TRITON_ATTN",
        "#47854, open; not seen where AMD measured Gemma 4 and Qwen3-8B on vLLM's choice, August 2026",
        Effect.SLOWER,
        architectures=_ALL_AMD,
        methods=("eagle3",),
        draft=("ROCM_ATTN",),
    ),
    KnownBad(
        "rocm-attn-verifies-slowly",
        "verifying several tokens on ROCM_ATTN makes speculation slower than none; it is vLLM's own choice, "
        "with VLLM_ROCM_USE_AITER=1 too",
        "set spec.engine.attentionBackend to ROCM_AITER_FA",
        "#46596 (Qwen3-VL-235B with EAGLE-3 on MI300X and MI355X, GLM-4.7 with MTP on MI355X), open; the fix "
        "#46597 was closed",
        Effect.SLOWER,
        architectures=_CDNA3,
        targets=(
            "qwen3-vl-235b*",
            "glm-4.7*",
        ),
        target=("ROCM_ATTN", DEFAULT),
    ),
    KnownBad(
        "minimax-m3-on-aiter-fa",
        "MiniMax-M3 does not start on ROCM_AITER_FA, whose blocks of 16 and 32 don't fit its 128; patched, "
        "it was 24 % slower there than on TRITON_ATTN",
        "set the backends of target and drafter to TRITON_ATTN",
        "#54180 (0.27.1), open",
        Effect.CRASH,
        architectures=_CDNA3,
        targets=("minimax-m3*",),
        target=("ROCM_AITER_FA",),
    ),
    KnownBad(
        "drafter-of-minimax-m3-on-aiter-fa",
        "a drafter of MiniMax-M3 does not start on ROCM_AITER_FA, whose blocks of 16 and 32 don't fit the "
        "target's 128",
        "set its attentionBackend to TRITON_ATTN",
        "#54180 (0.27.1), open",
        Effect.CRASH,
        architectures=_CDNA3,
        targets=("minimax-m3*",),
        draft=("ROCM_AITER_FA",),
    ),
    KnownBad(
        "shuffled-cache-verifies-nothing",
        "ROCM_AITER_FA asserts at the first verification when the shuffled layout of the cache is on",
        f"set {SHUFFLE} to 0",
        "#54180; v1/attention/backends/rocm_aiter_fa.py of vLLM 0.32",
        Effect.CRASH,
        measured=True,
        span=between("0.27", "0.33"),
        architectures=_CDNA3,
        target=("ROCM_AITER_FA",),
        switches=(SHUFFLE,),
    ),
    KnownBad(
        "minimax-m3-dspark-on-sparse-pages",
        "with AITER and the shuffled layout MiniMax-M3 takes AITER's sparse paged attention, which corrupts "
        "its output under DSpark: repetition and noise, 7 % acceptance",
        f"set {SHUFFLE} to 0",
        "#52860 (MI325X, vLLM 0.26.0), open",
        Effect.WRONG_OUTPUT,
        measured=True,
        span=between("0.26", "0.27"),
        architectures=("gfx942",),
        targets=("minimax-m3*",),
        methods=("dspark",),
        switches=(MASTER, SHUFFLE),
        flags=(("--kv-cache-dtype", "fp8"),),
    ),
    KnownBad(
        "minimax-m3-on-sparse-pages",
        "with AITER and the shuffled layout MiniMax-M3 takes AITER's sparse paged attention, which was seen "
        "to corrupt its output under speculation",
        f"set {SHUFFLE} to 0, or compare a task's score with and without the drafter first",
        "#52860 (MI325X), open; #47984 reports good scores with EAGLE-3",
        Effect.WRONG_OUTPUT,
        span=since("0.26"),
        architectures=_CDNA3,
        targets=("minimax-m3*",),
        switches=(MASTER, SHUFFLE),
    ),
    KnownBad(
        "eagle3-beside-aiter-mla",
        "a drafter with dense attention and a target on ROCM_AITER_MLA find no block size in common",
        "use vLLM 0.21 or newer, or TRITON_MLA for the target",
        "#39616",
        Effect.CRASH,
        span=between(None, "0.21"),
        architectures=_CDNA3,
        methods=("eagle3",),
        target=("ROCM_AITER_MLA",),
    ),
    KnownBad(
        "mtp-verified-by-aiter-mla",
        "ROCM_AITER_MLA verified several tokens with the metadata of one, so that accuracy dropped",
        "use a newer vLLM, or TRITON_MLA for the target",
        "#45227 (DeepSeek-R1 with three tokens), merged after June 2026",
        Effect.WRONG_OUTPUT,
        span=between(None, "0.25"),
        architectures=_CDNA3,
        methods=("mtp",),
        target=("ROCM_AITER_MLA",),
    ),
    KnownBad(
        "eight-rows-on-aiter-mla",
        "AITER's decode of latent attention computes wrong for eight rows a request on gfx942, which is what "
        "seven drafted tokens are verified as",
        "draft fewer tokens, or set spec.engine.attentionBackend to TRITON_MLA",
        "ROCm/aiter#5679 (MI325X); #55609",
        Effect.WRONG_OUTPUT,
        architectures=("gfx942",),
        tokens=(7, 7),
        target=("ROCM_AITER_MLA",),
    ),
    KnownBad(
        "many-rows-on-aiter-mla",
        "AITER's fast kernels for latent attention in FP8 take at most four rows a request; more than three "
        "drafted tokens are verified by slower ones",
        "draft three tokens or fewer, or try TRITON_MLA for the target as well",
        "ROCm/aiter#2760",
        Effect.SLOWER,
        architectures=_CDNA3,
        tokens=(4, 64),
        target=("ROCM_AITER_MLA",),
        flags=(("--kv-cache-dtype", "fp8"),),
    ),
    KnownBad(
        "ling-mtp-on-aiter-mla",
        "Ling-3.0-flash faults the GPU on ROCM_AITER_MLA with MTP",
        "set spec.engine.attentionBackend to TRITON_MLA",
        _LING,
        Effect.CRASH,
        architectures=("gfx950",),
        targets=("ling-3.0-flash*",),
        methods=("mtp",),
        target=("ROCM_AITER_MLA",),
    ),
    KnownBad(
        "ling-mtp-on-vllms-choice",
        "with AITER vLLM takes ROCM_AITER_MLA for Ling-3.0-flash, which faults the GPU there with MTP",
        "set spec.engine.attentionBackend to TRITON_MLA",
        _LING,
        Effect.CRASH,
        architectures=("gfx950",),
        targets=("ling-3.0-flash*",),
        methods=("mtp",),
        target=(DEFAULT,),
        switches=(MASTER,),
    ),
    KnownBad(
        "kimi-k3-on-aiter-mla",
        "Kimi-K3 crashes on ROCM_AITER_MLA with prompts of some 300 000 tokens",
        "bound the prompts with --max-model-len, or set spec.engine.attentionBackend to TRITON_MLA",
        "#50347 (MI355X, eight GPUs), open",
        Effect.CRASH,
        baseline=True,
        architectures=("gfx950",),
        targets=("kimi-k3*",),
        target=("ROCM_AITER_MLA",),
        without=("--max-model-len",),
    ),
)
