"""Where the rules and the real parser differ, one by one, each with its reason."""

_SIZES = "it depends on the sizes in config.json, which `lint` does not read"
_DRAFT = "it depends on the architecture of the checkpoint, which `lint` does not read"
_LAYERS = "it depends on whether the target has such layers, and the catalogue does not list this target"

_MEDIA = "it depends on whether the target takes images, of which `lint` warns"
_DEFAULTS = "the default budget may be a larger one, so `lint` warns"

_EIGHT = '{"method":"eagle3","model":"tiny/eagle3-head","numSpeculativeTokens":8}'
_SIXTEEN = _EIGHT.replace("8", "16")
# Lines of `arguments.txt` about LoRA's budget by default.
_LORA = (
    f"tiny/target 1 '!{_SIXTEEN}' --enable-lora",
    f"tiny/target 1 @MI300X '!{_SIXTEEN}' --enable-lora --performance-mode throughput",
    f"tiny/target 1 @MI210 '!{_EIGHT}' --enable-lora --max-num-seqs 256",
    """tiny/target 1 '!{"method":"ngram"}' --enable-lora --max-num-batched-tokens 2048""",
)

# What the rules say where they can't tell: another method is catalogued, no target, no layers; numbers that
# only targets that take images look at; a default that some targets raise.
DOUBTS = frozenset({"SD802", "SD812", "SD813", "SD233", "SD512"})

# Configurations of `cases` that vLLM refuses and that have no error by the rules.
REFUSED_THOUGH_GOOD: dict[str, str] = {
    "draft_model: max_model_len=10000000": _SIZES,
    "eagle: max_model_len=10000000": _SIZES,
    "eagle3: max_model_len=10000000": _SIZES,
    "dflash: max_model_len=10000000": _SIZES,
    "mtp: max_model_len=10000000": _SIZES,
    "tiny/target 1 --max-model-len 999999999": _SIZES,
    "tiny/target 1 --enable-expert-parallel": _SIZES,
    "tiny/target 3": _SIZES,
    "tiny/target 8": _SIZES,
    "draft_model: 4 GPUs": _SIZES,
    "eagle: with tiny/draft": _DRAFT,
    "eagle: with tiny/eagle3-head": _DRAFT,
    "eagle: with tiny/dflash-head": _DRAFT,
    "eagle3: with tiny/dflash-head": _DRAFT,
    "dflash: with tiny/draft": _DRAFT,
    "dflash: with tiny/eagle3-head": _DRAFT,
    "mtp: with None": _LAYERS,
    "mtp: with tiny/draft": _DRAFT,
    "mtp: of moonshotai/Kimi-K3": "it depends on num_nextn_predict_layers of the checkpoint",
    "tiny/target 1 --no-enable-chunked-prefill --max-num-batched-tokens 64 --max-num-seqs 8": _SIZES,
    "tiny/target 2 --data-parallel-rank 0 --data-parallel-size 2": _SIZES,
    "tiny/target 1 --enable-return-routed-experts": _SIZES,
    "Qwen/Qwen3.5-27B 1 --mm-processor-cache-gb -1": _MEDIA,
    "Qwen/Qwen3.5-27B 1 --mm-shm-cache-max-object-size-mb -1": _MEDIA,
    "Qwen/Qwen3.5-27B 1 --video-pruning-rate 1": _MEDIA,
    "Qwen/Qwen3.5-27B 1 --mm-ipc-gpu-memory-gb -1": _MEDIA,
    "Qwen/Qwen3.5-27B 1 --mm-encoder-fp8-scale-save-margin 0": _MEDIA,
    **dict.fromkeys(_LORA[:3], _DEFAULTS),
    _LORA[3]: "it depends on the GPU, which the spec does not name",
}

# The same where a user's own catalogue describes the tiny models (`lint --catalog`).
REFUSED_THOUGH_DESCRIBED: dict[str, str] = {
    name: REFUSED_THOUGH_GOOD[name]
    for name in (
        "draft_model: 4 GPUs",  # heads of a draft are in no catalogue
        "eagle: with tiny/draft",  # some models that draft for themselves are taken for EAGLE's
        "dflash: with tiny/draft",
        "mtp: with None",
        "mtp: with tiny/draft",
        "mtp: of moonshotai/Kimi-K3",
        "Qwen/Qwen3.5-27B 1 --mm-processor-cache-gb -1",
        "Qwen/Qwen3.5-27B 1 --mm-shm-cache-max-object-size-mb -1",
        "Qwen/Qwen3.5-27B 1 --video-pruning-rate 1",
        "Qwen/Qwen3.5-27B 1 --mm-ipc-gpu-memory-gb -1",
        "Qwen/Qwen3.5-27B 1 --mm-encoder-fp8-scale-save-margin 0",
        *_LORA,
    )
}

# Codes of rules that refuse what the parser accepts, in `cases`.
ACCEPTED_ERRORS: dict[str, str] = {
    "SD161": "policy: parallel sizes that are not the GPU count",
    "SD306": "policy: a checkpoint that vLLM would ignore",
    "SD401": "policy: a key that has a field of its own",
    "SD403": "the rows of a schedule are read by the scheduler, as the engine starts",
    "SD507": "the V1 runner refuses it as it starts",
    "SD511": "policy: min_p by default, for which only requests are refused",
    "SD531": "a CPU build turns --async-scheduling off, which the V1 runner refuses in a pipeline",
}

# Entries of the catalogue that this release does not know yet.
REFUSED_ENTRIES: dict[str, str] = {}
