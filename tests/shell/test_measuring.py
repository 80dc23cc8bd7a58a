"""Pods whose pages can't be read: told once, counted, survived."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import httpx
import pytest

from specdeploy.api.status import seconds
from specdeploy.cluster import DEPLOYMENTS, NODES, PODS, SPEC_DEPLOYMENTS, Forbidden, Object
from specdeploy.metrics.pods import MAX_BODY_BYTES, PodReader, Target
from specdeploy.metrics.pulse import QUIET_SECONDS
from specdeploy.metrics.sample import FailureKind, Sample, ScrapeFailure
from specdeploy.rollout.stalls import STALL_SECONDS
from tests.shell.stage import WINDOW, Page, Stage, exported, spec


class Endless(httpx.AsyncByteStream):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b"x" * (MAX_BODY_BYTES // 2)


def refuse(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("connection refused")


def slow(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadTimeout("nothing came")


def answering(status: int = 200, content: bytes = b"") -> Page:
    return lambda request: httpx.Response(status, content=content)


BAD_PAGES: list[tuple[str, Page, str]] = [
    ("garbage", answering(content=b"vllm:generation_tokens_total{ nonsense"), "Garbage"),
    ("binary", answering(content=bytes(range(256)) * 64), "NotVllm|Garbage"),
    ("empty", answering(), "NotVllm|Garbage"),
    ("somebody else's", answering(content=b"up 1\n"), "NotVllm"),
    ("endless", lambda request: httpx.Response(200, stream=Endless()), "TooLarge"),
    ("slow", slow, "Timeout"),
    ("refused", refuse, "Unreachable"),
    ("an error", answering(500), "HttpStatus"),
    ("a redirect", answering(302), "HttpStatus"),
]


def failures(stage: Stage) -> dict[str, float]:
    metrics = stage.telemetry.scrape_failures.collect()
    return {s.labels["kind"]: s.value for m in metrics for s in m.samples if s.name.endswith("_total")}


@pytest.mark.parametrize(
    ("page", "kind"), [(p, k) for _, p, k in BAD_PAGES], ids=[n for n, _, _ in BAD_PAGES]
)
async def test_a_pod_with_a_bad_page_is_told_once_counted_and_survived(
    page: Page, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    [bad] = [p["metadata"]["name"] for p in stage.pods_of("dflash")]
    stage.pages[bad] = page
    with caplog.at_level(logging.WARNING):
        await stage.run(12)
    [counted] = failures(stage)
    assert counted in kind.split("|")
    assert 5 <= failures(stage)[counted] <= 7
    assert len([r for r in caplog.records if bad in r.getMessage()]) == 1
    status, reason, message = stage.condition("MetricsAvailable")
    assert (status, reason) == ("False", "ScrapeFailed")
    assert bad in message
    assert stage.condition("Ready")[0] == "True"
    assert stage.verdicts() == {}
    del stage.pages[bad]
    await stage.run(200, Stage.settled)
    assert stage.condition("MetricsAvailable")[0] == "True"
    assert stage.verdicts() == {"dflash": "Promoted"}


async def test_a_settled_object_with_an_unreadable_pod_is_not_written_again() -> None:
    stage = await Stage(spec()).run(10)
    stage.pages[stage.pods_of("baseline")[0]["metadata"]["name"]] = answering(500)
    await stage.run(4)
    stage.cluster.writes.clear()
    await stage.run(20)
    assert stage.cluster.writes == []


async def test_with_no_pod_ready_nothing_is_unreadable_and_no_arm_has_figures() -> None:
    stage = await Stage(spec()).run(10)
    stage.pages = {p["metadata"]["name"]: answering(500) for p in stage.cluster.of(PODS)}
    await stage.run(4)
    stage.cluster.edit(SPEC_DEPLOYMENTS, "gemma", {"spec": {"replicas": 0}})
    await stage.run(6)
    assert stage.condition("Ready")[:2] == ("True", "ScaledToZero")
    assert b"specdeploy_arm_speed{" not in exported(stage)


@pytest.mark.looptime
async def test_many_pods_that_hang_take_no_longer_than_the_budget_and_are_all_told() -> None:
    async def hang(request: httpx.Request) -> httpx.Response:
        await asyncio.sleep(60)
        return httpx.Response(200)

    async with httpx.AsyncClient(transport=httpx.MockTransport(hang)) as client:
        reader = PodReader(client, clock=lambda: 0.0, timeout_seconds=5.0, concurrency=2, budget_seconds=12.0)
        begun = asyncio.get_running_loop().time()
        answers = await reader.read([Target(str(n), "10.0.0.1", 8000) for n in range(100)])
        took = asyncio.get_running_loop().time() - begun
    assert took == pytest.approx(12.0, abs=0.1)
    assert len(answers) == 100
    assert {a.kind for a in answers.values() if isinstance(a, ScrapeFailure)} == {FailureKind.TIMEOUT}


@pytest.mark.looptime
@pytest.mark.parametrize("hanging", [0, 3])
async def test_one_object_with_hanging_pods_leaves_room_for_another(hanging: int) -> None:
    async def page(request: httpx.Request) -> httpx.Response:
        if request.url.host == "10.0.0.9":
            await asyncio.sleep(60)
        return httpx.Response(500)

    async with httpx.AsyncClient(transport=httpx.MockTransport(page)) as client:
        reader = PodReader(client, clock=lambda: 0.0, timeout_seconds=1.0, concurrency=4, budget_seconds=1.0)
        bad = asyncio.create_task(reader.read([Target(str(n), "10.0.0.9", 8000) for n in range(hanging)]))
        good = await reader.read([Target("good", "10.0.0.1", 8000)])
        answer = good["good"]
        assert not isinstance(answer, Sample)
        assert answer.kind is FailureKind.HTTP_STATUS
        bad.cancel()


@pytest.mark.parametrize(
    ("labels", "counts"),
    [
        (["74a1", "74a1"], True),
        (["74a1", "75a3"], False),
        ([None, "74a1"], False),  # may be another, and no missing evidence is good evidence
        ([None, None], True),  # a cluster without the labeller
    ],
)
async def test_arms_on_different_kinds_of_gpu_are_not_compared(
    labels: list[str | None], counts: bool
) -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    for number, label in enumerate(labels):
        node_labels = {"amd.com/gpu.device-id": label} if label else {}
        stage.cluster.put(NODES, "", {"metadata": {"name": f"n{number + 1}", "labels": node_labels}})
    for _ in range(30):
        await stage.step()
        for pod in stage.pods_of("dflash"):
            pod["spec"]["nodeName"] = "n2"
    trial = stage.status.trial
    skipped = trial.skipped if trial and trial.skipped else {}
    assert (skipped.get("DifferentGPU", 0) == 0) is counts


async def test_a_trial_whose_deployment_was_edited_ends_without_judgement_and_starts_anew() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    name = next(
        d["metadata"]["name"] for d in stage.cluster.of(DEPLOYMENTS) if "dflash" in d["metadata"]["name"]
    )
    edit = {"metadata": {"annotations": {"deployment.kubernetes.io/revision": "2"}}}
    stage.cluster.edit(DEPLOYMENTS, name, edit)
    await stage.run(4)
    [verdict] = stage.status.verdicts or []
    assert (verdict.outcome, verdict.reason, verdict.ratio) == ("Aborted", "TemplateEdited", None)
    trial = stage.status.trial
    assert trial is not None
    assert (trial.attempt, trial.windows) == (2, 0)


async def test_a_window_with_too_little_traffic_grows_until_it_holds_enough() -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8}, traffic=15.0)  # 450 tokens a window; 1000 are needed
    await stage.run(40, Stage.measuring)
    first = stage.status.trial
    await stage.run(24)
    assert first is not None
    second = stage.status.trial
    assert second is not None
    assert 3 <= second.windows - first.windows <= 5  # twelve periods, three to a window


@pytest.mark.parametrize("idle", [False, True], ids=["with requests in it", "while it was idle"])
@pytest.mark.parametrize("traffic", [1.0, 100.0], ids=["quiet", "busy"])  # in a quiet hour windows grow
async def test_an_engine_that_hangs_on_trial_is_found_within_two_minutes(traffic: float, idle: bool) -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8}, traffic=traffic)
    await stage.run(40, lambda s: bool(s.status.trial) and s.status.trial.state == "Measuring")
    await stage.run(5)
    [pod] = stage.pods_of("dflash")
    stage.stall(pod, idle=idle)
    began = stage.now
    await stage.run(40, Stage.settled)
    [verdict] = stage.status.verdicts or []
    assert (verdict.outcome, verdict.reason) == ("Unhealthy", "Stalled")
    assert seconds(verdict.time) - began <= QUIET_SECONDS + STALL_SECONDS + 3 * WINDOW


async def test_a_drafter_that_hangs_in_service_is_taken_off_and_one_of_its_pods_alone_is_named() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(400, Stage.settled)
    pods = stage.pods_of("dflash")
    name = pods[0]["metadata"]["name"]
    stage.stall(pods[0], idle=True)
    await stage.run(40)
    assert stage.serving() == "dflash"
    assert stage.condition("Available")[2].startswith(f"3 pods answer; {name}: no sign of life since 2027-")
    assert f"Warning: {name}: no sign of life" in (stage.status.message or "")
    assert stage.reasons().count("EngineStalled") == 1
    stage.cluster.writes.clear()
    await stage.run(20)
    assert stage.cluster.writes == [], "a stall that lasts is told once"
    for pod in pods[1:]:
        stage.stall(pod)
    await stage.run(80, lambda s: s.verdicts() == {"dflash": "Unhealthy"})
    assert stage.serving() == "baseline"
    await stage.run(60)
    assert stage.replicas() == {"baseline": 4}


async def test_a_new_operator_finds_what_hung_before_it_came_though_nobody_gives_a_token() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(400, Stage.settled)
    for pod in stage.cluster.of(PODS):
        stage.stall(pod, idle=True)
    stage.restart()
    await stage.run(40)
    assert stage.condition("Available")[0] == "False"


async def test_pods_of_a_deployment_that_all_stand_still_are_made_anew() -> None:
    stage = await Stage(spec()).run(20)
    before = {p["metadata"]["uid"] for p in stage.pods_of("baseline")}
    for pod in stage.pods_of("baseline"):
        stage.stall(pod)
    await stage.run(120)
    after = {p["metadata"]["uid"] for p in stage.pods_of("baseline")}
    assert len(after) == 4
    assert not after & before
    assert stage.condition("Ready")[:2] == ("True", "Serving")


async def test_a_pod_that_loads_beside_one_that_hangs_is_not_taken_for_it() -> None:
    stage = await Stage(spec(replicas=2)).run(20)
    hung, healthy = stage.pods_of("baseline")
    stage.stall(hung, idle=True)
    await stage.run(80)
    stage.cluster.remove(PODS, healthy["metadata"]["name"])
    await stage.run(40)
    uids = {p["metadata"]["uid"] for p in stage.pods_of("baseline")}
    assert len(uids) == 2
    assert hung["metadata"]["uid"] in uids
    assert stage.condition("Available")[0] == "True"


async def test_while_all_engines_stand_still_no_drafter_is_blamed() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    for pod in stage.cluster.of(PODS):
        stage.stall(pod, idle=pod in stage.pods_of("dflash"))
    await stage.run(100, lambda s: bool(s.verdicts()))
    [verdict] = stage.status.verdicts or []
    assert (verdict.outcome, verdict.reason) == ("Inconclusive", "Stalled")
    assert verdict.retry_time is not None


async def test_a_spec_that_can_not_be_read_forgets_no_stall() -> None:
    stage = await Stage(spec()).run(20)
    for pod in stage.pods_of("baseline"):
        stage.stall(pod)
    await stage.run(30, lambda s: s.condition("Available")[0] == "False")
    stage.cluster.edit(SPEC_DEPLOYMENTS, "gemma", {"spec": {"model": 7}})
    await stage.run(4)
    assert stage.condition("Available")[0] == "False"


async def test_behind_an_api_key_an_engine_is_asked_once_and_nothing_is_said_of_it() -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    [pod] = stage.pods_of("dflash")
    stage.stall(pod, idle=True)
    page, asked = stage.pages[pod["metadata"]["name"]], 0

    def keyed(request: httpx.Request) -> httpx.Response:
        nonlocal asked
        if request.method != "POST":
            return page(request)
        asked += 1
        return httpx.Response(401)

    stage.pages[pod["metadata"]["name"]] = keyed
    await stage.run(40)
    assert asked == 1
    assert stage.verdicts() == {}


async def test_why_a_pod_gave_no_evidence_is_logged_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    stage = await Stage(spec("dflash"), {"dflash": 1.8}).run(40, Stage.measuring)
    [pod] = stage.pods_of("dflash")
    pod["status"]["containerStatuses"][0]["restartCount"] = 1
    with caplog.at_level(logging.DEBUG):
        await stage.run(4)
    name = pod["metadata"]["name"]
    assert f"default/gemma: pod {name} gave no evidence: PodRestarted: its container restarted" in caplog.text


@pytest.mark.parametrize("rights", [True, False])
async def test_without_rights_on_nodes_everything_goes_on_and_one_line_says_so(
    rights: bool, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(spec("dflash"), {"dflash": 1.8})
    if not rights:
        stage.cluster.fault = lambda verb, kind, name: Forbidden("nodes: 403") if kind is NODES else None
    with caplog.at_level(logging.WARNING):
        await stage.run(150, Stage.settled)
    assert stage.verdicts() == {"dflash": "Promoted"}
    assert len([r for r in caplog.records if "nodes can't be read" in r.getMessage()]) == (not rights)


def on_another_gpu(pod: Object) -> None:
    pod["spec"]["nodeName"] = "n2"


def of_another_image(pod: Object) -> None:
    pod["status"]["containerStatuses"][0]["imageID"] = "sha256:2"


@pytest.mark.parametrize(
    ("differ", "reason"), [(on_another_gpu, "DifferentGPU"), (of_another_image, "DifferentImage")]
)
async def test_what_serves_is_a_yardstick_only_on_the_same_image_and_kind_of_gpu(
    differ: Callable[[Object], None], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    stage = Stage(spec("old"), {"old": 1.2, "new": 1.8})
    for name, label in (("n1", "74a1"), ("n2", "75a3")):
        labels = {"amd.com/gpu.device-id": label}
        stage.cluster.put(NODES, "", {"metadata": {"name": name, "labels": labels}})
    await stage.run(300, Stage.settled)
    stage.cluster.edit(SPEC_DEPLOYMENTS, "gemma", {"spec": spec("old", "new")})
    await stage.run(60, lambda s: bool(s.status.trial) and s.measuring())
    for pod in stage.pods_of("old"):
        differ(pod)
    await stage.run(2)
    before = stage.status.trial
    await stage.run(20)
    after = stage.status.trial
    assert stage.serving() == "old"
    assert before is not None
    assert after is not None
    assert after.windows == before.windows
    assert (after.skipped or {})[reason] >= 9
    told = [r.getMessage() for r in caplog.records if reason in r.getMessage()]
    assert len(told) == 1, "once, not in every window"
    assert "default/gemma" in told[0]
    assert stage.pods_of("old")[0]["metadata"]["name"] in told[0]
