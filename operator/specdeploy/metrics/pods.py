"""Fetches the `/metrics` pages of pods. The only I/O of a measurement; `exposition` says what a page means.

Once for each process it also asks `/v1/models` how long a context the pod serves (`context` says why). That
question is put after the pages are in and its failure is nobody's: the length stays unknown.

A pod may be slow, endless, broken or gone, and none of that may stop the operator: every target ends as a
Sample or a ScrapeFailure within `timeout_seconds` of its turn, with at most `concurrency` asked at once, and
all of them within `budget_seconds`.

Pods of which `pulse` doubts that they go on are asked for one token, which may take as long as it likes.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import httpx

from specdeploy.metrics import exposition
from specdeploy.metrics.context import Contexts, max_model_len, told_version
from specdeploy.metrics.pulse import Reply
from specdeploy.metrics.sample import FailureKind, Sample, ScrapeFailure

TIMEOUT_SECONDS = 5.0
MAX_BODY_BYTES = 4 * 1024 * 1024
CONCURRENCY = 32
BUDGET_SECONDS = 20.0
MODELS_TIMEOUT_SECONDS = 2.0
MAX_MODELS_BYTES = 256 * 1024
QUESTION_SECONDS = 300.0
"""How long a question is left open; nobody waits for its answer meanwhile."""
MOST_QUESTIONS = 256

# The plain text format is asked for by name: as OpenMetrics, prometheus_client writes vllm_x for vllm:x.
# Compression is not asked for: a few KB of gzip can hold a body of gigabytes.
_HEADERS = {"Accept": "text/plain; version=0.0.4", "Accept-Encoding": "identity"}

# No key, no such route, no such model, not for completions: the next question would be answered so, too.
_REFUSALS = frozenset({400, 401, 403, 404, 405, 422})

_PAGE_FAILURES: dict[type[exposition.UnreadablePageError], FailureKind] = {
    exposition.GarbageError: FailureKind.GARBAGE,
    exposition.NotVllmError: FailureKind.NOT_VLLM,
    exposition.SeriesMissingError: FailureKind.SERIES_MISSING,
}


@dataclass(frozen=True, slots=True)
class Target:
    """One pod to ask: the uid that names it in the answer, and where it listens (IPv4 or IPv6)."""

    uid: str
    ip: str
    port: int

    @property
    def url(self) -> httpx.URL:
        """Of its counters."""
        return self._url("/metrics")

    @property
    def models_url(self) -> httpx.URL:
        """Of the list of what it serves."""
        return self._url("/v1/models")

    @property
    def version_url(self) -> httpx.URL:
        """Of its version."""
        return self._url("/version")

    @property
    def completions_url(self) -> httpx.URL:
        """Where it is asked for tokens."""
        return self._url("/v1/completions")

    def _url(self, path: str) -> httpx.URL:
        return httpx.URL(scheme="http", host=self.ip, port=self.port, path=path)


class _ScrapeError(Exception):
    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.failure = ScrapeFailure(kind, message)


class PodReader:
    """Asks pods for their counters. It owns the client it is given; `close` it at the end."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        *,
        clock: Callable[[], float],
        timeout_seconds: float = TIMEOUT_SECONDS,
        max_body_bytes: int = MAX_BODY_BYTES,
        concurrency: int = CONCURRENCY,
        budget_seconds: float = BUDGET_SECONDS,
    ) -> None:
        self._client = client
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._max_body_bytes = max_body_bytes
        self._budget_seconds = budget_seconds
        self._slots = asyncio.Semaphore(concurrency)
        self._contexts = Contexts()
        self._questions: set[asyncio.Task[Reply]] = set()

    @classmethod
    def over(cls, transport: httpx.AsyncBaseTransport | None, *, clock: Callable[[], float]) -> Self:
        """A reader with a client of its own; `transport` None is the network, anything else takes its place.

        `clock` gives seconds that never step back, such as `time.monotonic`.
        """
        return cls(new_client(transport), clock=clock)

    async def read(self, targets: Sequence[Target]) -> dict[str, Sample | ScrapeFailure]:
        """Ask all targets; the answer has each target's uid. Takes at most `budget_seconds`, however many
        there are and whoever else is asking: what did not get its turn by then is a failure."""
        due = asyncio.get_running_loop().time() + self._budget_seconds
        pages = await asyncio.gather(*(self._in_turn(target, due) for target in targets))
        answers = dict(zip([target.uid for target in targets], pages, strict=True))
        await asyncio.gather(*(self._ask_context(target, answers[target.uid], due) for target in targets))
        return {uid: self._with_context(uid, answer) for uid, answer in answers.items()}

    async def version(self, target: Target) -> str | None:
        """vLLM's version, as `GET /version` tells it: never behind the API key. None: it does not tell."""
        try:
            async with asyncio.timeout(MODELS_TIMEOUT_SECONDS):
                body, _ = await self._fetch(target.version_url, MAX_MODELS_BYTES)
        except (_ScrapeError, TimeoutError, httpx.HTTPError, httpx.InvalidURL):
            return None
        return told_version(body)

    def question(self, target: Target, model: str) -> asyncio.Task[Reply] | None:
        """Ask its engine for one token, while everything goes on; None while too many questions are open."""
        if len(self._questions) >= MOST_QUESTIONS:
            return None
        question = asyncio.create_task(self._ask(target, model))
        self._questions.add(question)
        question.add_done_callback(self._questions.discard)
        return question

    async def close(self) -> None:
        questions = tuple(self._questions)
        for question in questions:
            question.cancel()
        await asyncio.gather(*questions, return_exceptions=True)
        await self._client.aclose()

    async def _ask(self, target: Target, model: str) -> Reply:
        """Without the API key, which the operator never reads."""
        body = {"model": model, "prompt": "1", "max_tokens": 1, "temperature": 0}
        waits = httpx.Timeout(TIMEOUT_SECONDS, read=QUESTION_SECONDS)
        request = self._client.build_request("POST", target.completions_url, json=body, timeout=waits)
        try:
            async with asyncio.timeout(QUESTION_SECONDS + TIMEOUT_SECONDS):
                response = await self._client.send(request, stream=True)
                await response.aclose()
        except (TimeoutError, httpx.ReadTimeout):
            return Reply.NOTHING
        except (httpx.HTTPError, httpx.InvalidURL):
            return Reply.UNREACHED
        if response.status_code == httpx.codes.OK:
            return Reply.TOKEN
        return Reply.REFUSED if response.status_code in _REFUSALS else Reply.FAILED

    async def _in_turn(self, target: Target, due: float) -> Sample | ScrapeFailure:
        try:
            async with asyncio.timeout_at(due), self._slots:
                return await self._read_one(target)
        except TimeoutError:
            text = f"not read within {self._budget_seconds:g} s, as other pods were slow"
            return ScrapeFailure(FailureKind.TIMEOUT, text)

    async def _read_one(self, target: Target) -> Sample | ScrapeFailure:
        try:
            # httpx's own timeouts start again with every byte; this one covers the whole answer.
            async with asyncio.timeout(self._timeout_seconds):
                page, taken = await self._fetch(target.url, self._max_body_bytes)
            return Sample(exposition.parse(page), taken)
        except _ScrapeError as error:
            return error.failure
        except exposition.UnreadablePageError as error:
            return ScrapeFailure(_PAGE_FAILURES[type(error)], str(error))
        except (TimeoutError, httpx.TimeoutException):
            text = f"no complete answer within {self._timeout_seconds:g} s"
            return ScrapeFailure(FailureKind.TIMEOUT, text)
        except httpx.ProtocolError as error:
            return ScrapeFailure(FailureKind.GARBAGE, f"broken HTTP: {_excerpt(error)}")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return ScrapeFailure(FailureKind.UNREACHABLE, f"{type(error).__name__}: {_excerpt(error)}")

    async def _ask_context(self, target: Target, answer: Sample | ScrapeFailure, due: float) -> None:
        """Ask a readable pod how long a context it serves, unless its process has answered before. One that
        wants an API key or has no such route has answered; one that is not reached is asked again."""
        if isinstance(answer, ScrapeFailure):
            return
        start = answer.counters.process_start
        if self._contexts.knows(target.uid, start):
            return
        try:
            async with asyncio.timeout_at(due), self._slots, asyncio.timeout(MODELS_TIMEOUT_SECONDS):
                body, _ = await self._fetch(target.models_url, MAX_MODELS_BYTES)
        except _ScrapeError:
            self._contexts.remember(target.uid, start, None)
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL):
            return
        else:
            self._contexts.remember(target.uid, start, max_model_len(body))

    def _with_context(self, uid: str, answer: Sample | ScrapeFailure) -> Sample | ScrapeFailure:
        if isinstance(answer, ScrapeFailure):
            return answer
        return replace(answer, max_model_len=self._contexts.of(uid, answer.counters.process_start))

    async def _fetch(self, url: httpx.URL, max_bytes: int) -> tuple[bytes, float]:
        """The body, and the instant of the response's head: vLLM has read its counters just before it."""
        async with self._client.stream("GET", url, headers=_HEADERS) as response:
            taken = self._clock()
            if response.status_code != httpx.codes.OK:
                raise _ScrapeError(FailureKind.HTTP_STATUS, f"HTTP status {response.status_code}")
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise _ScrapeError(FailureKind.GARBAGE, "the body is compressed, which was not asked for")
            return await _body(response, max_bytes), taken


async def _body(response: httpx.Response, max_bytes: int) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > max_bytes:
            raise _ScrapeError(FailureKind.TOO_LARGE, f"the body is longer than {max_bytes} bytes")
    return bytes(body)


def new_client(transport: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncClient:
    """A client fit for pods: no proxy or netrc from the environment, no redirect, a new connection each time.

    A kept connection would be idle for a window, and vLLM's server closes idle ones after 5 s: the next
    scrape would fail for nothing now and then.
    """
    return httpx.AsyncClient(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=TIMEOUT_SECONDS,
        limits=httpx.Limits(max_keepalive_connections=0),
    )


def _excerpt(error: Exception) -> str:
    return ascii(str(error))[:160]
