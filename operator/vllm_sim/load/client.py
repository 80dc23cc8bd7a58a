"""One streamed request, and what came of it."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp

ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failure` None: a whole answer came. Times in seconds; `decode_seconds` from first to last text."""

    failure: str | None
    tokens: int = 0
    ttft: float | None = None
    decode_seconds: float = 0.0

    @property
    def decode_speed(self) -> float | None:
        """Tokens per second after the first one; None where there is nothing to measure."""
        if self.failure or self.tokens < 2 or self.decode_seconds <= 0:
            return None
        return (self.tokens - 1) / self.decode_seconds


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go and what they ask for."""

    url: str
    model: str
    max_tokens: int
    spread: float
    """Requests ask for between (1 - spread) and 1 times `max_tokens`: equal lengths would march in step."""
    temperature: float
    chat: bool
    ignore_eos: bool
    timeout_seconds: float
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Put into each request's body (`min_p`, say, which vLLM refuses under speculation)."""

    @property
    def endpoint(self) -> str:
        return self.url.rstrip("/") + ("/v1/chat/completions" if self.chat else "/v1/completions")

    def body(self, prompt: str) -> dict[str, Any]:
        share = random.Random(prompt).uniform(1 - self.spread, 1)  # noqa: S311 - chance, not cryptography
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": max(1, round(self.max_tokens * share)),
            "temperature": self.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.extra,
        }
        if self.ignore_eos:
            body["ignore_eos"] = True
        if self.chat:
            return {**body, "messages": [{"role": "user", "content": prompt}]}
        return {**body, "prompt": prompt}


class _StreamError(Exception):
    """The stream said that it failed; the text is the kind of failure."""


@dataclass(slots=True)
class _Reading:
    """What one stream has told so far."""

    began: float
    first: float = 0.0
    last: float = 0.0
    chunks: int = 0
    tokens: int = 0
    finish_reason: str | None = None
    done: bool = False

    def take(self, data: str) -> None:
        """One event's payload. Raises _StreamError."""
        if data == "[DONE]":
            self.done = True
            return
        event = json.loads(data)
        if "error" in event:
            raise _StreamError("error_event")
        if event.get("usage"):
            self.tokens = event["usage"]["completion_tokens"]
        for choice in event.get("choices", ()):
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            if _text(choice):
                self.last = time.monotonic()
                self.first = self.first or self.last
                self.chunks += 1

    def outcome(self) -> Outcome:
        failure = None
        if not self.done:
            failure = "no_done"
        elif self.finish_reason is None:
            failure = "no_finish_reason"
        elif self.finish_reason == ABORT:
            failure = ABORT
        return Outcome(
            failure=failure,
            tokens=self.tokens or self.chunks,
            ttft=self.first - self.began if self.first else None,
            decode_seconds=self.last - self.first,
        )


async def send(session: aiohttp.ClientSession, target: Target, prompt: str) -> Outcome:
    """Send one request and read its stream to the end. Never raises for what the server does."""
    reading = _Reading(began=time.monotonic())
    try:
        async with (
            asyncio.timeout(target.timeout_seconds),
            session.post(target.endpoint, json=target.body(prompt)) as response,
        ):
            if response.status != 200:
                return Outcome(failure=f"http_{response.status}")
            async for data in _events(response):
                reading.take(data)
    except TimeoutError:
        return Outcome(failure="timeout")
    except aiohttp.ClientConnectorError:
        return Outcome(failure="connect")
    except _StreamError as error:
        return Outcome(failure=str(error))
    except (aiohttp.ClientError, ConnectionError, ValueError, LookupError, TypeError):
        return Outcome(failure="broken_stream")
    return reading.outcome()


async def _events(response: aiohttp.ClientResponse) -> AsyncIterator[str]:
    async for line in response.content:
        if line.startswith(b"data:"):
            yield line[5:].strip().decode()


def _text(choice: Mapping[str, Any]) -> str:
    delta = choice.get("delta") or {}
    return choice.get("text") or delta.get("content") or delta.get("reasoning") or ""
