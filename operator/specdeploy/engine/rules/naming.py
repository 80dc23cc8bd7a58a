"""Advice to name attention backends, and which. Part of the rules on hardware.

A backend is not advised where a known-bad combination or a rule would then find it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.attention import BACKENDS, Kind
from specdeploy.engine.backends import (
    Choice,
    backend_of_drafter,
    backend_of_target,
    is_configured,
    kind_of_target,
    known_backend,
    last_part,
    own_attention,
)
from specdeploy.engine.kinds import as_switch
from specdeploy.engine.known_bad import ABOUT_BACKENDS, KnownBad, of_drafter, of_spec
from specdeploy.engine.setting import Candidate, Setting

_DFLASH = "{name: d, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash, numSpeculativeTokens: 7"
# They run on every GPU, and look both ways.
_EVERYWHERE = {Kind.DENSE: "TRITON_ATTN", Kind.MLA: "TRITON_MLA"}
# Targets whose recipes name one for AMD, and no other is known to do as well.
_RECIPES = {"minimax-m3": "TRITON_ATTN"}

TARGET_NOT_NAMED = Rule(
    code="SD611",
    name="name-the-target-attention-backend",
    severity=Severity.ADVICE,
    title="The target's attention backend is left to vLLM where drafters are tried",
    why="vLLM's own choice differs by release and image, is ROCM_ATTN for most targets even with AITER on, "
    "and decides how fast several tokens are verified. Named, it stays the same after an upgrade.",
    source="#46596; platforms/rocm.py of vLLM 0.32",
    refused=f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
    passed="engine: {attentionBackend: TRITON_ATTN}\n"
    f"drafters: [{_DFLASH}, attentionBackend: TRITON_ATTN}}]",
)
DRAFTER_NOT_NAMED = Rule(
    code="SD612",
    name="name-the-drafter-attention-backend",
    severity=Severity.ADVICE,
    title="A drafter's attention backend is left to vLLM",
    why="Without one vLLM chooses, by rules that differ by release, method and runner; the acceptance of "
    "some drafters depends on it.",
    source="#47854; v1/spec_decode/llm_base_proposer.py and v1/worker/gpu/spec_decode of vLLM 0.32",
    refused="drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7}]",
    passed="drafters: [{name: d, method: dflash, model: org/draft, numSpeculativeTokens: 7, "
    "attentionBackend: TRITON_ATTN}]",
)


def _check_target(setting: Setting) -> Iterator[Finding]:
    choice = backend_of_target(setting)
    unnamed = choice.named is None and not is_configured(setting) and own_attention(setting) is None
    if not unnamed or not setting.spec.drafters or _is_told(setting):
        return
    kind = _kind_of_cache(setting)
    names = [name for name in _candidates(setting, choice, kind) if _suits_target(setting, name)]
    if names:
        yield _left_to_vllm(TARGET_NOT_NAMED, choice, names)


def _check_drafter(candidate: Candidate) -> Iterator[Finding]:
    choice = backend_of_drafter(candidate)
    if choice is None or choice.named or choice.inherited or known_backend(candidate):
        return
    # A drafter of a latent target may have dense attention or latent.
    kind = Kind.DENSE if _kind_of_cache(candidate.setting) is Kind.DENSE else None
    names = [name for name in _candidates(candidate.setting, choice, kind) if _suits_drafter(candidate, name)]
    if names and not any(row.draft for row in of_drafter(candidate, ABOUT_BACKENDS)):
        yield _left_to_vllm(DRAFTER_NOT_NAMED, choice, names)


def _left_to_vllm(rule: Rule, choice: Choice, names: list[str]) -> Finding:
    reason = f"it is left to vLLM, which takes {choice.own}" if choice.own else "it is left to vLLM"
    return rule.at(choice.field, reason, f"name {' or '.join(names)}")


def _candidates(setting: Setting, choice: Choice, kind: Kind | None) -> list[str]:
    """Backends worth naming, the first to try first; none where the kind of attention is not known.

    `kind`: where vLLM's own choice does not tell.
    """
    model = last_part(setting.spec.model)
    by_recipe = [name for start, name in _RECIPES.items() if model.startswith(start)]
    if by_recipe:
        return by_recipe
    own = BACKENDS.get(choice.own or "")
    of_layers = own.kind if own else kind
    everywhere = _EVERYWHERE.get(of_layers) if of_layers else None
    if everywhere is None:
        return []
    return list(dict.fromkeys([everywhere, *([own.name] if own else [])]))


def _kind_of_cache(setting: Setting) -> Kind | None:
    """Kind of the layers that have a cache."""
    target = setting.target
    if target is not None and target.attention == "hybrid":
        return Kind.MLA if target.latent else Kind.DENSE
    return kind_of_target(setting)


def _is_told(setting: Setting) -> bool:
    """Whether a known-bad combination says what to name."""
    return any(row.target for row in _rows(setting))


def _suits_target(setting: Setting, name: str) -> bool:
    engine = setting.spec.engine.model_copy(update={"attention_backend": name})
    named = replace(setting, spec=setting.spec.model_copy(update={"engine": engine}))
    if _rows(named):
        return False
    uneven = BACKENDS[name].uneven
    return not _is_adaptive(setting) or (uneven is not None and uneven.holds(setting.version))


def _suits_drafter(candidate: Candidate, name: str) -> bool:
    drafter = candidate.drafter.model_copy(update={"attention_backend": name})
    return not any(row.draft for row in of_drafter(replace(candidate, drafter=drafter), ABOUT_BACKENDS))


def _is_adaptive(setting: Setting) -> bool:
    options = [drafter.options or {} for drafter in setting.spec.drafters or []]
    return any(as_switch(each.get("enable_adaptive_verification")) for each in options)


def _rows(setting: Setting) -> tuple[KnownBad, ...]:
    """Combinations about backends that are met; one drafter of each kind is asked about."""
    kinds = {
        (drafter.method, drafter.num_speculative_tokens): Candidate(setting, index, drafter, None, None)
        for index, drafter in enumerate(setting.spec.drafters or [])
    }
    drafters = (row for each in kinds.values() for row in of_drafter(each, ABOUT_BACKENDS))
    return (*of_spec(setting, ABOUT_BACKENDS), *drafters)


RULES: tuple[Rule, ...] = (TARGET_NOT_NAMED, DRAFTER_NOT_NAMED)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_target,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = (_check_drafter,)
