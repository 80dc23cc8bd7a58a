"""The operator's own HTTP endpoints: /metrics, /healthz, /readyz. I/O."""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

Check = Callable[[], str | None]


class Server:
    """Serves while the process lives. A check returns None when all is well, else what is wrong."""

    def __init__(self, registry: CollectorRegistry, *, healthy: Check, ready: Check) -> None:
        self._registry = registry
        self._healthy = healthy
        self._ready = ready
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port (a free one if asked for 0). Raises OSError if the address is taken."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        return int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def _healthz(self, _: web.Request) -> web.Response:
        return _answer(self._healthy())

    async def _readyz(self, _: web.Request) -> web.Response:
        return _answer(self._ready())


def _answer(fault: str | None) -> web.Response:
    return web.Response(text=(fault or "ok") + "\n", status=503 if fault else 200)
