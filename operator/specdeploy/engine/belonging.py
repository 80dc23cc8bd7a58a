"""Which checkpoints of the catalogue are targets and which are heads. `rules` asks here."""

from .catalogue.entries import Checkpoint, Target
from .setting import Candidate, Setting

# Methods whose checkpoint is a head: some layers that read a target's hidden states.
HEADS = ("eagle", "eagle3", "dflash", "dspark")


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
    named = next((each for each in setting.catalogue if each.model == drafter.model), None)
    if named is None:
        return drafter.model == setting.spec.model and drafter.method != "dspark"
    return not any(each.method == drafter.method and each.model is None for each in named.drafters)
