"""What is known to go wrong and can't be known before the start, and what no rule needs to look for.

`docs/rules/` and `docs/amd.md` print it. Numbers are issues and pull requests of vllm-project/vllm where no
other project is named.
"""

from typing import NamedTuple


class NotCheckable(NamedTuple):
    """`what`: may go wrong. `why`: it is not seen before the start. `seen_by`: what finds it then, or ""."""

    what: str
    why: str
    seen_by: str


_CONFIG = "it stands in the checkpoint's config.json, which is not read"
_REQUEST = "it stands in a request, not in the spec"
_REFUSED = "the start: vLLM refuses it"
_ANSWERS = "output agreement, which compares the arms before a pod is ready"
_TRIAL = "the trial, which compares the arms on this very image"

OF_DRAFTERS: tuple[NotCheckable, ...] = (
    NotCheckable(
        "`mtp` with more tokens than layers and no multiple of them, where the catalogue has no chain",
        _CONFIG,
        _REFUSED,
    ),
    NotCheckable(
        "`mtp` with more tokens than layers runs a layer again, which vLLM warns of",
        "it is no mistake: of the native drafters that AMD measured on one layer the best had 4 to 7 tokens",
        "the trial",
    ),
    NotCheckable(
        "Qwen3-Omni with other tokens than the block of its dspark",
        "no target of this family is in the catalogue",
        _REFUSED,
    ),
    NotCheckable(
        "an `mtp` target without such layers, or a checkpoint of another architecture or hidden size, that "
        "the catalogue does not list",
        _CONFIG,
        _REFUSED,
    ),
    NotCheckable(
        "a `draft_model` with another vocabulary than the target's, without `use_heterogeneous_vocab`, where "
        "the catalogue does not have the vocabularies of both",
        _CONFIG,
        _REFUSED,
    ),
    NotCheckable(
        "a head whose vocabulary is not the target's, or lacks its map to it",
        "vLLM compares none: heads of eagle, dflash and dspark have a smaller one by design",
        "the trial: what it drafts is not accepted",
    ),
    NotCheckable(
        "`--enable-eplb` with a `draft_model` that has another number of experts",
        "no two models of the catalogue that vLLM would balance so share a vocabulary",
        "the start: vLLM ends as it loads them",
    ),
    NotCheckable("`max_model_len` of the drafter above what its checkpoint allows", _CONFIG, _REFUSED),
    NotCheckable(
        "`dspark_draft_topk` and `xpress_topc` with a checkpoint that has no such head", _CONFIG, _REFUSED
    ),
    NotCheckable(
        "the engine's max_model_len falls to the draft's, but for YaRN, which a rule finds",
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
        "fewer prefix-cache hits, on hybrid targets none (#38182, #54360)",
        "it depends on how prompts repeat",
        "the guard on prefix hits",
    ),
    NotCheckable(
        "requests with `min_p` or `logit_bias`, which speculation answers with HTTP 400",
        _REQUEST,
        "the guard on HTTP errors",
    ),
    NotCheckable(
        "structured output and tool calls that speculation breaks: errors 500 and broken JSON (#35800, "
        "#44006, #46118, #52620)",
        _REQUEST,
        "the guards on HTTP errors, output length and output agreement",
    ),
    NotCheckable(
        "beam search, `best_of`, prompt embeddings in a request", _REQUEST, "the guard on HTTP errors"
    ),
    NotCheckable("an encoder-decoder target", _CONFIG, _REFUSED),
    NotCheckable(
        "hangs with data parallelism near max_model_len without expert parallelism too (#29422)",
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
        "#52362 merged it and recipes still switch it off; which images run it is not known",
        "the start, or the trial",
    ),
    NotCheckable(
        "acceptance of adaptive verification counts drafts that were never verified (#52992)",
        "it is how vLLM counts",
        "nobody needs to: acceptance never decides a trial",
    ),
    NotCheckable("process snapshots (CRIU) of an engine with a drafter", "nothing here makes any", ""),
)

OF_ENGINES: tuple[NotCheckable, ...] = (
    NotCheckable(
        "the HIP runtime and the driver where the image's tag does not name its ROCm: graphs of 7.2 corrupt "
        "output (#46386)",
        "they are in the image and on the node",
        _ANSWERS,
    ),
    NotCheckable(
        "faults that only a long prompt brings (#40756, #57227, #50347)",
        "the length of prompts is traffic",
        "restarts, which end a trial as Unhealthy",
    ),
    NotCheckable(
        "acceptance that decays until the engine restarts (#41838, #11188)",
        "it is a matter of uptime",
        "the guard, which watches after the promotion",
    ),
    NotCheckable(
        "acceptance that differs by release or by model runner (#26191, #40551, #42004)",
        "it depends on checkpoint and traffic",
        "the trial; a new image is a new revision and is tried again",
    ),
    NotCheckable(
        "answers that prefix caching together with MTP changes (#43559), or concurrency (#35288), or nothing "
        "that was found (#53180)",
        "the reports contradict each other",
        _ANSWERS,
    ),
    NotCheckable(
        "hangs in the capture of graphs (#39010), in adaptive verification (#54011), behind a healthy probe "
        "(#36960)",
        "no condition is known that a spec shows",
        "startupSeconds and the guard on stalls, which end them",
    ),
    NotCheckable(
        "memory that a crashed or sleeping engine has not given back (#42017, #37533)",
        "it is the node's state",
        "the start: the first refusal for lack of free memory is tried again",
    ),
    NotCheckable(
        "memory of a device where amd.com/gpu is a partition (naming strategy `single`)",
        "only the node's labels tell; accelerator.type bounds the kind of GPU",
        "the operator, which says so where a pod finds no room",
    ),
    NotCheckable(
        "a cold compile cache, which makes a young pod slow (ROCm/aiter#4055)",
        "it is the volume's state",
        "nobody needs to: warm-up keeps it out of the evidence",
    ),
    NotCheckable(
        "an image without AITER, or built for one architecture only, that its tag does not name",
        "it is inside the image",
        "the start, in every arm alike",
    ),
    NotCheckable(
        "a release whose tests on AMD were red: most jobs of speculative decoding are optional there",
        "vLLM's CI is not asked",
        _TRIAL,
    ),
    NotCheckable(
        "a compile cache with ngram or suffix: AMD's CI turns it off for their tests",
        "no report says what goes wrong",
        _ANSWERS,
    ),
    NotCheckable(
        "the attention backend that runs after all",
        "what is said here is read from vLLM's sources",
        "the engine's log, which has it in a line with `Using` and `backend`",
    ),
)

# What no rule looks for, because no accepted release has it or SpecDeploy's own pods avoid it, and why.
HANDLED: tuple[tuple[str, str], ...] = (
    (
        "`--enable-eplb` beside adaptive verification or a schedule of tokens by batch size",
        "no release from 0.18 to 0.33 refuses it, and no report says that it goes wrong",
    ),
    (
        "`--enable-eplb` with the experts in DeepSeek-V4's dspark: loading ended with a state that nothing "
        "had set (#56387)",
        "it was NVIDIA's model, ended in 0.30; on AMD's GPUs up to 0.33 vLLM builds the experts of "
        "DeepSeek-V4 without balancing, the drafter's too",
    ),
    (
        "ROCM_AITER_FA answers wrong with EAGLE-3 (#31625)",
        "ended by #32877, before the oldest release that is accepted",
    ),
    (
        "AITER refuses more than one drafted token (#28222)",
        "ended by #30430, before the oldest release that is accepted",
    ),
    (
        "A start of gpt-oss that fails on one MI355X after two hours of compiling (#32895)",
        "it was vLLM 0.14; startupSeconds bounds every start",
    ),
    (
        "Liveness probes that restart a busy engine (gonka 1421), or that call a dead one healthy "
        "(kserve 6259, prime-rl 2375)",
        "probes have long timeouts, and a hang is found from the engine's counters",
    ),
    (
        "Probes that kill an engine that starts slowly (ai-dynamo/snapshot 311, kserve 5062), or whose "
        "second of patience takes a busy pod from service (llm-d-benchmark 1734)",
        "every pod has a startup probe, and every probe a timeout of its own",
    ),
)
