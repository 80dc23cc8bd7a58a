"""Rows about features of the engine together with speculation."""

from specdeploy.engine.versions import between, since

from .row import Effect, KnownBad

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
        whole_graphs=True,
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
        "almost no token that DFlash drafts is accepted on model runner V2 of this release",
        "remove VLLM_USE_V2_MODEL_RUNNER",
        "#49559 (Qwen3.6-35B-A3B on H800, vLLM 0.25.1), open; #46435 fixed another cause",
        Effect.SLOWER,
        span=between("0.25", "0.26"),
        methods=("dflash",),
        variables=("VLLM_USE_V2_MODEL_RUNNER",),
    ),
    KnownBad(
        "mtp-ignores-yarn",
        "an MTP drafter does not get --hf-overrides; once a sequence is longer than its native context, "
        "nothing that it drafts for any request is accepted",
        "judge it on prompts as long as yours, or remove the scaling",
        "#58080, open; fixes #58094 and #37443, open",
        Effect.SLOWER,
        methods=("mtp",),
        flags=(("--hf-overrides", "yarn"),),
    ),
    KnownBad(
        "yarn-shortens-the-context",
        "a drafter does not get the YaRN scaling of --hf-overrides, and model runner V2 lowers the engine's "
        "max_model_len to the drafter's own, in this arm alone",
        "set --max-model-len to the drafter's own length, so that every arm has the same one",
        "v1/worker/gpu of vLLM 0.33, which hands on default, linear, llama3, ntk and proportional scaling",
        Effect.SHORTER,
        span=since("0.33"),
        methods=("eagle", "eagle3", "dflash", "dspark", "draft_model"),
        flags=(("--hf-overrides", "yarn"),),
        without=("--max-model-len",),
    ),
    KnownBad(
        "eagle3-on-w4a16",
        "vLLM's own tests leave out EAGLE-3 on w4a16 targets on ROCm",
        "try it once by hand before traffic reaches it, or use the target in BF16 or FP8",
        "vLLM's tests of speculative decoding, as AMD's CI runs them",
        Effect.CRASH,
        architectures=("gfx90a", "gfx942", "gfx950"),
        targets=("*w4a16*",),
        methods=("eagle3",),
    ),
    KnownBad(
        "replicas-hang-near-the-end",
        "with data and expert parallelism a drafter with experts can hang the engine on a request that ends "
        "at the context's length",
        "keep requests below --max-model-len, or use tensor parallelism",
        "#44185 (Qwen3.5-35B-A3B with MTP), open; its fix #44954, open",
        Effect.CRASH,
        methods=("mtp", "draft_model"),
        flags=(("--enable-expert-parallel", ""),),
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
        rocm=(7, 2),
    ),
)
