"""The HTTP side: vLLM's routes, what they answer in trouble, and `/sim/knobs`.

Routes under /v1 want the API key if there is one; health, metrics and version never do. While draining,
/health stays 200 and every new generation is refused with 500, as in vLLM.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from vllm_sim import openai, text
from vllm_sim.arm import Arm
from vllm_sim.badpages import bad_page
from vllm_sim.exposition import EngineCollector, new_registry
from vllm_sim.faults import Faults
from vllm_sim.knobs import KnobError
from vllm_sim.loop import EngineDeadError, EngineLoop, Generation
from vllm_sim.openai import Asked, RequestError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_DEAD = "EngineCore encountered an issue. See stack trace (above) for the root cause."
_FAILED = "Internal server error"
_DRAINING = "cannot schedule new futures after shutdown"
_UNMEASURED = frozenset({"/metrics", "/health", "/ping", "/version", "/load", "/sim/knobs"})


class Server:
    """Routes over one engine. `draining` is set by the shutdown, `faults` break things on demand."""

    def __init__(
        self, arm: Arm, loop: EngineLoop, *, faults: Faults, version: str, api_key: str | None
    ) -> None:
        self._arm = arm
        self._loop = loop
        self._faults = faults
        self._version = version
        self._api_key = api_key
        self._created = int(time.time())
        self.draining = False
        self.open_answers = 0
        collector = EngineCollector(
            loop.scheduler.stats,
            model_name=arm.names[0],
            cache_config=arm.cache_labels,
            created=time.time(),
        )
        self._registry, self._http = new_registry(collector if arm.log_stats else None)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._measure, self._guard], client_max_size=64 * 2**20)
        app.add_routes(
            [
                web.get("/health", self._health),
                web.route("*", "/ping", self._health),
                web.get("/version", self._show_version),
                web.get("/metrics", self._metrics),
                web.get("/v1/models", self._models),
                web.post("/v1/completions", self._completions),
                web.post("/v1/chat/completions", self._chat),
                web.get("/sim/knobs", self._show_knobs),
                web.post("/sim/knobs", self._set_knobs),
            ]
        )
        return app

    @web.middleware
    async def _measure(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path in _UNMEASURED:
            return await handler(request)
        began = time.monotonic()
        response = await handler(request)
        self._http.observe(
            method=request.method,
            handler=request.path if request.match_info.http_exception is None else "none",
            status=response.status,
            request_bytes=request.content_length or 0,
            response_bytes=response.content_length or 0,
            seconds=time.monotonic() - began,
        )
        return response

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """The API key, and errors in vLLM's form."""
        key = self._api_key
        if key and request.path.startswith("/v1") and request.headers.get("Authorization") != f"Bearer {key}":
            return _json_response({"error": "Unauthorized"}, status=401)
        try:
            return await handler(request)
        except RequestError as error:
            return _json_response(error.body, status=error.status)
        except EngineDeadError:
            return _internal_error(_DEAD)
        except web.HTTPException as error:
            return _json_response({"detail": error.reason}, status=error.status)

    async def _health(self, _: web.Request) -> web.Response:
        return web.Response(status=503 if self._loop.dead else 200)

    async def _show_version(self, _: web.Request) -> web.Response:
        return _json_response({"version": self._version})

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        if self._loop.knobs.metrics != "ok":
            return await bad_page(request, self._loop.knobs.metrics)
        self._loop.pump()
        return web.Response(
            body=generate_latest(self._registry), headers={"Content-Type": CONTENT_TYPE_LATEST}
        )

    async def _models(self, _: web.Request) -> web.Response:
        cards: list[dict[str, Any]] = [
            {
                "id": name,
                "object": "model",
                "created": self._created,
                "owned_by": "vllm",
                "root": self._arm.model,
                "parent": None,
                "max_model_len": self._arm.max_model_len,
                "permission": [],
            }
            for name in self._arm.names
        ]
        return _json_response({"object": "list", "data": cards})

    async def _show_knobs(self, _: web.Request) -> web.Response:
        return _json_response(self._faults.describe())

    async def _set_knobs(self, request: web.Request) -> web.Response:
        try:
            values = json.loads(await request.text())
            if not isinstance(values, dict):
                raise KnobError("a JSON object of knobs is needed")
            self._faults.apply(self._loop.knobs.replaced(values))
        except ValueError as error:
            return _json_response({"error": str(error)}, status=400)
        return _json_response(self._faults.describe())

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, chat=False)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, chat=True)

    async def _generate(self, request: web.Request, *, chat: bool) -> web.StreamResponse:
        if self.draining:
            return _internal_error(_DRAINING)
        asked = openai.read(
            await _json(request),
            chat=chat,
            names=self._arm.names,
            max_model_len=self._arm.max_model_len,
            speculating=self._arm.drafter is not None,
        )
        generation = self._start(asked)
        ident = ("chatcmpl-" if chat else "cmpl-") + uuid.uuid4().hex
        self.open_answers += 1
        try:
            if asked.stream:
                return await self._stream(request, asked, generation, ident)
            return await self._whole(asked, generation, ident)
        finally:
            self.open_answers -= 1
            self._loop.abort(generation)

    def _start(self, asked: Asked) -> Generation:
        room = self._arm.max_model_len - asked.prompt_tokens
        limit = asked.max_tokens or room
        output, ending = limit, "length"
        if asked.max_tokens is None and not asked.ignore_eos:
            length = text.answer_tokens(asked.prompt, self._loop.knobs.answer_tokens)
            if length < limit:
                output, ending = length, "stop"
        return self._loop.start(
            prompt_tokens=asked.prompt_tokens, max_tokens=limit, output_tokens=output, ending=ending
        )

    async def _stream(
        self, request: web.Request, asked: Asked, generation: Generation, ident: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        events = openai.EventWriter(asked, ident=ident, created=int(time.time()))
        await response.prepare(request)
        position, generated = text.start_of(asked.prompt), 0
        pending = events.opening()
        try:
            async for tokens, reason in generation:
                if reason == "error":
                    pending += openai.failed_stream(_FAILED)
                    break
                words = text.words(position + generated, tokens, self._loop.knobs.corrupt_share)
                generated += tokens
                pending += events.chunk(words, reason)
                if reason is not None:
                    pending += events.closing(generated)
                await response.write(pending)
                pending = b""
            await response.write(pending)
            await response.write_eof()
        except EngineDeadError:
            await response.write(pending + openai.failed_stream(_DEAD))
        except ConnectionResetError:
            pass  # the client went away: the caller aborts the generation
        return response

    async def _whole(self, asked: Asked, generation: Generation, ident: str) -> web.Response:
        generated, finish_reason = 0, "abort"
        async for tokens, reason in generation:
            generated += tokens
            finish_reason = reason or finish_reason
        if finish_reason == "error":
            return _internal_error(_FAILED)
        start = text.start_of(asked.prompt)
        said = text.tokens(start, generated, self._loop.knobs.corrupt_share)
        count = asked.logprobs
        return _json_response(
            openai.response(
                asked,
                ident=ident,
                created=int(time.time()),
                answer="".join(said),
                generated=generated,
                reason=finish_reason,
                logprobs=None if count is None else openai.completion_logprobs(said, start, count),
            )
        )


def _json_response(value: object, *, status: int = 200) -> web.Response:
    return web.Response(text=openai.compact(value), status=status, content_type="application/json")


async def _json(request: web.Request) -> object:
    try:
        return json.loads(await request.text())
    except ValueError as error:
        raise RequestError(f"the request body is not JSON: {error}") from None


def _internal_error(message: str) -> web.Response:
    body = openai.error_body(message, status=500, kind="InternalServerError")
    return _json_response(body, status=500)
