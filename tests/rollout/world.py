"""A cluster in miniature and in virtual time: Deployments make pods, pods load, serve, drain and go.

The real `advance` and `plan` run over it, pass by pass, as the reconciler would run them. What happens is
written down as a transcript, one line for each change that a person would see.
"""

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from specdeploy.api.findings import Reading, read_spec, read_status
from specdeploy.api.reasons import Condition as Kind
from specdeploy.api.status import Condition, Status, instant
from specdeploy.engine.questions import QUESTIONS
from specdeploy.engine.revision import RENDER_VERSION
from specdeploy.judge import PodWindow, Window
from specdeploy.judge.answers import Answer, Answers
from specdeploy.rollout import Deployment, Exit, Observation, Plan, Pod, Step, advance, plan, quiet
from specdeploy.rollout.observation import Sign, Silence
from specdeploy.rollout.quiet import Kept, overlaid
from specdeploy.rollout.scene import arms_of
from specdeploy.rollout.stalls import Remade, with_stalls

START = 1_800_000_000.0
IMAGE = "vllm/vllm-openai-rocm:v0.33.0"
FREE_MEMORY = "ValueError: Free memory on device cuda:0 (11.6/192.0 GiB) on startup is less than desired"
NO_GPU = "0/1 nodes: Insufficient amd.com/gpu"
_WINDOWS = re.compile(r"(Measuring|Promoting) (\d+)(/\d+)?")


ANSWERS: Answers = {
    name: Answer(tuple(f" {name}-{place}" for place in range(8)), (3.0,) * 8) for name in QUESTIONS
}


def corrupted(*questions: str) -> Answers:
    """The answers, with another fourth token to these questions."""
    return {
        name: answer._replace(tokens=(*answer.tokens[:3], " ???", *answer.tokens[4:]))
        if name in questions
        else answer
        for name, answer in ANSWERS.items()
    }


@dataclass
class Engine:
    """How the engines of a drafter behave. Times in seconds.

    `speed`: relative to the baseline. `crash`: how each of its engines ends once it is loaded. `refusals`:
    how often a new pod's engine refuses its GPU before it takes it. `silent`: holds requests, gives no token.
    `never_created`: its container does not even start. `acceptance`: share of draft tokens accepted.
    `answers`: to the fixed questions; None: its log tells none.
    """

    speed: float = 1.0
    load: float = 20.0
    crash: Exit | None = None
    refusals: int = 0
    never_ready: bool = False
    never_created: bool = False
    silent: bool = False
    acceptance: float | None = None
    answers: Answers | None = field(default_factory=lambda: ANSWERS)


@dataclass
class LivePod:
    uid: str
    template: str
    drafter: str
    created: float
    placed: float | None = None
    leaves: float | None = None
    gone_by: float | None = None
    failing: float | None = None


@dataclass
class LiveDeployment:
    name: str
    template: str
    revision: str
    drafter: str
    shape: str
    replicas: int
    render_version: int = RENDER_VERSION
    manager: str = ""
    edited: bool = False


@dataclass
class World:
    """One SpecDeployment and its children. `step` runs one pass and lets the cluster follow.

    `load`: requests on each pod, relative to a mean batch of 1.7. `kept` and `written`: as the operator
    remembers quiet parts of the status; forgotten when it dies. `rotated`: pods whose answers are gone from
    their logs, and from the memory of the operator. `flapping`: a drafter of whose pods one after the other
    drops out of readiness. `unseen`: a drafter whose pods no scheduler looks at.
    """

    spec: dict[str, Any]
    engines: dict[str, Engine] = field(default_factory=dict)
    tick: float = 5.0
    drain: float = 10.0
    noise: float = 0.05
    gpus: int = 1000
    windows: bool = True
    traffic: bool = True
    load: float = 1.0
    slot_free: bool = True
    now: float = START
    image: str = IMAGE
    status: dict[str, Any] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    quota: dict[str, str] = field(default_factory=dict)
    taken: tuple[str, ...] = ()
    unreadable: dict[str, str] = field(default_factory=dict)
    crd_outdated: str | None = None
    vllm_version: str | None = None
    rotated: frozenset[str] = frozenset()
    flapping: str = ""
    unseen: str = ""
    deployments: dict[str, LiveDeployment] = field(default_factory=dict)
    pods: list[LivePod] = field(default_factory=list)
    transcript: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    writes: int = 0
    passes: int = 0
    generation: int = 1
    watch: Callable[["World"], None] | None = None
    next_check: float | None = None
    died: str = ""
    kept: Kept | None = None
    written: float = START
    _serial: int = 0
    _window: int = -1
    _line: str = ""
    _seen: object = None
    _spec: tuple[dict[str, Any], Reading] | None = None
    remade: Remade = field(default_factory=Remade)
    _signs: dict[tuple[str, int], Sign] = field(default_factory=dict)
    _read: tuple[dict[str, Any], tuple[Status, tuple[str, ...]]] | None = None

    def engine(self, drafter: str) -> Engine:
        return self.engines.get(drafter, Engine())

    # -- what a pass sees ---------------------------------------------------------------------------

    def observe(self) -> Observation:
        status, lost = self.known, self._stored()[1]
        heard = [p for p in self.pods if self.ready(p) and p.uid not in self.rotated]
        return Observation(
            now=self.now,
            name="gemma",
            namespace="default",
            uid="uid-1",
            generation=self.generation,
            created=START,
            reading=self._reading(),
            annotations=self.annotations,
            deployments=tuple(self._deployment(d) for d in self.deployments.values()),
            pods=self._seen_pods(),
            window=self._window_for(status),
            window_end=START + (self._index() + 1) * self.window_seconds if self.windows else None,
            slot_free=self.slot_free,
            default_image=self.image,
            taken=self.taken,
            refused=self.refused,
            unreadable=self.unreadable,
            answers={p.uid: found for p in heard if (found := self.engine(p.drafter).answers)},
            unheard={
                f"gemma-{p.drafter}-{p.uid}": f"the log of pod {p.uid} has no answers"
                for p in heard
                if not self.engine(p.drafter).answers
            },
            vllm_version=self.vllm_version,
            lost_status=lost,
            crd_outdated=self.crd_outdated,
        )

    def peek(self) -> Observation:
        """What the next pass will see; its window is not used up."""
        before = self._window
        seen = self.observe()
        self._window = before
        return seen

    def _reading(self) -> Reading:
        if self._spec is None or self._spec[0] is not self.spec:
            self._spec = (self.spec, read_spec(self.spec))
        return self._spec[1]

    @property
    def window_seconds(self) -> float:
        spec = self._reading().spec
        return float(spec.trial.window_seconds) if spec else 60.0

    def _index(self) -> int:
        return int((self.now - START) // self.window_seconds)

    def _deployment(self, d: LiveDeployment) -> Deployment:
        return Deployment(
            name=d.name, uid=f"uid-{d.name}", resource_version="1", template=d.template, revision=d.revision,
            drafter=d.drafter, shape=d.shape, render_version=d.render_version, replicas=d.replicas,
            replicas_manager=d.manager, edited=d.edited,
            failure=self.quota.get(d.drafter, ""),
        )  # fmt: skip

    def _loaded(self, pod: LivePod) -> float | None:
        """When its engine is up for the first time, failures left out."""
        engine = self.engine(pod.drafter)
        if pod.placed is None:
            return None
        return pod.placed + engine.load * (1 + engine.refusals)

    def ready(self, pod: LivePod) -> bool:
        loaded = self._loaded(pod)
        if loaded is None or pod.failing is not None or pod.leaves is not None:
            return False
        engine = self.engine(pod.drafter)
        return self.now >= loaded and not engine.never_ready and not engine.never_created

    def _pod(self, pod: LivePod) -> Pod:
        up = self.ready(pod)
        ready = up and pod is not self._dropped_out()
        restarts, ended = self._exit(pod)
        return Pod(
            name=f"gemma-{pod.drafter}-{pod.uid}",
            uid=pod.uid,
            template=pod.template,
            created=pod.created,
            ready=ready,
            ready_since=self._loaded(pod) if ready else None,
            terminating=pod.leaves is not None,
            gone_by=pod.leaves if pod.gone_by is None else pod.gone_by,
            started=up,
            running_since=self._running_since(pod),
            restarts=restarts,
            node=None if pod.placed is None else "n1",
            image_id="sha256:1",
            unschedulable=None if pod.placed or pod.drafter == self.unseen else NO_GPU,
            waiting=self._waiting(pod),
            exit=ended,
        )

    def _dropped_out(self) -> LivePod | None:
        up = [p for p in self.pods if p.drafter == self.flapping and self.ready(p)]
        return up[int(self.now // 10) % len(up)] if up else None

    def _waiting(self, pod: LivePod) -> tuple[str, str] | None:
        if self.engine(pod.drafter).never_created:
            return "ContainerCreating", "volume is attached elsewhere"
        return None if pod.failing is None else ("CrashLoopBackOff", "back-off")

    def _running_since(self, pod: LivePod) -> float | None:
        if pod.placed is None or self._waiting(pod) is not None:
            return None
        return pod.placed + self.engine(pod.drafter).load * self._exit(pod)[0]

    def _exit(self, pod: LivePod) -> tuple[int, Exit | None]:
        engine = self.engine(pod.drafter)
        if pod.failing is not None:
            return 1 + int((self.now - pod.failing) // 30), engine.crash
        if not engine.refusals or pod.placed is None:
            return 0, None
        done = min(engine.refusals, int((self.now - pod.placed) // engine.load))
        return done, Exit(1, "Error", FREE_MEMORY) if done else None

    def _window_for(self, status: Status) -> Window | None:
        index = self._index() - 1
        if not self.windows or index <= self._window or not any(self.ready(p) for p in self.pods):
            return None
        self._window = index
        self._note_silent()
        arms: dict[str, tuple[PodWindow, ...]] = {}
        roles = arms_of(status)
        for pod in self.pods:
            since = self._loaded(pod) or self.now
            if self.ready(pod) and since <= self.now - self.window_seconds and pod.template in roles:
                arm = roles[pod.template]
                arms[arm] = (*arms.get(arm, ()), self._pod_window(pod, index, self.now - since))
        return Window(index, self.window_seconds, arms if self.traffic else {})

    def _seen_pods(self) -> tuple[Pod, ...]:
        told = with_stalls((self._pod(p) for p in self.pods), self._signs, self.remade)
        self.remade = self.remade.after(told)
        return told

    def _note_silent(self) -> None:
        """As the operator remembers it from reading to reading."""
        before, self._signs = self._signs, {}
        for pod in self.pods:
            key, silent = (pod.uid, 0), self.engine(pod.drafter).silent
            if self.ready(pod):
                known = before.get(key)
                first = known.silence.since if known and known.silence else self.now
                silence = Silence(first, self.now - first) if silent else None
                self._signs[key] = Sign(30.0 + self.now - first if silent else 0.0, not silent, silence)

    def _pod_window(self, pod: LivePod, index: int, age: float) -> PodWindow:
        engine = self.engine(pod.drafter)
        luck = random.Random(f"{pod.uid} {index}").gauss(0, self.noise)
        tokens, requests = 100.0 * self.window_seconds * self.load, 20.0 * self.load
        return PodWindow(
            pod=pod.uid,
            seconds=self.window_seconds,
            generation_tokens=0.0 if engine.silent else tokens + requests,
            first_tokens=0.0 if engine.silent else requests,
            itl_seconds=0.0 if engine.silent else tokens / (60.0 * engine.speed * (1 + luck)),
            requests_running=3.0,
            requests_waiting=0.0,
            finished_since_ready=1000.0,
            ready_seconds=age,
            draft_tokens=None if engine.acceptance is None else 1000.0,
            accepted_tokens=None if engine.acceptance is None else 1000.0 * engine.acceptance * (1 + luck),
        )

    # -- one pass -----------------------------------------------------------------------------------

    def decide(self) -> tuple[Observation, Step]:
        """Observe and decide, as the operator does, and store the status."""
        seen = self.observe()
        step = advance(seen, self.known)
        self._store(step.status)
        self.passes += 1
        self.next_check = step.next_check
        for event in step.events:
            self.events.append(f"{event.type}/{event.reason}: {event.message}")
            self._say(f"  {self.events[-1]}")
        return seen, step

    def _store(self, status: Status) -> None:
        """As the operator does: quiet parts alone are kept in memory for a while."""
        stored, wire = self.typed, status.wire()
        if wire == self.status:
            return
        fresh = 0 <= self.now - self.written < quiet.SECONDS
        if fresh and quiet.loud(status) == quiet.loud(stored) and stored.wire() == self.status:
            self.kept = Kept(stored, status)
            return
        self.status, self.kept, self.written = wire, None, self.now
        self.writes += 1

    def step(self, *, dies: str = "") -> None:
        """One pass of the operator, then the cluster follows for one tick. `dies`: "before" its writes to
        the children, or "between" them."""
        seen, _ = self.decide()
        self.died = dies
        if dies != "before":
            self._apply(plan(seen, self.known), whole=dies != "between")
        if dies:
            self.kept, self.written = None, self.now
        self._show()
        self.follow()

    def _apply(self, todo: Plan, *, whole: bool) -> None:
        for gone in todo.delete:
            del self.deployments[gone.template]
        for existing, replicas in todo.scale if whole else todo.scale[:1]:
            live = self.deployments[existing.template]
            live.replicas, live.manager = replicas, ""
        for template, replicas in todo.create if whole else ():
            if template.hash not in self.refused:
                self.deployments[template.hash] = LiveDeployment(
                    f"gemma-{template.drafter}-{template.hash}", template.hash, template.revision,
                    template.drafter, template.shape, replicas,
                )  # fmt: skip

    def follow(self) -> None:
        """The controllers, the scheduler and the kubelet do their part; time passes."""
        for deployment in self.deployments.values():
            mine = [p for p in self.pods if p.template == deployment.template and p.leaves is None]
            missing = 0 if deployment.drafter in self.quota else deployment.replicas - len(mine)
            for _ in range(missing):
                self._serial += 1
                self.pods.append(
                    LivePod(f"p{self._serial}", deployment.template, deployment.drafter, self.now)
                )
            surplus = len(mine) - deployment.replicas
            for pod in sorted(mine, key=self.ready)[: max(0, surplus)]:
                pod.leaves = self.now + self.drain
        for pod in self.pods:
            if pod.drafter == self.unseen:
                continue
            if pod.placed is None and sum(p.placed is not None for p in self.pods) < self.gpus:
                pod.placed = self.now
            self._fail(pod)
        if self.watch is not None:
            self.watch(self)
        self.now += self.tick
        orphans = [p for p in self.pods if p.template not in self.deployments]
        self.pods = [p for p in self.pods if p not in orphans and (p.leaves is None or p.leaves > self.now)]

    def _fail(self, pod: LivePod) -> None:
        loaded = self._loaded(pod)
        crash = self.engine(pod.drafter).crash is not None
        if crash and pod.failing is None and loaded is not None and self.now + self.tick >= loaded:
            pod.failing = self.now + self.tick
        if not crash:
            pod.failing = None

    def run(self, seconds: float, until: Callable[["World"], bool] | None = None) -> "World":
        end = self.now + seconds
        while self.now < end and not (until and until(self)):
            self.step()
        return self

    def settle(self, seconds: float = 20000) -> "World":
        """Until nothing is on trial, nothing is due and every pod is where it should be."""
        return self.run(seconds, lambda w: w.idle())

    def run_lazily(self, seconds: float) -> "World":
        """As the work queue does: a pass only when an object has changed, or when one was asked for."""
        end = self.now + seconds
        while self.now < end:
            state = (
                [vars(d).copy() for d in self.deployments.values()],
                [self._pod(p) for p in self.pods],
                self.spec, dict(self.annotations), self.status,
            )  # fmt: skip
            if state != self._seen or (self.next_check is not None and self.now >= self.next_check):
                self._seen = state
                self.step()
            else:
                self.follow()
        return self

    # -- what others do -----------------------------------------------------------------------------

    def change(self, **spec: Any) -> "World":
        self.spec = {**self.spec, **spec}
        self.generation += 1
        return self

    def delete_deployment(self, drafter: str) -> None:
        gone = next(t for t, d in self.deployments.items() if d.drafter == drafter)
        del self.deployments[gone]
        self.pods = [p for p in self.pods if p.template != gone]

    def edit_deployment(self, drafter: str) -> None:
        next(d for d in self.deployments.values() if d.drafter == drafter).edited = True

    def delete_pod(self, drafter: str) -> None:
        pod = next(p for p in self.pods if p.drafter == drafter and p.leaves is None)
        pod.leaves = self.now + self.drain

    def lose_node(self, drafter: str) -> None:
        """The node of one of its pods dies: the pod stays Terminating, and takes up its place, for ever."""
        pod = next(p for p in self.pods if p.drafter == drafter and self.ready(p))
        pod.gone_by, pod.leaves = self.now + self.drain, float("inf")

    def clock_ahead(self, by: float, lasting: float) -> "World":
        """The operator's clock is ahead for a while, and then right again: its windows have other numbers."""
        self.now += by
        self.run(lasting)
        self.now -= by
        for pod in self.pods:  # those were made by the right clock
            pod.created = min(pod.created, self.now)
            pod.placed = None if pod.placed is None else min(pod.placed, self.now)
        self._window = self._index() - 1
        return self

    def annotate(self, verb: str, drafter: str = "") -> None:
        value = instant(self.now) + (f"/{drafter}" if drafter else "")
        self.annotations = {**self.annotations, f"specdeploy.dev/{verb}": value}

    # -- what a person sees -------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        self.transcript.append(f"{self.now - START:6.0f}s {text}")

    def note(self, text: str) -> None:
        self._say(f"# {text}")

    def _show(self) -> None:
        status = self.typed
        pods = " ".join(f"{name}={n}" for name, n in sorted(self.replicas().items()))
        ready = status.condition(Kind.READY)
        serving = status.serving
        line = " | ".join(
            [
                status.capacity.summary if status.capacity else "-",
                serving.name if serving else "-",
                (status.trial.summary if status.trial else None) or "-",
                (serving.summary if serving else None) or "-",
                ready.reason if ready else "-",
                pods or "no pods",
            ]
        )
        tens = _WINDOWS.sub(lambda found: f"{found[1]} {int(found[2]) // 10}", line)
        if tens != self._line:
            self._line = tens
            self._say(line)

    @property
    def typed(self) -> Status:
        return self._stored()[0]

    @property
    def known(self) -> Status:
        """The stored status, with what the operator remembers since."""
        return overlaid(self.typed, self.kept)

    def _stored(self) -> tuple[Status, tuple[str, ...]]:
        """What can be read of the stored status, as after a restart; and what can't."""
        if self._read is None or self._read[0] is not self.status:
            self._read = (self.status, read_status(self.status))
        return self._read[1]

    @property
    def state(self) -> str:
        return str(self.typed.trial.state) if self.typed.trial else "-"

    def condition(self, kind: Kind) -> Condition:
        found = self.typed.condition(kind)
        assert found is not None
        return found

    def reason(self, kind: Kind) -> str:
        return self.condition(kind).reason

    def verdicts(self) -> Mapping[str, str]:
        return {v.drafter: v.outcome.value for v in reversed(self.typed.verdicts or [])}

    def serving(self) -> str:
        return self.typed.serving.name if self.typed.serving else "-"

    def replicas(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for d in self.deployments.values():
            if d.replicas:
                counts[d.drafter] = counts.get(d.drafter, 0) + d.replicas
        return counts

    def checking(self) -> bool:
        """Whether a re-check of what serves runs."""
        return self.typed.baseline is not None and self.typed.baseline.check is not None

    @property
    def next_recheck(self) -> str | None:
        return self.typed.baseline.next_check_time if self.typed.baseline else None

    def idle(self) -> bool:
        settled = self.typed.condition(Kind.PROGRESSING)
        due = self.typed.condition(Kind.TRIALING)
        return (
            self.typed.trial is None
            and settled is not None
            and settled.status == "False"
            and due is not None
            and due.reason != "NotReady"
            and not any(p.leaves for p in self.pods)
            and self.now > START
        )


def drafter(name: str, method: str = "eagle3", n: int = 3) -> dict[str, Any]:
    return {"name": name, "method": method, "model": f"org/{name}", "numSpeculativeTokens": n}


def spec(*drafters: dict[str, Any], replicas: int = 4, **more: Any) -> dict[str, Any]:
    trial = {"windowSeconds": 10, "warmupSeconds": 20, "deadlineSeconds": 1200, **more.pop("trial", {})}
    return {"model": "org/target", "replicas": replicas, "drafters": list(drafters), "trial": trial, **more}
