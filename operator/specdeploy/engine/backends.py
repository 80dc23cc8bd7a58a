"""Which attention backend runs, the target's and a drafter's: the one that is named, or vLLM's choice.

`rules.attention` and `known_bad` ask here. Source: vLLM 0.32 (v1/spec_decode, v1/worker/gpu/spec_decode,
config/speculative.py).
"""

from dataclasses import dataclass, replace

from .aiter import MASTER, MHA, MLA, is_on, variable_of
from .attention import Kind, Need, vllm_choice
from .methods import Runner
from .runner import runner_of
from .setting import Candidate, Setting
from .versions import since

# Methods that have no attention of their own.
_WITHOUT = ("ngram", "suffix")
# Their attention looks both ways, unless the checkpoint has sliding windows only.
NON_CAUSAL = ("dflash", "dspark")
# Models with attention of their own, which runs whatever is named: DeepSeek-V4 ignores the name, and V4.1
# refuses every other one (models/deepseek_v4/amd, models/deepseek_v41/amd).
_OWN = {"deepseek-v4": "ROCM_FLASHMLA_SPARSE_DSV4"}
# Model runner V2 of these and newer releases gives a drafter the target's backend unless it names one.
_INHERITS = since("0.29")
_KINDS = {"gqa": Kind.DENSE, "mla": Kind.MLA, "sparse-mla": Kind.SPARSE_MLA}


@dataclass(frozen=True)
class Choice:
    """Which backend runs, and who says so.

    Attributes:
        field: where to name one.
        named: the one that is named there, in vLLM's spelling.
        own: where none is named, the one that vLLM takes by itself; None where that can't be told.
        inherited: a drafter's: it is the target's, named or not.
    """

    field: str
    named: str | None
    own: str | None = None
    inherited: bool = False

    @property
    def name(self) -> str | None:
        """The one that runs, as far as can be told."""
        return self.named or self.own


def backend_of_target(setting: Setting) -> Choice:
    """The target's backend: of spec.engine.attentionBackend, of an argument, or vLLM's choice."""
    field, named = "spec.engine.attentionBackend", _named(setting.spec.engine.attention_backend)
    flag = setting.flag("--attention-backend")
    if flag is not None:
        field, named = flag.path, _named(flag.value)
    if named is not None or is_configured(setting):
        return Choice(field, named)
    return Choice(field, None, _own_of_target(setting))


def running_backend(setting: Setting) -> Choice:
    """The same as it runs: attention that is part of the model takes no other name."""
    choice, own = backend_of_target(setting), own_attention(setting)
    return choice if own is None else Choice(choice.field, None, own)


def own_attention(setting: Setting) -> str | None:
    """The backend that is part of the target's model; None where vLLM has a choice."""
    model = last_part(setting.spec.model)
    return next((backend for start, backend in _OWN.items() if model.startswith(start)), None)


def last_part(model: str) -> str:
    """The last part of a model's name or folder, lower case."""
    return model.rstrip("/").rpartition("/")[2].lower()


def known_backend(candidate: Candidate) -> str | None:
    """The drafter's backend on this GPU as the catalogue has it; None where it has none."""
    gpu, checkpoint = candidate.setting.gpu, candidate.checkpoint
    return checkpoint.backends.get(gpu.architecture) if gpu and checkpoint else None


def is_configured(setting: Setting) -> bool:
    """Whether --attention-config decides; what stands in it is not looked at."""
    return any(flag.name in ("-ac", "--attention-config") for flag in setting.flags)


def backend_of_drafter(candidate: Candidate) -> Choice | None:
    """The drafter's own backend; None for a method without attention of its own.

    A drafter that names none has the target's or one that vLLM chooses, by method and release. Gemma 4's
    assistant shares the target's cache and has the target's always.
    """
    method, setting, choice = candidate.drafter.method, candidate.setting, named_of_drafter(candidate)
    if method in _WITHOUT:
        return None
    if choice.named is not None:
        return choice
    if _inherits(candidate):
        target = running_backend(setting)
        return replace(choice, named=target.named, own=target.own, inherited=True)
    need = _need(setting, _kind_of_drafter(candidate))
    if need is None:
        return choice
    # A drafter has layers of its own: size and sinks of the target's heads say nothing.
    kv = candidate.options.get("kv_cache_dtype") or need.kv
    own = replace(need, kv=str(kv), head=None, sinks=False, non_causal=method in NON_CAUSAL)
    return replace(choice, own=vllm_choice(own, setting.version))


def named_of_drafter(candidate: Candidate) -> Choice:
    """What the drafter names, whether it has attention of its own or not."""
    return Choice(f"{candidate.path}.attentionBackend", _named(candidate.drafter.attention_backend))


def kind_of_target(setting: Setting) -> Kind | None:
    """Kind of the target's attention; None where nothing tells, or it has several, or one of its own."""
    attention = setting.target.attention if setting.target else None
    if attention is None or own_attention(setting):
        return None
    if attention == "mla" and _is_mla_off(setting):
        return Kind.DENSE
    return _KINDS.get(attention)


def kv_format(setting: Setting) -> str:
    """Value of --kv-cache-dtype in force."""
    flag = setting.flag("--kv-cache-dtype")
    return (flag.value or "auto") if flag else "auto"


def unreadable_cache(setting: Setting) -> bool:
    """Whether no backend is named, and none that vLLM could take reads the target's --kv-cache-dtype."""
    choice, need = backend_of_target(setting), _need(setting, kind_of_target(setting))
    if need is None or choice.name is not None or is_configured(setting):
        return False
    return vllm_choice(replace(need, kv="auto"), setting.version) is not None


def _own_of_target(setting: Setting) -> str | None:
    if _family(setting).startswith("gemma4"):
        return "TRITON_ATTN"  # vLLM sets it itself: layers of Gemma 4 differ in head size
    own = own_attention(setting)
    if own is not None:
        return own
    need = _need(setting, kind_of_target(setting))
    return vllm_choice(need, setting.version) if need else None


def _need(setting: Setting, kind: Kind | None) -> Need | None:
    """What a layer of this kind needs; None where the kind, the GPU or a switch of AITER is not known."""
    master = is_on(setting, MASTER)
    switches = {name: is_on(setting, name) for name in (MHA, MLA)}
    if kind is None or setting.gpu is None or master is None or None in switches.values():
        return None
    return Need(
        kind=kind,
        architecture=setting.gpu.architecture,
        switches=frozenset(name for name, on in switches.items() if on and master),
        kv=kv_format(setting),
        head=setting.target.head_dim if setting.target else None,
        sinks=_family(setting).startswith("gpt-oss"),
        connector=setting.flag("--kv-transfer-config") is not None,
    )


def _inherits(candidate: Candidate) -> bool:
    method, family = candidate.drafter.method, _family(candidate.setting)
    if method == "mtp" and family.startswith("gemma4"):
        return True
    if method == "dspark":
        return family.startswith("deepseek-v4")
    released = _INHERITS.holds(candidate.setting.version)
    return method != "dflash" and released and runner_of(candidate) is Runner.V2


def _kind_of_drafter(candidate: Candidate) -> Kind | None:
    target, model = kind_of_target(candidate.setting), candidate.drafter.model
    if model is None or target is Kind.DENSE:
        return target
    return Kind.MLA if "mla" in last_part(model).split("-") else None


def _is_mla_off(setting: Setting) -> bool:
    given = variable_of(setting, "VLLM_MLA_DISABLE")
    return given is not None and (given.value or "0") != "0"


def _family(setting: Setting) -> str:
    return setting.target.family if setting.target else ""


def _named(text: str | None) -> str | None:
    return None if text is None or text.lower() == "auto" else text.upper()
