"""Room that a drafter takes in a step's token budget, as vLLM counts it. `rules.room` compares it.

The count has changed twice: up to 0.27 every request that may run had to fit, up to 0.32 one request, and
since then its lookahead. Source: VllmConfig and SpeculativeConfig of vLLM 0.18 to 0.33.
"""

from dataclasses import replace

from .kinds import as_switch
from .options import EAGLES
from .setting import Candidate
from .versions import between, since

_LOOKAHEAD = since("0.33")
_OF_ALL_REQUESTS = between(None, "0.28")


def needed_slots(candidate: Candidate, requests: int) -> int:
    """Tokens of which the step's budget (max_num_batched_tokens) has to hold more, with so many requests."""
    version = candidate.setting.version
    if _LOOKAHEAD.holds(version):
        return lookahead(candidate)
    if _OF_ALL_REQUESTS.holds(version):
        return _masked_tokens(candidate) * requests
    return _new_tokens(candidate)


def grows_with(candidate: Candidate, requests: int) -> tuple[str, ...]:
    """What these tokens grow with, so that less of it would help: as a spec names it."""
    needed, drafter = needed_slots(candidate, requests), candidate.drafter
    longer = drafter.model_copy(update={"num_speculative_tokens": drafter.num_speculative_tokens + 1})
    grown = {
        "numSpeculativeTokens": needed_slots(replace(candidate, drafter=longer), requests),
        "--max-num-seqs": needed_slots(candidate, requests + 1),
    }
    return tuple(name for name, tokens in grown.items() if tokens > needed)


def lookahead(candidate: Candidate) -> int:
    """Cache places that a request needs beyond its own tokens: one more than the drafted ones for dflash."""
    drafter = candidate.drafter
    if drafter.method == "dflash":
        return drafter.num_speculative_tokens + 1
    return drafter.num_speculative_tokens if drafter.method in (*EAGLES, "draft_model") else 0


def limits_requests(candidate: Candidate) -> bool:
    """Whether this drafter lowers max_num_active_seqs to what its lookahead leaves room for."""
    return candidate.drafter.method in ("dflash", "dspark") and _LOOKAHEAD.holds(candidate.setting.version)


def _masked_tokens(candidate: Candidate) -> int:
    """Tokens that one request adds to a step, as counted up to 0.27."""
    tokens, own = candidate.drafter.num_speculative_tokens, candidate.drafter.method == "draft_model"
    return (tokens - 1 if _is_parallel(candidate) else 0) + (1 if own else 0)


def _new_tokens(candidate: Candidate) -> int:
    """The same, as counted from 0.28 to 0.32."""
    at_once = candidate.drafter.method == "dflash"
    return candidate.drafter.num_speculative_tokens if at_once else _masked_tokens(candidate)


def _is_parallel(candidate: Candidate) -> bool:
    method = candidate.drafter.method
    return method in ("dflash", "dspark") or bool(as_switch(candidate.options.get("parallel_drafting")))
