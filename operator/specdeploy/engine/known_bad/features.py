"""Rows about features of the engine together with speculation."""

from specdeploy.engine.versions import between, since

from .row import Effect, KnownBad

_SEQUENTIAL = ("mtp", "eagle", "eagle3", "draft_model")
_SCHEDULE = "num_speculative_tokens_per_batch_size"

ROWS: tuple[KnownBad, ...] = (
    KnownBad(
        "schedule-fails-in-capture",
        "a schedule of tokens by batch size makes MTP fail while full graphs are captured",
        'add --compilation-config \'{"cudagraph_mode": "PIECEWISE"}\', or remove the schedule',
        "#48494 (reproduced on MI350X, eight GPUs), open",
        Effect.CRASH,
        span=since("0.24"),
        methods=("mtp",),
        options=(_SCHEDULE,),
        without=("--compilation-config", "-cc", "--enforce-eager"),
    ),
    KnownBad(
        "schedule-collapses-at-its-threshold",
        "throughput collapsed, from 232 to 24 tokens/s, as the batch crossed a threshold of the schedule",
        "use vLLM 0.29 or newer, or a fixed numSpeculativeTokens",
        "#49548 (Qwen3.5-122B with MTP), open",
        Effect.SLOWER,
        span=between("0.24", "0.29"),
        options=(_SCHEDULE,),
    ),
    KnownBad(
        "dflash-accepts-nothing",
        "no token that DFlash drafts is accepted on model runner V2 of this release",
        "use vLLM 0.26 or newer, or VLLM_USE_V2_MODEL_RUNNER=0",
        "#49559 (0.25.1)",
        Effect.SLOWER,
        span=between("0.25", "0.26"),
        methods=("dflash",),
    ),
    KnownBad(
        "mtp-ignores-yarn",
        "an MTP drafter ignores the target's YaRN scaling, so that it is never right far into a long context",
        "judge it on prompts as long as yours, or remove the scaling",
        "#58080, open",
        Effect.SLOWER,
        methods=("mtp",),
        flags=(("--hf-overrides", "yarn"),),
    ),
    KnownBad(
        "replicas-hang-near-the-end",
        "with data parallelism a drafter can hang the engine on a request that ends at the context's length",
        "keep requests below --max-model-len, or use tensor parallelism",
        "#44185, #44954; an earlier one was fixed by #29422",
        Effect.CRASH,
        methods=_SEQUENTIAL,
        replicated=True,
    ),
    KnownBad(
        "graphs-of-rocm-7.2",
        "replay of graphs corrupts the output of about one server in five on the HIP runtime of ROCm 7.2",
        "use the image of ROCm 10, or add --enforce-eager",
        "#46386 (DeepSeek-V2-Lite on MI300X: runtime 7.1.1 is clean, 7.2.0 to 7.2.3 are not)",
        Effect.WRONG_OUTPUT,
        baseline=True,
        architectures=("gfx942",),
        without=("--enforce-eager",),
        image="rocm72",
    ),
)
