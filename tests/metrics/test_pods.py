"""`PodReader` against servers that misbehave: every target ends as a Sample or a named failure, in time."""

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from specdeploy.metrics.pods import PodReader, Target, new_client
from specdeploy.metrics.sample import FailureKind, Sample, ScrapeFailure
from tests.metrics.network import patient_reader
from tests.metrics.pages import ENGINE, engine_lines, page

TARGET = Target(uid="a", ip="10.0.0.1", port=8000)
GOOD = page(engine_lines(ENGINE))

Answer = Callable[[httpx.Request], Awaitable[httpx.Response]]


class Body(httpx.AsyncByteStream):
    """A response body that gives `chunk` `count` times, or for ever, `pause` seconds apart."""

    def __init__(self, chunk: bytes, *, count: int | None = None, pause: float = 0.0) -> None:
        self.chunk, self.count, self.pause = chunk, count, pause
        self.sent = 0
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.count is None or self.sent < self.count:
            self.sent += 1
            await asyncio.sleep(self.pause)
            yield self.chunk

    async def aclose(self) -> None:
        self.closed = True


def reader(
    answer: Answer,
    *,
    clock: Callable[[], float] = lambda: 7.0,
    timeout_seconds: float = 5.0,
    concurrency: int = 4,
) -> PodReader:
    return PodReader(
        new_client(httpx.MockTransport(answer)),
        clock=clock,
        timeout_seconds=timeout_seconds,
        max_body_bytes=100_000,
        concurrency=concurrency,
    )


async def ask(answer: Answer, *, timeout_seconds: float = 5.0) -> Sample | ScrapeFailure:
    pods = reader(answer, timeout_seconds=timeout_seconds)
    try:
        return (await pods.read([TARGET]))["a"]
    finally:
        await pods.close()


def always(response: httpx.Response) -> Answer:
    async def answer(request: httpx.Request) -> httpx.Response:
        return response

    return answer


def raising(error: Exception) -> Answer:
    async def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


async def test_a_good_page_is_a_sample_with_the_instant_of_the_answer() -> None:
    asked: list[httpx.Request] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, content=GOOD)

    sample = await ask(answer)

    assert isinstance(sample, Sample)
    assert sample.time == 7.0
    assert sample.counters.engines["0"].generation_tokens == 1000
    assert str(asked[0].url) == "http://10.0.0.1:8000/metrics"
    assert asked[0].headers["Accept-Encoding"] == "identity"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (always(httpx.Response(500, content=GOOD)), FailureKind.HTTP_STATUS),
        (always(httpx.Response(204)), FailureKind.HTTP_STATUS),
        (
            always(httpx.Response(302, headers={"Location": "http://10.0.0.2/metrics"})),
            FailureKind.HTTP_STATUS,
        ),
        (always(httpx.Response(200, content=b"\x89PNG\r\n\x1a\n\0\0")), FailureKind.GARBAGE),
        (always(httpx.Response(200, content=GOOD[:-3])), FailureKind.GARBAGE),
        (
            always(httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Body(b"x", count=1))),
            FailureKind.GARBAGE,
        ),
        (always(httpx.Response(200, content=b"")), FailureKind.NOT_VLLM),
        (always(httpx.Response(200, content=b"<html></html>\n")), FailureKind.NOT_VLLM),
        (always(httpx.Response(200, content=b"vllm:num_requests_running 1\n")), FailureKind.SERIES_MISSING),
        (always(httpx.Response(200, content=b"x" * 100_001)), FailureKind.TOO_LARGE),
        (raising(httpx.ConnectError("refused")), FailureKind.UNREACHABLE),
        (raising(httpx.ReadError("reset")), FailureKind.UNREACHABLE),
        (raising(httpx.RemoteProtocolError("not HTTP \x1b[31m")), FailureKind.GARBAGE),
        (raising(httpx.ConnectTimeout("slow")), FailureKind.TIMEOUT),
    ],
)
async def test_a_bad_answer_is_a_failure_with_its_kind_and_a_printable_message(
    answer: Answer, kind: FailureKind
) -> None:
    failure = await ask(answer)

    assert isinstance(failure, ScrapeFailure)
    assert failure.kind is kind
    assert failure.message
    assert failure.message.isprintable()


async def test_an_endless_body_is_cut_at_the_limit_and_closed() -> None:
    body = Body(b"x" * 10_000)

    failure = await ask(always(httpx.Response(200, stream=body)))

    assert isinstance(failure, ScrapeFailure)
    assert failure.kind is FailureKind.TOO_LARGE
    assert body.sent == 11
    assert body.closed


@pytest.mark.looptime
async def test_a_body_that_drips_is_given_up_as_a_whole_although_every_byte_is_in_time() -> None:
    body = Body(b"#", pause=0.5)

    failure = await ask(always(httpx.Response(200, stream=body)), timeout_seconds=5.0)

    assert isinstance(failure, ScrapeFailure)
    assert failure.kind is FailureKind.TIMEOUT
    assert 9 <= body.sent <= 11


@pytest.mark.looptime
async def test_one_hanging_pod_does_not_take_the_others_with_it() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "10.0.0.2":
            await asyncio.sleep(60)
        return httpx.Response(200, content=GOOD)

    pods = reader(answer, timeout_seconds=5.0)
    answers = await pods.read([TARGET, Target("b", "10.0.0.2", 8000), Target("c", "10.0.0.3", 8000)])
    await pods.close()

    assert isinstance(answers["a"], Sample)
    assert isinstance(answers["b"], ScrapeFailure)
    assert isinstance(answers["c"], Sample)


async def test_no_more_pods_are_asked_at_once_than_allowed() -> None:
    running = most = 0

    async def answer(request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return httpx.Response(200, content=GOOD)

    pods = reader(answer, concurrency=3)
    answers = await pods.read([Target(str(number), "10.0.0.1", 8000) for number in range(20)])
    await pods.close()

    assert len(answers) == 20
    assert most == 3


MODELS = b'{"object":"list","data":[{"id":"m","max_model_len":8192},{"id":"adapter","max_model_len":null}]}'


class Pod:
    """Answers both questions and keeps what it was asked. `models` is told again each time it is asked."""

    def __init__(self, models: Answer) -> None:
        self.models = models
        self.start = 5.0
        self.asked: list[str] = []

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if request.url.path == "/metrics":
            return httpx.Response(200, content=page(engine_lines(ENGINE), start=self.start))
        return await self.models(request)


async def hang(request: httpx.Request) -> httpx.Response:
    await asyncio.sleep(60)
    raise AssertionError("nobody waits so long")


async def lengths(pod: Pod, *, times: int) -> list[float | None]:
    """What each of so many readings says of the longest context."""
    pods = reader(pod.answer)
    found = []
    for _ in range(times):
        sample = (await pods.read([TARGET]))["a"]
        assert isinstance(sample, Sample)
        found.append(sample.max_model_len)
    await pods.close()
    return found


@pytest.mark.looptime
@pytest.mark.parametrize(
    ("models", "length", "asked"),
    [
        (always(httpx.Response(200, content=MODELS)), 8192.0, 1),
        (always(httpx.Response(401, content=b'{"error":"Unauthorized"}')), None, 1),
        (always(httpx.Response(404)), None, 1),
        (always(httpx.Response(200, content=b"<html>")), None, 1),
        (always(httpx.Response(200, content=b"x" * 300_000)), None, 1),
        (always(httpx.Response(200, headers={"Content-Encoding": "gzip"}, content=b"")), None, 1),
        (raising(httpx.ConnectError("refused")), None, 2),
        (raising(httpx.RemoteProtocolError("broken")), None, 2),
        (hang, None, 2),
    ],
    ids=["told", "key wanted", "no route", "no JSON", "too long", "packed", "refused", "broken", "hanging"],
)
async def test_a_process_is_asked_for_its_context_until_it_answers(
    models: Answer, length: float | None, asked: int
) -> None:
    pod = Pod(models)

    assert await lengths(pod, times=2) == [length, length]
    assert pod.asked.count("/v1/models") == asked
    assert pod.asked.count("/metrics") == 2


async def test_a_new_process_is_asked_again() -> None:
    pod = Pod(always(httpx.Response(200, content=MODELS)))
    pods = reader(pod.answer)
    await pods.read([TARGET])
    pod.start, pod.models = 6.0, always(httpx.Response(200, content=MODELS.replace(b"8192", b"2048")))

    sample = (await pods.read([TARGET]))["a"]
    await pods.close()

    assert isinstance(sample, Sample)
    assert sample.max_model_len == 2048
    assert pod.asked.count("/v1/models") == 2


async def test_a_pod_whose_page_cannot_be_read_is_asked_nothing_else() -> None:
    asked: list[str] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(500)

    assert isinstance(await ask(answer), ScrapeFailure)
    assert asked == ["/metrics"]


async def test_no_targets_is_an_empty_answer() -> None:
    pods = reader(raising(AssertionError("nobody is to be asked")))
    assert await pods.read([]) == {}
    await pods.close()


async def test_a_refused_connection_of_the_real_network_is_unreachable() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        pods = PodReader.over(None, clock=lambda: 0.0)
        answers = await pods.read([Target("a", "127.0.0.1", held.getsockname()[1])])
        await pods.close()

    answer = answers["a"]
    assert isinstance(answer, ScrapeFailure)
    assert answer.kind is FailureKind.UNREACHABLE


async def serve(raw: bytes) -> tuple[asyncio.Server, int]:
    async def handle(incoming: asyncio.StreamReader, outgoing: asyncio.StreamWriter) -> None:
        await incoming.readuntil(b"\r\n\r\n")
        outgoing.write(raw)
        await outgoing.drain()
        outgoing.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def ask_over_loopback(raw: bytes) -> Sample | ScrapeFailure:
    server, port = await serve(raw)
    pods = patient_reader(lambda: 0.0)
    answer = (await pods.read([Target("a", "127.0.0.1", port)]))["a"]
    await pods.close()
    server.close()
    await server.wait_closed()
    return answer


async def test_a_proxy_named_in_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{held.getsockname()[1]}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        answer = await ask_over_loopback(b"HTTP/1.0 200 OK\r\n\r\n" + GOOD)

    assert isinstance(answer, Sample)


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(GOOD), GOOD), None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n%s" % GOOD, FailureKind.GARBAGE),
        (b"HTTP/1.1 200 OK\r\nContent-Length: minus\r\n\r\n", FailureKind.GARBAGE),
        (b"\x00\x01\x02" * 50, FailureKind.GARBAGE),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n", FailureKind.GARBAGE),
        (b"", FailureKind.GARBAGE),
    ],
    ids=["good", "cut off", "bad length", "binary", "endless header", "nothing"],
)
async def test_what_a_real_socket_can_send_is_a_sample_or_a_named_failure(
    raw: bytes, kind: FailureKind | None
) -> None:
    answer = await ask_over_loopback(raw)

    assert (answer.kind if isinstance(answer, ScrapeFailure) else None) == kind


@pytest.mark.parametrize("ip", ["10.1.2.3", "fd00::12"])
def test_the_address_of_either_family_makes_a_url(ip: str) -> None:
    url = Target("a", ip, 8000).url

    assert ipaddress.ip_address(url.host) == ipaddress.ip_address(ip)
    assert (url.port, url.path) == (8000, "/metrics")
