"""The operator's shell on a stage: a cluster in memory, engines that count, one clock for all of it.

`Stage.step` runs one pass of the real Reconciler and lets the cluster follow; `restart` is a new process.
"""

import json
import zlib
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import dataclass, field
from typing import Any

import httpx
from prometheus_client.exposition import generate_latest

from specdeploy.api.answer_line import MARKER
from specdeploy.api.findings import read_status
from specdeploy.api.status import Status, instant, seconds
from specdeploy.cluster import DEPLOYMENTS, EVENTS, PODS, SPEC_DEPLOYMENTS, Conflict, Object
from specdeploy.engine.catalogue.load import NONE_OWN, Own
from specdeploy.engine.questions import QUESTION_SET, QUESTIONS
from specdeploy.gather import Gatherer
from specdeploy.measure import Measurer
from specdeploy.metrics.pods import PodReader
from specdeploy.metrics.windows import WindowBook
from specdeploy.nodes import Nodes
from specdeploy.reconciler import Reconciler
from specdeploy.slots import TrialSlots
from specdeploy.telemetry import Telemetry
from tests.fake_cluster import FakeCluster

START = 1_800_000_000.0
WINDOW = 10
LOAD_SECONDS = 10.0
KEY = ("default", "gemma")
ANSWERS = {name: f"the same answer to {name} from all" for name in QUESTIONS}

Page = Callable[[httpx.Request], httpx.Response]


def drafter(name: str) -> dict[str, Any]:
    return {"name": name, "method": "eagle3", "model": f"org/{name}", "numSpeculativeTokens": 3}


def spec(*names: str, replicas: int = 4, **more: Any) -> dict[str, Any]:
    trial = {"windowSeconds": WINDOW, "warmupSeconds": 20, "deadlineSeconds": 1200, **more.pop("trial", {})}
    drafters = [drafter(name) for name in names]
    promotion = more.pop("promotion", {"steps": [100]})
    return {
        "model": "org/target", "replicas": replicas, "drafters": drafters, "trial": trial,
        "promotion": promotion, **more,
    }  # fmt: skip


@dataclass
class Stage:
    """`speeds`: drafter -> speed relative to the baseline. `pages`: pod name -> what it answers instead.
    `answers`: drafter -> what its engines answer to the fixed questions, else as all the others; None: they
    write nothing to their logs. `versions`: what was answered to GET /version, each time."""

    spec: dict[str, Any]
    speeds: dict[str, float] = field(default_factory=dict)
    traffic: float = 100.0
    crd_outdated: str | None = None
    max_trials: int = 4
    cluster: FakeCluster = field(default_factory=FakeCluster)
    pages: dict[str, Page] = field(default_factory=dict)
    answers: dict[str, dict[str, str] | None] = field(default_factory=dict)
    catalogue: Own = NONE_OWN
    version: str | None = "0.33.0"
    versions: list[str | None] = field(default_factory=list)
    now: float = START
    latest: float | None = None

    def __post_init__(self) -> None:
        self.cluster.time = instant(self.now)
        body = {"metadata": {"name": KEY[1]}, "spec": self.spec}
        self.cluster.put(SPEC_DEPLOYMENTS, KEY[0], body)
        self.restart()

    def restart(self) -> None:
        """A new process over the same objects."""
        self.cluster.crash_after = None
        self.telemetry = Telemetry()
        self.slots = TrialSlots(self.max_trials)
        self.slots.prime(self.cluster.of(SPEC_DEPLOYMENTS))
        transport = httpx.MockTransport(self._answer)
        self.reader = PodReader.over(transport, clock=lambda: self.now)
        self.book = WindowBook()
        gatherer = Gatherer(
            cluster=self.cluster,
            measurer=Measurer(self.reader, self.book),
            nodes=Nodes(self.cluster, lambda: self.now),
            clock=lambda: self.now,
            default_image="vllm/vllm-openai-rocm:v0.33.0",
            catalogue=self.catalogue,
            crd_outdated=self.crd_outdated,
        )
        self.reconciler = Reconciler(
            cluster=self.cluster,
            gatherer=gatherer,
            book=self.book,
            slots=self.slots,
            telemetry=self.telemetry,
            clock=lambda: self.now,
        )

    def twin(self) -> "Stage":
        """The same moment with a future of its own, under a new process."""
        twin = copy(self)
        twin.cluster, twin.pages = deepcopy(self.cluster), {}
        twin.cluster.writes.clear()
        twin.restart()
        return twin

    # -- the operator -------------------------------------------------------------------------------

    async def look(self, key: tuple[str, str] = KEY) -> float | None:
        """Passes until nothing is to be repeated at once, as the queue would run them."""
        for _ in range(20):
            try:
                self.latest = await self.reconciler.reconcile(key)
            except Conflict:
                continue
            if self.latest != 0.0:
                return self.latest
        raise AssertionError("passes repeat for ever")

    async def step(self, seconds: float = 5.0) -> None:
        """One look, then the cluster follows and time goes on."""
        await self.look()
        self.follow(seconds)

    def follow(self, seconds: float = 5.0) -> None:
        self.cluster.settle()
        self.now += seconds
        self.cluster.time = instant(self.now)
        for pod in self.cluster.of(PODS):
            if self._loaded(pod) and not _is_ready(pod):
                self.cluster.logs[pod["metadata"]["name"]] = self._log(pod)
                self.cluster.make_ready(pod)

    async def run(
        self, steps: int, until: Callable[["Stage"], bool] = lambda stage: False, seconds: float = 5.0
    ) -> "Stage":
        for _ in range(steps):
            if until(self):
                break
            await self.step(seconds)
        return self

    # -- the engines --------------------------------------------------------------------------------

    def _loaded(self, pod: Object) -> bool:
        return self.now >= seconds(pod["metadata"]["creationTimestamp"]) + LOAD_SECONDS

    def _log(self, pod: Object) -> str:
        """What its engine has written when it becomes ready."""
        drafter = pod["metadata"]["labels"]["specdeploy.dev/drafter"]
        answers = self.answers.get(drafter, ANSWERS)
        lines = [_answer_line(name, text) for name, text in (answers or {}).items()]
        return "\n".join(["INFO loading", *lines, "INFO ready", ""])

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/version":
            self.versions.append(self.version)
            return httpx.Response(200 if self.version else 404, json={"version": self.version})
        here = (p for p in self.cluster.of(PODS) if p["status"].get("podIP") == request.url.host)
        pod = next(here, None)
        if pod is None:
            raise httpx.ConnectError("no route to host")
        special = self.pages.get(pod["metadata"]["name"])
        return special(request) if special else httpx.Response(200, content=self._page(pod))

    def stall(self, pod: Object, *, idle: bool = False) -> None:
        """From now on this engine counts nothing, and holds its requests; `idle`: it had none when it
        stopped, and shows none."""
        frozen = self._page(pod)
        if idle:
            frozen = frozen.replace(
                b'running{engine="0",model_name="m"} 3.0', b'running{engine="0",model_name="m"} 0'
            )

        def answer(request: httpx.Request) -> httpx.Response:
            if request.method == "POST":
                raise httpx.ReadTimeout("nothing came")
            return httpx.Response(200, content=frozen)

        self.pages[pod["metadata"]["name"]] = answer

    def _page(self, pod: Object) -> bytes:
        """What the engine has counted since it came up: so many tokens a second, at its speed."""
        since = seconds(pod["metadata"]["creationTimestamp"]) + LOAD_SECONDS
        speed = 60.0 * self.speeds.get(pod["metadata"]["labels"]["specdeploy.dev/drafter"], 1.0)
        age = max(0.0, self.now - since)
        tokens, requests, busy = self.traffic * age, 2.0 * age, 0.0
        for period in range(int(age // WINDOW) + 1):
            length = min(WINDOW, age - period * WINDOW)
            busy += self.traffic * length / (speed * _noise(pod["metadata"]["uid"], period))
        lines = {
            "vllm:generation_tokens_total": tokens + requests,
            "vllm:time_to_first_token_seconds_count": requests,
            "vllm:inter_token_latency_seconds_sum": busy,
            "vllm:inter_token_latency_seconds_count": tokens,
            "vllm:prompt_tokens_total": 40 * requests,
            "vllm:num_requests_running": 3.0,
            "vllm:num_requests_waiting": 0.0,
        }
        page = "".join(f'{name}{{engine="0",model_name="m"}} {value}\n' for name, value in lines.items())
        page += f'vllm:request_success_total{{engine="0",finished_reason="stop",model_name="m"}} {requests}\n'
        return (page + f"process_start_time_seconds {since}\n").encode()

    # -- what a person sees -------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        return read_status(self.cluster.sd().get("status"))[0]

    def condition(self, kind: str) -> tuple[str, str, str]:
        found = next(c for c in self.status.conditions or [] if c.type == kind)
        return found.status, found.reason, found.message

    def verdicts(self) -> dict[str, str]:
        return {v.drafter: v.outcome.value for v in self.status.verdicts or []}

    def serving(self) -> str:
        return self.status.serving.name if self.status.serving else "-"

    def replicas(self) -> dict[str, int]:
        found = self.cluster.of(DEPLOYMENTS)
        labels = {d["metadata"]["name"]: d["metadata"]["labels"]["specdeploy.dev/drafter"] for d in found}
        return {labels[d["metadata"]["name"]]: n for d in found if (n := d["spec"]["replicas"])}

    def reasons(self) -> list[str]:
        events = sorted(self.cluster.of(EVENTS), key=lambda e: int(e["metadata"]["resourceVersion"]))
        return [event["reason"] for event in events]

    def pods_of(self, name: str) -> list[Object]:
        pods = self.cluster.of(PODS)
        return [p for p in pods if p["metadata"]["labels"]["specdeploy.dev/drafter"] == name]

    def measuring(self) -> bool:
        trial = self.status.trial
        return trial is not None and trial.windows >= 1

    def settled(self) -> bool:
        return bool(self.status.verdicts) and self.status.trial is None and self.now > START + 60


def _answer_line(question: str, text: str) -> str:
    tokens = text.split()
    record = {"set": QUESTION_SET, "question": question, "tokens": tokens, "gaps": [4.0] * len(tokens)}
    return MARKER + json.dumps(record)


def _is_ready(pod: Object) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"]["conditions"])


def _noise(uid: str, period: int) -> float:
    """Up to 5 % up or down, another for each pod and window."""
    return 0.95 + 0.1 * (zlib.crc32(f"{uid}/{period}".encode()) % 1000) / 1000


def exported(stage: Stage) -> bytes:
    """The operator's own metrics page."""
    return generate_latest(stage.telemetry.registry)
