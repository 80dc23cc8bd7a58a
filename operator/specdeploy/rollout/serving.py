"""What serves and what it is compared with: follows the spec, keeps what runs, falls back to the proven."""

from specdeploy.api.names import BASELINE
from specdeploy.api.status import BaselineStatus, EngineStatus, Serving, Status, Verdict, instant
from specdeploy.engine.revision import Arms, Template
from specdeploy.rollout.decision import Event
from specdeploy.rollout.scene import Scene
from specdeploy.rollout.verdicts import best_runner_up, quarantined


def follow_spec(scene: Scene, status: Status) -> tuple[Status, tuple[Event, ...]]:
    """Let `serving` and `baseline` follow a valid spec. The spec always wins, but nothing that runs is
    restarted for the sake of a new renderer, and what serves on an older engine serves until its
    successor is proven."""
    arms = scene.arms
    if arms is None or not scene.valid:
        return status, ()
    status = _resolve_image(scene, status)
    status, moved = _follow_baseline(scene, arms, status)
    serving = status.serving
    if serving is None:
        return _serve_baseline(scene, arms, status), (
            *moved,
            _now_serving(BASELINE, "no drafter is proven yet"),
        )
    if serving.name == BASELINE:
        return (_serve_baseline(scene, arms, status) if moved else status), moved
    status, events = _follow_drafter(scene, status, serving)
    return status, (*moved, *events)


def _resolve_image(scene: Scene, status: Status) -> Status:
    stored = status.engine.image if status.engine else None
    if stored == scene.image:
        return status
    return status.model_copy(update={"engine": EngineStatus(image=scene.image)})


def current(scene: Scene, stored: str, wanted: Template) -> bool:
    """Whether the stored template is what the spec wants: the same hash, or the same inputs rendered by
    an older operator."""
    if stored == wanted.hash:
        return True
    existing = scene.deployment(stored)
    return existing is not None and existing.shape == wanted.shape


def _follow_baseline(scene: Scene, arms: Arms, status: Status) -> tuple[Status, tuple[Event, ...]]:
    wanted, stored = arms.baseline, status.baseline
    if stored is not None and current(scene, stored.template, wanted):
        return status, ()
    same_engine = stored is not None and stored.revision == wanted.revision
    trials = stored.trials if stored is not None and same_engine else 0
    fresh = BaselineStatus(revision=wanted.revision, template=wanted.hash, trials=trials)
    status = status.model_copy(update={"baseline": fresh})
    if stored is None:
        return status, ()
    what = "pods get another shape" if same_engine else "the engine changed"
    text = f"{what}: the baseline moves from {stored.revision} to {wanted.revision}, pod by pod"
    return status, (Event("Normal", "BaselineChanged", text),)


def _serve_baseline(scene: Scene, arms: Arms, status: Status) -> Status:
    old = status.serving
    since = old.since if old is not None and old.name == BASELINE else instant(scene.now)
    serving = Serving(
        name=BASELINE,
        revision=arms.baseline.revision,
        template=arms.baseline.hash,
        since=since,
        summary="1.00x",
    )
    return status.model_copy(update={"serving": serving})


def _follow_drafter(scene: Scene, status: Status, serving: Serving) -> tuple[Status, tuple[Event, ...]]:
    wanted = scene.by_revision(serving.revision)
    if wanted is not None and wanted.drafter == BASELINE:
        wanted = None
    if wanted is not None and not scene.drafters.get(wanted.drafter):
        if current(scene, serving.template, wanted) and serving.name == wanted.drafter:
            return status, ()
        text = f"{wanted.drafter} keeps its verdict and moves to a new pod shape, pod by pod"
        moved = serving.model_copy(update={"template": wanted.hash, "name": wanted.drafter})
        return status.model_copy(update={"serving": moved}), (Event("Normal", "ShapeChanged", text),)
    if succession(scene, status) is not None and scene.deployment(serving.template) is not None:
        return status, ()  # it serves on its old engine until its successor has a verdict
    why = f"{serving.name} as it served is no longer listed"
    return fall_back(scene, status, why)


def succession(scene: Scene, status: Status) -> Template | None:
    """The template that is to prove itself in place of a serving drafter whose engine the spec has
    changed: the listed drafter of the same name, unless it has its verdict already."""
    serving = status.serving
    if serving is None or serving.name == BASELINE or scene.by_revision(serving.revision) is not None:
        return None
    heir = scene.drafter(serving.name)
    if heir is None or scene.drafters.get(heir.drafter) or quarantined(status, heir, scene.now):
        return None
    return heir


def fall_back(scene: Scene, status: Status, why: str) -> tuple[Status, tuple[Event, ...]]:
    """Serve the best runner-up that still applies, else the baseline."""
    if scene.arms is None:
        return status, ()
    failed = status.serving.revision if status.serving else ""
    listed = [t for t in scene.arms.drafters if t.revision != failed and not scene.drafters.get(t.drafter)]
    found = best_runner_up(status, listed)
    if found is None:
        return _serve_baseline(scene, scene.arms, status), (_now_serving(BASELINE, why),)
    template, verdict = found
    serving = proven(template, verdict, scene.now)
    return status.model_copy(update={"serving": serving}), (_now_serving(template.drafter, why),)


def proven(template: Template, verdict: Verdict, now: float) -> Serving:
    """What serves, with the figures of the trial in which it proved itself."""
    summary = f"{float(verdict.ratio):.2f}x" if verdict.ratio else None
    if summary and verdict.lower and verdict.upper:
        summary += f" [{float(verdict.lower):.2f},{float(verdict.upper):.2f}]"
    return Serving(
        name=template.drafter,
        revision=template.revision,
        template=template.hash,
        since=instant(now),
        speedup=verdict.ratio,
        lower=verdict.lower,
        upper=verdict.upper,
        summary=summary,
    )


def _now_serving(name: str, why: str) -> Event:
    return Event("Normal", "NowServing", f"{name} serves: {why}")
