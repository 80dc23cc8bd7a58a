"""The guard of output agreement: whose answers are read, what is kept of them, and what ends a trial.

The startup probe has the engine answer fixed questions into its log; `answers` reads them. The baseline's
are kept in status: the log of an old pod has long begun anew when the next trial starts.
"""

from collections.abc import Sequence

from specdeploy.api.reasons import Outcome, VerdictReason
from specdeploy.api.spec import Spec
from specdeploy.api.status import Status, TrialStatus
from specdeploy.engine.questions import QUESTION_SET
from specdeploy.judge.answers import Answers, pack, unpack
from specdeploy.judge.guards.agreement import Agreement, agreement
from specdeploy.rollout.decision import Ending
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.scene import Scene, staged

# One sick baseline pod must not speak against every drafter.
_BASELINE_PODS = 3


def to_be_heard(spec: Spec | None, status: Status, pods: Sequence[Pod]) -> tuple[Pod, ...]:
    """Pods whose answers matter now: one of the baseline's until its answers are stored; while a trial has
    pods, those and three of the baseline's. The youngest ones: logs begin anew some day."""
    if spec is None or not spec.guards.output_agreement.enabled or status.baseline is None:
        return ()
    ready = sorted((p for p in pods if p.ready and not p.terminating), key=lambda p: -p.created)
    tried, baseline = staged(status), status.baseline
    stored = bool(unpack(baseline.answers, QUESTION_SET))
    needed = _BASELINE_PODS if tried is not None else int(not stored)
    return (
        *[p for p in ready if p.template == baseline.template][:needed],
        *(p for p in ready if p.template == tried),
    )


def keep_answers(scene: Scene, status: Status) -> Status:
    """The status with what a pod of the baseline has answered, once one has."""
    arm = status.baseline
    if arm is None or unpack(arm.answers, QUESTION_SET):
        return status
    heard = _heard(scene, arm.template)
    kept = pack(heard[0], QUESTION_SET) if heard else None
    if arm.answers == kept:
        return status
    return status.model_copy(update={"baseline": arm.model_copy(update={"answers": kept})})


def disagreement(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> Ending | None:
    """The end of a trial with a pod that answers too many questions otherwise than every pod of the baseline
    that is known."""
    allowed = spec.guards.output_agreement.allowed_percent
    for found in _compared(scene, status, trial) if _guarded(scene, trial, spec) else ():
        if found.broken(allowed / 100):
            text = f"{trial.drafter}: {_sentence(found, allowed)}, rolled back"
            return Ending(Outcome.GUARDED, VerdictReason.OUTPUT_AGREEMENT, text)
    return None


def unseen(scene: Scene, status: Status, trial: TrialStatus, spec: Spec) -> str | None:
    """Why the answers of a trial were not compared; None where they were, or need not be."""
    if not _guarded(scene, trial, spec) or _compared(scene, status, trial):
        return None
    pods = {p.name for p in scene.pods(trial.template)}
    ours = next((why for name, why in scene.seen.unheard.items() if name in pods), None)
    why = ours or next(iter(scene.seen.unheard.values()), "no baseline pod was heard")
    return f"outputs were not compared: {why}"


def _guarded(scene: Scene, trial: TrialStatus, spec: Spec) -> bool:
    """Whether the guard is on; a drafter that is allowed to change what users read is not asked for it."""
    template = scene.wanted(trial.template)
    lossy = template is not None and template.config is not None and template.config.allow_lossy
    return spec.guards.output_agreement.enabled and not lossy


def _compared(scene: Scene, status: Status, trial: TrialStatus) -> tuple[Agreement, ...]:
    """For each pod of the trial, its answers beside the baseline's, where both answered something."""
    arm = status.baseline
    if arm is None:
        return ()
    baselines = (*_heard(scene, arm.template), unpack(arm.answers, QUESTION_SET))
    found = (agreement(ours, baselines) for ours in _heard(scene, trial.template))
    return tuple(each for each in found if each.compared)


def _heard(scene: Scene, template: str) -> list[Answers]:
    """What the pods of a template answered; those of an edited Deployment may be anything."""
    existing, answers = scene.deployment(template), scene.seen.answers
    if existing is None or existing.edited:
        return []
    return [answers[p.uid] for p in scene.pods(template) if answers.get(p.uid)]


def _sentence(found: Agreement, allowed: int) -> str:
    shown = found.differing[0]
    return (
        f"it answers {len(found.differing)} of {found.compared} fixed prompts otherwise than the baseline "
        f"({allowed} % may differ), by more than rounding explains; to {shown.question!r} the baseline wrote "
        f"{shown.baseline} and it wrote {shown.trial}: lossless speculation does not change answers"
    )
