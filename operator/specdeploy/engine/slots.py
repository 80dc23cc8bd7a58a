"""Room that a drafter takes in a step's token budget, as vLLM counts it. `rules.combinations` compares it."""

from .kinds import as_switch
from .options import EAGLES
from .setting import Candidate
from .versions import since

# Up to 0.32 what must fit are the drafter's own new tokens, from then on the places it looks ahead.
_LOOKAHEAD = since("0.33")


def needed_slots(candidate: Candidate) -> int:
    """Tokens of which the step's budget (max_num_batched_tokens) must hold more than this."""
    return lookahead(candidate) if _LOOKAHEAD.holds(candidate.setting.version) else _new_tokens(candidate)


def lookahead(candidate: Candidate) -> int:
    """Cache places that a request needs beyond its own tokens: one more than the drafted ones for dflash."""
    drafter = candidate.drafter
    if drafter.method == "dflash":
        return drafter.num_speculative_tokens + 1
    return drafter.num_speculative_tokens if drafter.method in (*EAGLES, "draft_model") else 0


def limits_requests(candidate: Candidate) -> bool:
    """Whether this drafter lowers max_num_active_seqs to what its lookahead leaves room for."""
    return candidate.drafter.method in ("dflash", "dspark") and _LOOKAHEAD.holds(candidate.setting.version)


def _new_tokens(candidate: Candidate) -> int:
    drafter, parallel = candidate.drafter, as_switch(candidate.options.get("parallel_drafting"))
    tokens = drafter.num_speculative_tokens
    if drafter.method == "dflash":
        return tokens
    if drafter.method == "draft_model":
        return tokens if parallel else 1
    if drafter.method == "dspark" or (parallel and drafter.method in EAGLES):
        return tokens - 1
    return 0
