"""What was seen in one pass: the only input of a decision besides the stored status.

The reconciler fills it from live reads; tests write it by hand.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from specdeploy.api.findings import Reading
from specdeploy.engine.catalogue.load import NONE_OWN, Own
from specdeploy.judge import Window
from specdeploy.judge.answers import Answers

# What is over by then is nothing that a person need know. In seconds.
HICCUP_SECONDS = 20.0


@dataclass(frozen=True)
class Exit:
    """How an engine container ended last. `message` is its last words (the termination message); `ran`: how
    long it had run, loading included, in seconds; None where that is not told."""

    code: int
    reason: str
    message: str
    ran: float | None = None


@dataclass(frozen=True)
class Unmade:
    """A Deployment that could not be made, for a reason that may pass (rights, a quota, a broken webhook):
    since when (seconds since the epoch), and the API server's words."""

    since: float
    words: str


@dataclass(frozen=True)
class Silence:
    """A pod in which nothing has moved although somebody waits for it.

    `since`: the first reading of them all (seconds since the epoch); `seconds`: from there to the last.
    `asked`: it has left the operator's question for one token unanswered; else it takes no questions, and
    shows requests.
    """

    since: float
    seconds: float
    asked: bool = True


@dataclass(frozen=True)
class Sign:
    """Of life, at the last reading of a pod. `quiet`: seconds in which nothing was seen to move; `moves`:
    something was, since the reading before."""

    quiet: float
    moves: bool
    silence: Silence | None = None


@dataclass(frozen=True, kw_only=True)
class Pod:
    """One engine pod of ours that has not finished. Instants are seconds since the epoch.

    `gone_by`: until when it may take to leave, while it is `terminating` (its deletionTimestamp). `started`:
    its engine came up once (the startup probe passed). `unschedulable`: why it gets no node, in the words of
    the scheduler or of whoever holds it back from one.
    `waiting`: reason and message of a container that does not run (yet). `running_since`: since when the
    engine's container runs; its budget to become ready counts from here. `silence`: of one that stands
    still, whatever it says of itself; `dead`: so do all of its Deployment, for long. `quiet`: seconds in
    which nothing was seen to move in it, None while that is not known; `moves`: something was, at the last
    reading.
    """

    name: str
    uid: str
    template: str
    created: float
    ready: bool = False
    ready_since: float | None = None
    terminating: bool = False
    gone_by: float | None = None
    started: bool = False
    running_since: float | None = None
    restarts: int = 0
    node: str | None = None
    image_id: str | None = None
    gpu: str | None = None
    unschedulable: str | None = None
    waiting: tuple[str, str] | None = None
    exit: Exit | None = None
    silence: Silence | None = None
    dead: bool = False
    quiet: float | None = None
    moves: bool = False

    @property
    def answers(self) -> bool:
        """Whether clients get anything from it."""
        return self.ready and self.silence is None


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """One Deployment that carries our labels. `ours`: its controller is this very object. `failure`: why its
    pods are refused at creation, in the API server's words; "" while they are not."""

    name: str
    uid: str
    resource_version: str
    template: str
    revision: str
    drafter: str
    shape: str
    render_version: int
    replicas: int
    ours: bool = True
    owner: str = ""
    edited: bool = False
    deleting: bool = False
    replicas_manager: str = ""
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Everything that one pass has seen.

    `refused`: template -> the API server's words when its Deployment could not be created.
    `unmade`: template -> the same for a reason that may pass.
    `hindered`: what else could not be read or written for a while, as sentences.
    `taken`: objects of our names that belong to somebody else, as sentences.
    `catalogue`: what the operator was given beside the catalogue's own entries.
    `unreadable`: pod name -> why its counters could not be read in the last window.
    `answers`: pod uid -> what its engine answered before it was ready, as far as it was asked for.
    `unheard`: pod name -> why its answers are not known. `vllm_version`: as an engine with the image in force
    has told it.
    """

    now: float
    name: str
    namespace: str
    uid: str
    generation: int
    created: float
    reading: Reading
    annotations: Mapping[str, str] = field(default_factory=dict)
    deployments: tuple[Deployment, ...] = ()
    pods: tuple[Pod, ...] = ()
    window: Window | None = None
    window_end: float | None = None
    slot_free: bool = True
    default_image: str = ""
    catalogue: Own = NONE_OWN
    taken: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    unmade: Mapping[str, Unmade] = field(default_factory=dict)
    hindered: tuple[str, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Answers] = field(default_factory=dict)
    unheard: Mapping[str, str] = field(default_factory=dict)
    vllm_version: str | None = None
    missing_label: str | None = None
    lost_status: tuple[str, ...] = ()
    crd_outdated: str | None = None

    def barred(self, template: str) -> str | None:
        """Why a template's Deployment can't be made now; None while nothing is known."""
        unmade = self.unmade.get(template)
        return self.refused.get(template) if unmade is None else unmade.words
