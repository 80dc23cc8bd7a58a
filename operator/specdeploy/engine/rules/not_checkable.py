"""What can go wrong with a drafter and is not known from a spec, with the reason; `docs/rules/` prints it."""

from typing import NamedTuple


class NotCheckable(NamedTuple):
    """`what`: may go wrong. `why`: it is not seen before the start. `seen_by`: what finds it then, or ""."""

    what: str
    why: str
    seen_by: str


_CONFIG = "it stands in the checkpoint's config.json, which is not read"
_REQUEST = "it stands in a request, not in the spec"

NOT_CHECKABLE: tuple[NotCheckable, ...] = (
    NotCheckable(
        "mtp with more tokens than layers where it is no multiple of them (n_predict)",
        _CONFIG,
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "mtp with more tokens than layers runs a layer again, which vLLM warns of",
        "it is no mistake: of the native drafters that AMD measured on one layer the best had 4 to 7 tokens",
        "the trial",
    ),
    NotCheckable(
        "Qwen3-Omni with other tokens than the block of its dspark",
        "no target of this family is in the catalogue",
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "an mtp target without such layers, a checkpoint of another architecture or hidden size",
        _CONFIG,
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "a draft_model with another vocabulary than the target's, without use_heterogeneous_vocab",
        _CONFIG,
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "max_model_len of the drafter above what its checkpoint allows",
        _CONFIG,
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "dspark_draft_topk and xpress_topc with a checkpoint that has no such head",
        _CONFIG,
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "the engine's max_model_len falls to the draft's",
        _CONFIG,
        "the guard on max_model_len",
    ),
    NotCheckable(
        "fewer KV blocks",
        "the exact number depends on the engine's profiling; an estimate is in the rules on memory",
        "the guard on KV blocks",
    ),
    NotCheckable(
        "the compile cache is missed at the drafter's first start",
        "it is always so",
        "the budget of the start (engine.startupSeconds)",
    ),
    NotCheckable(
        "fewer prefix-cache hits, on hybrid targets none (issues 38182, 54360)",
        "it depends on how prompts repeat",
        "the guard on prefix hits",
    ),
    NotCheckable(
        "min_p and logit_bias are answered with HTTP 400",
        _REQUEST,
        "the guard on HTTP errors",
    ),
    NotCheckable(
        "structured output and tool calls: errors 500 and broken JSON (issues 46118, 44006, 52620, 35800)",
        _REQUEST,
        "the guards on HTTP errors and on output agreement",
    ),
    NotCheckable(
        "beam search, best_of, prompt embeddings in a request",
        _REQUEST,
        "the guard on HTTP errors",
    ),
    NotCheckable(
        "an encoder-decoder target",
        _CONFIG,
        "the start: vLLM refuses it",
    ),
    NotCheckable(
        "hangs with data parallelism near max_model_len (issues 44185, 44954, 29422)",
        "it shows under load, after hours",
        "the guard on stalls",
    ),
    NotCheckable(
        "logprobs of adaptive verification",
        "a blog post lists them as unsupported, the source of 0.33 has a path for them",
        "the guard on HTTP errors",
    ),
    NotCheckable(
        "adaptive verification of DeepSeek-V4 on ROCm",
        "pull request 52362 merged it and recipes still switch it off; which images run it is not known",
        "the start, or the trial",
    ),
    NotCheckable(
        "acceptance of adaptive verification counts drafts that were never verified (pull request 52992)",
        "it is how vLLM counts",
        "nobody needs to: acceptance never decides a trial",
    ),
    NotCheckable(
        "process snapshots (CRIU) of an engine with a drafter",
        "nothing here makes any",
        "",
    ),
)
