"""Where the rules and the real parser differ, one by one, each with its reason."""

_SIZES = "it depends on the sizes in config.json, which `lint` does not read"
_DRAFT = "it depends on the architecture of the checkpoint, which `lint` does not read"
_LAYERS = "it depends on whether the target has such layers, and the catalogue does not list this target"

# What the rules say where they can't tell: another method is catalogued, no target, no layers.
DOUBTS = frozenset({"SD802", "SD812", "SD813"})

# Configurations of `cases` that vLLM refuses and that have no error by the rules.
REFUSED_THOUGH_GOOD: dict[str, str] = {
    "draft_model: max_model_len=10000000": _SIZES,
    "eagle: max_model_len=10000000": _SIZES,
    "eagle3: max_model_len=10000000": _SIZES,
    "dflash: max_model_len=10000000": _SIZES,
    "mtp: max_model_len=10000000": _SIZES,
    "baseline: 1 GPU --max-model-len 999999999": _SIZES,
    "baseline: 1 GPU --enable-expert-parallel": _SIZES,
    "baseline: 3 GPUs": _SIZES,
    "baseline: 8 GPUs": _SIZES,
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
}

# Entries of the catalogue that this release does not know yet.
REFUSED_ENTRIES: dict[str, str] = {}
