"""Metrics pages that a scraper must survive: not a page, not text, without end, very slow, or an error."""

from __future__ import annotations

import asyncio
import os

from aiohttp import web

_GARBAGE = 'vllm:generation_tokens_total{engine="0",model_name="x 12..5\n# TYPE\n}{ NaN NaN\n<html>\n' * 20
_ENDLESS_LINE = b'vllm:generation_tokens_total{engine="0",model_name="m"} 1.0\n' * 100
_SECONDS_PER_BYTE = 1.0
_SECONDS_PER_CHUNK = 0.01


async def bad_page(request: web.Request, mode: str) -> web.StreamResponse:
    """Answer in the given mode; "endless" and "slow" last until the client leaves."""
    if mode == "error":
        return web.Response(status=500, text="Internal Server Error")
    if mode == "garbage":
        return web.Response(text=_GARBAGE)
    if mode == "binary":
        return web.Response(body=os.urandom(65536), content_type="text/plain")
    response = web.StreamResponse(headers={"Content-Type": "text/plain; charset=utf-8"})
    await response.prepare(request)
    chunk, pause = (b"v", _SECONDS_PER_BYTE) if mode == "slow" else (_ENDLESS_LINE, _SECONDS_PER_CHUNK)
    try:
        while True:
            await response.write(chunk)
            await asyncio.sleep(pause)
    except ConnectionResetError:
        return response
