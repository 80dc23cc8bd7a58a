"""Which checkpoints of the catalogue are targets, which heads, which small models. `rules` asks here."""

from typing import NamedTuple

from .catalogue.entries import Checkpoint, Target
from .catalogue.variants import original_of
from .options import PATH_METHODS
from .setting import Candidate, Setting

# Methods whose checkpoint is a head: some layers that read a target's hidden states.
HEADS = ("eagle", "eagle3", "dflash", "dspark")
# Families that vLLM drafts with as they are. Of others that have mtp layers it takes those, and the method
# for mtp, whatever was asked for.
_WHOLE = ("gpt-oss", "laguna", "llama3", "qwen3")


class SmallModel(NamedTuple):
    """A model that is served by itself, as a drafter. `vocabulary`: in tokens; None: unknown. `is_read`:
    whether that is of its config.json."""

    vocabulary: int | None
    is_read: bool


def small_model(candidate: Candidate) -> SmallModel | None:
    """What the catalogue knows of the model that a draft_model drafter names: as a drafter, or as a target;
    None where it knows none, or vLLM takes it for another method's checkpoint."""
    name, known = candidate.drafter.model, candidate.known
    if candidate.drafter.method != "draft_model" or name is None or _is_taken(name):
        return None
    if known is not None and known.method == "draft_model" and known.vocabulary is not None:
        return SmallModel(known.vocabulary, known.config is not None)
    found = drafter_as_target(candidate)
    if found is None or found.family not in _WHOLE:
        return None
    by_name = found.model != name or (
        name == candidate.setting.spec.model and candidate.setting.taken_for is not None
    )
    return SmallModel(found.vocabulary, found.config is not None and not by_name)


def drafter_as_target(candidate: Candidate) -> Target | None:
    """The target that a drafter names, or names a build of; None: the catalogue has none."""
    return _listed(candidate) or original_of(candidate.drafter.model or "", candidate.setting.catalogue)


def _listed(candidate: Candidate) -> Target | None:
    """The target that a drafter names."""
    return next((t for t in candidate.setting.catalogue if t.model == candidate.drafter.model), None)


def _is_taken(name: str) -> bool:
    return any(word in name.lower() for word, _ in PATH_METHODS)


def head_for(setting: Setting) -> tuple[Target, Checkpoint] | None:
    """The target that spec.model is a draft checkpoint of, where it can't serve by itself.

    None: it is none, or a small model, which can.
    """
    if setting.target is not None:
        return None
    entries = ((target, each) for target in setting.catalogue for each in target.drafters)
    return next(
        (
            (target, each)
            for target, each in entries
            if each.model == setting.spec.model and each.method != "draft_model"
        ),
        None,
    )


def is_whole_model(candidate: Candidate) -> bool:
    """Whether a head is asked for and a model to serve is named: the target itself, or one of the catalogue.

    Not where that target has the method's layers in it, which vLLM takes under the target's name too; of one
    that is not catalogued nobody knows.
    """
    drafter, setting = candidate.drafter, candidate.setting
    if drafter.method not in HEADS or drafter.model is None or candidate.homes:
        return False
    named = _listed(candidate)
    if named is None:
        return drafter.model == setting.spec.model and drafter.method != "dspark"
    return not any(each.method == drafter.method and each.model is None for each in named.drafters)
