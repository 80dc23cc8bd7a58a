"""Rules on the target, on the volumes of weights and compiled kernels, and on replicas."""

import re
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.belonging import head_for
from specdeploy.engine.catalogue.evidence import called
from specdeploy.engine.environment import outlives_pod
from specdeploy.engine.layout import is_address, is_on_hub
from specdeploy.engine.replicas import replicas_for_trial
from specdeploy.engine.setting import Candidate, Setting

# How checkpoints in the speculators format are named by their makers.
_SPECULATORS = re.compile(r"-speculator\.(eagle3|peagle|dflash|dspark)")

_LIST_IT = "name the target; list the checkpoint under spec.drafters"
# A page of a model on the hub, and its id.
_HUB = re.compile(r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/([^/?#]+/[^/?#]+)")
_IDS = "write the id on the hub, <org>/<name>, or a path in the container"

SPECULATES = Rule(
    code="SD101",
    name="target-speculates-by-itself",
    severity=Severity.ERROR,
    title="The target is a draft checkpoint",
    why="A checkpoint in the speculators format names its own target and turns speculation on, so that no "
    "arm would be without a drafter and nothing could be compared. Other heads don't answer by themselves, "
    "and vLLM does not serve them.",
    source="vLLM's documentation of speculators checkpoints; the catalogue, which has the heads",
    refused="model: RedHatAI/Qwen3-8B-speculator.eagle3",
    passed="""\
model: Qwen/Qwen3-8B
drafters: [{name: e, method: eagle3, model: RedHatAI/Qwen3-8B-speculator.eagle3, numSpeculativeTokens: 3}]""",
    decided_by=Decider.POLICY,
)
ADDRESS = Rule(
    code="SD108",
    name="model-is-an-address",
    severity=Severity.ERROR,
    title="A model is named by an address that vLLM does not read",
    why="vLLM takes an id of the hub, a folder in the container, or an object of s3://, gs:// or az://. "
    "Anything else it looks up as an id, and ends.",
    source="vLLM's transformers_utils/runai_utils.py; huggingface_hub: validate_repo_id",
    refused="model: https://huggingface.co/Qwen/Qwen3-8B",
    passed="model: Qwen/Qwen3-8B",
)
READ_ONLY_CACHE = Rule(
    code="SD102",
    name="compile-cache-read-only",
    severity=Severity.ERROR,
    title="Compiled kernels can't be written",
    why="Engines write compiled kernels to that volume while they start. They end where they can't.",
    source="vLLM's VLLM_CACHE_ROOT and Triton's TRITON_CACHE_DIR",
    refused="engine: {compileCache: {persistentVolumeClaim: {claimName: kernels, readOnly: true}}}",
    passed="engine: {compileCache: {persistentVolumeClaim: {claimName: kernels}}}",
    decided_by=Decider.LATER,
)
WEIGHTS_LOST = Rule(
    code="SD103",
    name="weights-not-kept",
    severity=Severity.WARNING,
    title="Every pod downloads the model again",
    why="Weights that end with their pod are fetched anew by each pod of each trial: it starts later, and "
    "the hub answers 429 when many pods ask at once.",
    source="vllm-project/vllm#24541, huggingface/huggingface_hub#3312",
    refused="engine: {weights: {emptyDir: {}}}",
    passed="engine: {weights: {persistentVolumeClaim: {claimName: models}}}",
)
KERNELS_LOST = Rule(
    code="SD104",
    name="compiled-kernels-not-kept",
    severity=Severity.ADVICE,
    title="Every pod compiles its kernels again",
    why="With kernels from the pod before, a pod starts in about 40 % less time, and trials and rollbacks "
    "are as much faster.",
    source="vllm-project/vllm#49782, ROCm/aiter#4055",
    refused="replicas: 4",
    passed="engine: {compileCache: {hostPath: {path: /var/cache/engines}}}",
)
NOTHING_OFFLINE = Rule(
    code="SD105",
    name="offline-without-weights",
    severity=Severity.WARNING,
    title="The hub is not asked, and no volume has the model",
    why="With weights.offline the engine finds models only on the volume of spec.engine.weights, and that "
    "volume is empty when its pod starts, unless an init container fills it.",
    source="huggingface_hub: HF_HUB_OFFLINE",
    refused="engine: {weights: {offline: true}}",
    passed="engine: {weights: {offline: true, persistentVolumeClaim: {claimName: models}}}",
)
TOO_FEW_REPLICAS = Rule(
    code="SD106",
    name="too-few-replicas-for-a-trial",
    severity=Severity.WARNING,
    title="No trial of the drafters can start",
    why="A trial borrows its pods from those that serve and never takes the last one. With fewer replicas "
    "every drafter waits (TooFewReplicas) until the SpecDeployment is scaled up.",
    source="SpecDeploy: trials borrow pods",
    refused="replicas: 1\ndrafters: [{name: n, method: ngram, numSpeculativeTokens: 3}]",
    passed="replicas: 2\ndrafters: [{name: n, method: ngram, numSpeculativeTokens: 3}]",
)
NO_FURTHER_TRIAL = Rule(
    code="SD107",
    name="too-few-replicas-after-a-promotion",
    severity=Severity.ADVICE,
    title="Once a drafter is promoted no trial of another one can start",
    why="A drafter that serves is compared with baseline.replicas pods beside it, so a trial needs as many "
    "more replicas than while the baseline serves.",
    source="SpecDeploy: trials borrow pods",
    refused="""\
replicas: 2
drafters:
  - {name: n, method: ngram, numSpeculativeTokens: 3}
  - {name: m, method: ngram, numSpeculativeTokens: 5}""",
    passed="""\
replicas: 3
drafters:
  - {name: n, method: ngram, numSpeculativeTokens: 3}
  - {name: m, method: ngram, numSpeculativeTokens: 5}""",
)


def _check_replicas(setting: Setting) -> Iterator[Finding]:
    spec = setting.spec
    drafters, replicas = len(spec.drafters or []), spec.replicas
    first = replicas_for_trial(0, spec.trial.replicas)
    later = replicas_for_trial(spec.baseline.replicas, spec.trial.replicas)
    if not drafters or not replicas:
        return  # scaled to nothing is meant
    if replicas < first:
        reason = f"a trial needs {first} replicas, there {_are(replicas)}"
        yield TOO_FEW_REPLICAS.at("spec.replicas", reason, "scale up, or no drafter is ever tried")
    elif drafters > 1 and replicas < later:
        reason = f"beside a drafter that serves a trial needs {later} replicas, there {_are(replicas)}"
        fix = "scale up, or the first drafter that is promoted ends all trials"
        yield NO_FURTHER_TRIAL.at("spec.replicas", reason, fix)


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _check_target(setting: Setting) -> Iterator[Finding]:
    if _SPECULATORS.search(setting.spec.model):
        reason = "this is a draft checkpoint that speculates by itself, so there would be no baseline"
        yield SPECULATES.at("spec.model", reason, _LIST_IT)
    elif (home := head_for(setting)) is not None:
        target, checkpoint = home
        reason = f"this is {called(checkpoint.method)} for {target.model}, which does not serve by itself"
        yield SPECULATES.at("spec.model", reason, _LIST_IT)


def _check_addresses(setting: Setting) -> Iterator[Finding]:
    if is_address(setting.spec.model):
        yield ADDRESS.at("spec.model", *_no_address(setting.spec.model))


def _check_draft_address(candidate: Candidate) -> Iterator[Finding]:
    model = candidate.drafter.model or ""
    if is_address(model):
        yield ADDRESS.at(f"{candidate.path}.model", *_no_address(model))


def _no_address(model: str) -> tuple[str, str]:
    """Why it is refused, and what to write."""
    hub = _HUB.match(model)
    return f"vLLM reads no model from {model:.80}", f"write {hub[1]}" if hub else _IDS


def _check_compile_cache(setting: Setting) -> Iterator[Finding]:
    cache = setting.spec.engine.compile_cache
    sources = (
        {"persistentVolumeClaim": cache.persistent_volume_claim, "hostPath": cache.host_path} if cache else {}
    )
    for name, source in sources.items():
        if source and source.read_only:
            field = f"spec.engine.compileCache.{name}.readOnly"
            yield READ_ONLY_CACHE.at(field, "engines write compiled kernels there", "remove it")
    if not outlives_pod(cache):
        fix = "name a persistentVolumeClaim or a hostPath"
        yield KERNELS_LOST.at("spec.engine.compileCache", "compiled kernels end with their pod", fix)


def _check_weights(setting: Setting) -> Iterator[Finding]:
    engine = setting.spec.engine
    # A path is in the image or on a volume of the user's own, and an object store is read from each time.
    if outlives_pod(engine.weights) or not is_on_hub(setting.spec.model):
        return
    field, fix = "spec.engine.weights", "name a persistentVolumeClaim or a hostPath that has the models"
    if engine.weights and engine.weights.offline:
        filled = engine.pod_template and engine.pod_template.init_containers
        if not filled:
            yield NOTHING_OFFLINE.at(field, "the volume is empty and the hub is not asked", fix)
    else:
        yield WEIGHTS_LOST.at(field, "the model's files end with their pod", fix)


RULES: tuple[Rule, ...] = (
    SPECULATES,
    READ_ONLY_CACHE,
    WEIGHTS_LOST,
    KERNELS_LOST,
    NOTHING_OFFLINE,
    TOO_FEW_REPLICAS,
    NO_FURTHER_TRIAL,
    ADDRESS,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_target,
    _check_compile_cache,
    _check_weights,
    _check_replicas,
    _check_addresses,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_draft_address,)
