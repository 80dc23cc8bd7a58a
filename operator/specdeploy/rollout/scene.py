"""A scene: one observation, read once. What every check of a decision looks at.

Flow: observation -> scene -> (serving, trial, conditions) -> step.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from specdeploy import judge
from specdeploy.api.findings import Reading
from specdeploy.api.names import ANNOTATION_PAUSED, BASELINE
from specdeploy.api.reasons import TrialState
from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec
from specdeploy.api.status import Status, TrialStatus
from specdeploy.engine.catalogue.load import Own
from specdeploy.engine.checks import check_drafters, check_spec
from specdeploy.engine.hashing import short_hash
from specdeploy.engine.revision import Arms, Template, templates
from specdeploy.engine.versions import Version, parse_version
from specdeploy.rollout.allocate import Roles, allocate
from specdeploy.rollout.observation import Deployment, Observation, Pod

# States in which the trial has pods of its own.
ON_STAGE = frozenset({TrialState.STARTING, TrialState.WARMING_UP, TrialState.MEASURING})
# The revision of a drafter that can't be read: it has none.
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Scene:
    """An observation with what follows from it without deciding anything."""

    seen: Observation
    spec: Spec | None
    image: str
    arms: Arms | None
    findings: tuple[Finding, ...] = ()
    drafters: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def now(self) -> float:
        return self.seen.now

    @property
    def valid(self) -> bool:
        """Whether the current spec may be acted on."""
        return self.arms is not None and not self.findings

    @property
    def paused(self) -> bool:
        annotated = self.seen.annotations.get(ANNOTATION_PAUSED, "").lower() in ("true", "1", "yes")
        return annotated or (self.spec is not None and self.spec.paused)

    @property
    def replicas(self) -> int:
        if self.spec is not None:
            return self.spec.replicas
        known = self.seen.reading.replicas
        return known if known is not None else sum(d.replicas for d in self.ours)

    @property
    def listed(self) -> frozenset[str]:
        """Revisions that the spec gives now: their verdicts are kept."""
        return frozenset({UNREADABLE, *(t.revision for t in self._known())})

    @property
    def ours(self) -> tuple[Deployment, ...]:
        return tuple(d for d in self.seen.deployments if d.ours and not d.deleting)

    def deployment(self, template: str) -> Deployment | None:
        return next((d for d in self.ours if d.template == template), None)

    def pods(self, template: str, *, terminating: bool = False) -> tuple[Pod, ...]:
        """Pods of a template; those that are leaving only on demand."""
        return tuple(
            p for p in self.seen.pods if p.template == template and (terminating or not p.terminating)
        )

    def drafter(self, name: str) -> Template | None:
        """The template that the spec gives a drafter of this name now."""
        listed = self.arms.drafters if self.arms else ()
        return next((t for t in listed if t.drafter == name), None)

    def by_revision(self, revision: str) -> Template | None:
        """The template that the spec gives a revision now; None when no drafter (nor the baseline) has it."""
        return next((t for t in self._known() if t.revision == revision), None)

    def buildable(self, template: str) -> Template | None:
        """The template of this hash, if the current spec still says how to build it."""
        return next((t for t in self._known() if t.hash == template), None)

    def wanted(self, template: str) -> Template | None:
        """The spec's template behind a stored hash: the same one, or one of the same inputs whose Deployment
        was rendered by another version of the operator. None: the spec wants this no more."""
        existing = self.deployment(template)
        shape = existing.shape if existing is not None else None
        return next((t for t in self._known() if t.hash == template or t.shape == shape), None)

    def _known(self) -> tuple[Template, ...]:
        return () if self.arms is None else (self.arms.baseline, *self.arms.drafters)


def scene(seen: Observation, status: Status) -> Scene:
    """Read an observation: resolve the image, derive the templates, find what is wrong."""
    image = _image(seen.reading.spec, status, seen.default_image)
    remade = status.engine.remade if status.engine else None
    meant = _meant(seen.reading, seen.name, image, remade, _version(seen, status, image), seen.catalogue)
    return Scene(seen, seen.reading.spec, image, meant.arms, meant.findings, meant.drafters)


@dataclass(frozen=True)
class _Meant:
    """What a spec means with an image: its templates, what is wrong with it, and with which drafter."""

    arms: Arms | None
    findings: tuple[Finding, ...]
    drafters: Mapping[str, tuple[Finding, ...]]


@lru_cache(maxsize=64)  # a pass asks several times for the same, and hashing templates is most of its work
def _meant(
    reading: Reading, name: str, image: str, remade: int | None, version: Version | None, own: Own
) -> _Meant:
    spec = reading.spec
    if spec is None:
        return _Meant(None, reading.findings, {})
    wrong = check_drafters(spec, image, version, own.targets)
    for drafter, finding in reading.drafters:
        wrong[drafter] = (*wrong.get(drafter, ()), finding)
    findings = (*reading.findings, *check_spec(spec, image, version, own.targets))
    return _Meant(_remade(templates(name, spec, image), remade), findings, wrong)


def _remade(arms: Arms, times: int | None) -> Arms:
    """The arms under the names that they have after being made anew `times` times. A Deployment of an older
    name stays what it is: it is known by its shape (`wanted`)."""
    if not times:
        return arms

    def again(template: Template) -> Template:
        return replace(template, hash=short_hash({"template": template.hash, "remade": times}))

    return Arms(again(arms.baseline), tuple(again(d) for d in arms.drafters))


def _image(spec: Spec | None, status: Status, default: str) -> str:
    """The spec's image; else the one resolved at first sight, so that a new operator never rolls a fleet."""
    if spec is not None and spec.engine.image:
        return spec.engine.image
    stored = status.engine.image if status.engine else None
    return stored or default


def _version(seen: Observation, status: Status, image: str) -> Version | None:
    """vLLM's version as an engine with this image has told it."""
    stored = status.engine.vllm_version if status.engine and status.engine.image == image else None
    told = stored or seen.vllm_version
    return parse_version(told) if told else None


def staged(status: Status) -> str | None:
    """The template of the trial, while it has pods of its own."""
    trial = status.trial
    return trial.template if trial is not None and trial.state in ON_STAGE else None


def arms_of(status: Status) -> dict[str, str]:
    """Template -> arm. Where the baseline serves, its pods are the baseline arm; a promotion's fallback that
    is another drafter belongs to none."""
    arms: dict[str, str] = {}
    if status.trial is not None:
        arms[status.trial.template] = judge.TRIAL
    if status.serving is not None:
        arms[status.serving.template] = judge.BASELINE if status.serving.name == BASELINE else judge.SERVING
    if status.baseline is not None:
        arms[status.baseline.template] = judge.BASELINE
    return arms


def promoting(status: Status) -> TrialStatus | None:
    """The trial whose drafter takes over, while it does."""
    trial = status.trial
    return trial if trial is not None and trial.state is TrialState.PROMOTING else None


def holds_back(status: Status) -> bool:
    """Whether baseline pods run beside what serves: unless they were given back until they are needed."""
    arm = status.baseline
    if arm is None or arm.retention != "Trials":
        return True
    needed = staged(status) or promoting(status) or arm.check or arm.until
    return needed is not None


def roles_of(scene: Scene, status: Status, trial: str | None) -> Roles | None:
    """Who has which role; None before anything serves."""
    if status.serving is None or status.baseline is None:
        return None
    spec = scene.spec
    return Roles(
        serving=status.serving.template,
        baseline=status.baseline.template,
        trial=trial,
        baseline_replicas=spec.baseline.replicas if spec else 1,
        trial_replicas=spec.trial.replicas if spec else 1,
    )


def wanted_counts(scene: Scene, status: Status) -> Mapping[str, int]:
    """Pods per template in the end, by what is stored; in a promotion, in the end of its step."""
    roles = _roles_now(scene, status)
    return {} if roles is None else allocate(scene.replicas, _in_step(scene, status, roles))


def served_pods(scene: Scene, status: Status) -> int:
    """Pods that serve beside baseline and trial, those of a promotion's fallback included."""
    roles = _roles_now(scene, status)
    return 0 if roles is None else allocate(scene.replicas, roles)[roles.serving]


def _roles_now(scene: Scene, status: Status) -> Roles | None:
    roles = roles_of(scene, status, staged(status))
    return roles if roles is None or holds_back(status) else replace(roles, baseline_replicas=0)


def _in_step(scene: Scene, status: Status, roles: Roles) -> Roles:
    """The roles with what served before, while a promotion shares the pods with it and it can be made."""
    trial = promoting(status)
    if trial is None or trial.fallback is None or trial.step is None:
        return roles
    old = trial.fallback.template
    if scene.deployment(old) is None and scene.buildable(old) is None:
        return roles
    return replace(roles, fallback=old, percent=trial.step)


def settled(scene: Scene, status: Status) -> bool:
    """Whether every pod is where `allocate` wants it, and ready."""
    counts = wanted_counts(scene, status)
    here = [p for p in scene.seen.pods if not p.terminating]
    if any(not p.ready for p in here) or len(here) != sum(counts.values()):
        return False
    return all(len(scene.pods(template)) == n for template, n in counts.items())
