"""What serves and what it is compared with: follows the spec, keeps what runs, falls back to the proven."""

from specdeploy.api.names import BASELINE
from specdeploy.api.status import BaselineStatus, EngineStatus, Serving, Status, Verdict, instant, seconds
from specdeploy.engine.revision import Arms, Template
from specdeploy.rollout.allocate import needed
from specdeploy.rollout.decision import Event
from specdeploy.rollout.retention import forgotten
from specdeploy.rollout.scene import Scene, promoting, roles_of
from specdeploy.rollout.scene import scene as read
from specdeploy.rollout.verdicts import best_runner_up, put_off, quarantined

Told = tuple[Status, tuple[Event, ...]]


def follow_spec(scene: Scene, status: Status) -> Told:
    """Let `serving` and `baseline` follow a valid spec. The spec always wins, but nothing that runs is
    restarted for the sake of a new renderer, and what serves on an older engine serves until its
    successor has its verdict."""
    arms = scene.arms
    if arms is None or not scene.valid:
        return status, ()
    status = _resolve_image(scene, status)
    status, moved = _follow_baseline(scene, arms, status)
    status = _note_left(scene, status)
    serving = status.serving
    if serving is None:
        first = _now_serving(BASELINE, "no drafter is proven yet")
        return _serve_baseline(scene, status), (*moved, first)
    if serving.name == BASELINE:
        # Also where a reversed promotion gave way to a baseline that the spec has left in between.
        behind = status.baseline is not None and serving.template != status.baseline.template
        return (_serve_baseline(scene, status) if behind else status), moved
    status, events = _follow_drafter(scene, status, serving)
    return status, (*moved, *events)


def _resolve_image(scene: Scene, status: Status) -> Status:
    """What an engine told of its version belongs to its image."""
    stored = status.engine or EngineStatus(image=None)
    if stored.image == scene.image:
        return status
    update = {"image": scene.image, "vllm_version": None}
    return status.model_copy(update={"engine": stored.model_copy(update=update)})


def keep_version(scene: Scene, status: Status) -> Status:
    """The status with what an engine with the image in force has told of its version."""
    told, stored = scene.seen.vllm_version, status.engine
    if told is None or stored is None or stored.image != scene.image or stored.vllm_version == told:
        return status
    return status.model_copy(update={"engine": stored.model_copy(update={"vllm_version": told})})


def _note_left(scene: Scene, status: Status) -> Status:
    """The status in which a drafter that serves, or that a promotion would go back to, knows since when the
    spec asks for another engine; edits that follow do not change it."""
    trial, serving = status.trial, status.serving
    update: dict[str, object] = {}
    if serving is not None and serving.name != BASELINE:
        update["serving"] = _left(scene, serving)
    if trial is not None and trial.fallback is not None and trial.fallback.name != BASELINE:
        update["trial"] = trial.model_copy(update={"fallback": _left(scene, trial.fallback)})
    return status.model_copy(update=update)


def _left(scene: Scene, serving: Serving) -> Serving:
    asked = scene.by_revision(serving.revision) is not None
    left = None if asked else serving.left_time or instant(scene.now)
    return serving if left == serving.left_time else serving.model_copy(update={"left_time": left})


def _follow_baseline(scene: Scene, arms: Arms, status: Status) -> Told:
    wanted, stored = arms.baseline, status.baseline
    if stored is not None and scene.wanted(stored.template) == wanted:
        return status, ()
    if stored is not None and stored.revision == wanted.revision:
        fresh = stored.model_copy(update={"template": wanted.hash})
        event = Event("Normal", "ShapeChanged", "the baseline moves to a new pod shape, pod by pod")
    else:
        fresh = BaselineStatus(revision=wanted.revision, template=wanted.hash, since=instant(scene.now))
        text = "the engine changed: the baseline moves to it, pod by pod"
        event = Event("Normal", "BaselineChanged", text)
    status = status.model_copy(update={"baseline": fresh})
    return status, () if stored is None else (event,)


def remake_edited(scene: Scene, status: Status) -> Told:
    """Give the edited arms that have a role a new name: pods move to it one by one, as to a new shape.
    Nothing is made from an invalid spec."""
    if not scene.valid:
        return status, ()
    serving, arm, engine = status.serving, status.baseline, status.engine or EngineStatus(image=None)
    edited = {d.template: d for d in scene.ours if d.edited and scene.wanted(d.template) is not None}
    found = {s.template for s in (serving, arm) if s is not None and s.template in edited}
    if not found:
        return status, ()
    remade = engine.model_copy(update={"remade": (engine.remade or 0) + 1})
    status = status.model_copy(update={"engine": remade})
    anew = read(scene.seen, status)
    update: dict[str, object] = {}
    for role, stored in (("serving", serving), ("baseline", arm)):
        template = anew.wanted(stored.template) if stored is not None else None
        if stored is not None and template is not None and stored.template in found:
            update[role] = stored.model_copy(update={"template": template.hash})
    names = ", ".join(sorted(edited[t].name for t in found))
    text = f"{names}, edited by hand, is made anew, pod by pod"
    return status.model_copy(update=update), (Event("Normal", "ArmRemade", text),)


def _serve_baseline(scene: Scene, status: Status) -> Status:
    """The status in which the baseline arm serves; it must be set."""
    old, arm = status.serving, status.baseline
    if arm is None:
        return status
    since = old.since if old is not None and old.name == BASELINE else instant(scene.now)
    serving = Serving(
        name=BASELINE, revision=arm.revision, template=arm.template, since=since, summary="1.00x"
    )
    return status.model_copy(update={"serving": serving})


def _follow_drafter(scene: Scene, status: Status, serving: Serving) -> Told:
    wanted = scene.by_revision(serving.revision)
    if wanted is not None:
        # What a check newly refuses, and runs, is not taken off for it; nor is it started in a new shape.
        if scene.wanted(serving.template) == wanted or scene.drafters.get(wanted.drafter):
            return status, ()
        text = f"{wanted.drafter} keeps its verdict and moves to a new pod shape, pod by pod"
        moved = serving.model_copy(update={"template": wanted.hash, "name": wanted.drafter})
        return status.model_copy(update={"serving": moved}), (Event("Normal", "ShapeChanged", text),)
    if promoting(status) is not None:  # its promotion ends, and what served before serves again (`trial`)
        return status, ()
    if succession(scene, status) is not None and scene.deployment(serving.template) is not None:
        return status, ()
    listed = scene.drafter(serving.name) is not None
    why = "is not proven on the engine that the spec asks for" if listed else "is no longer listed"
    return fall_back(scene, status, f"{serving.name} {why}")


def succession(scene: Scene, status: Status) -> Template | None:
    """The template that is to prove itself in place of a serving drafter whose engine the spec has
    changed: the listed drafter of the same name, while nothing is said of it, it has room for its trial,
    and its time is not up."""
    serving = status.serving
    if serving is None or serving.name == BASELINE or scene.by_revision(serving.revision) is not None:
        return None
    heir = scene.drafter(serving.name)
    if heir is None or scene.drafters.get(heir.drafter):
        return None
    if quarantined(status, heir, scene.now) and not put_off(status, heir):
        return None
    roles = roles_of(scene, status, heir.hash)
    if roles is None or scene.replicas < needed(roles) or scene.now >= succession_end(scene, serving):
        return None
    return heir


def succession_end(scene: Scene, serving: Serving) -> float:
    """When what serves on an old engine makes way, proven or not: a start-up and one deadline after the spec
    has left it."""
    spec = scene.spec
    if spec is None:
        return scene.now
    left = seconds(serving.left_time) if serving.left_time else scene.now
    return left + spec.engine.startup_seconds + spec.trial.total_deadline_seconds


def fall_back(scene: Scene, status: Status, why: str) -> Told:
    """Serve the best runner-up that still applies, else the baseline."""
    arm = status.baseline
    if scene.arms is None or arm is None:
        return status, ()
    status = status.model_copy(update={"baseline": forgotten(arm)})
    failed = status.serving.revision if status.serving else ""
    listed = [t for t in scene.arms.drafters if t.revision != failed and not scene.drafters.get(t.drafter)]
    found = best_runner_up(status, listed)
    if found is None:
        return _serve_baseline(scene, status), (_now_serving(BASELINE, why),)
    template, verdict = found
    named = verdict.model_copy(update={"drafter": template.drafter})
    took = status.serving.pod_seconds if status.serving else None
    serving = proven(named, template.hash, scene.now).model_copy(update={"pod_seconds": took})
    return status.model_copy(update={"serving": serving}), (_now_serving(template.drafter, why),)


def proven(verdict: Verdict, template: str, now: float) -> Serving:
    """What serves as this template, with the figures of the trial in which it proved itself."""
    summary = f"{float(verdict.ratio):.2f}x" if verdict.ratio else None
    if summary and verdict.lower and verdict.upper:
        summary += f" [{float(verdict.lower):.2f},{float(verdict.upper):.2f}]"
    return Serving(
        name=verdict.drafter,
        revision=verdict.revision,
        template=template,
        since=instant(now),
        speedup=verdict.ratio,
        lower=verdict.lower,
        upper=verdict.upper,
        summary=summary,
    )


def _now_serving(name: str, why: str) -> Event:
    return Event("Normal", "NowServing", f"{name} serves: {why}")
