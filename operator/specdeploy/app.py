"""The composition root: the one place that wires everything. It starts checks, server, workers, kopf."""

import asyncio
import logging
import random
import time
from contextlib import AsyncExitStack

from specdeploy import __version__
from specdeploy.cluster import SPEC_DEPLOYMENTS, Cluster, KubernetesCluster
from specdeploy.engine.image import DEFAULT_IMAGE
from specdeploy.gather import Gatherer
from specdeploy.handlers import inform
from specdeploy.measure import Measurer
from specdeploy.metrics.pods import PodReader
from specdeploy.metrics.windows import WindowBook
from specdeploy.nodes import Nodes
from specdeploy.preflight import check_schema, check_served, check_version
from specdeploy.reconciler import Reconciler
from specdeploy.server import Server
from specdeploy.settings import Settings, own_catalogue
from specdeploy.slots import TrialSlots
from specdeploy.telemetry import Telemetry
from specdeploy.workers import Key, Workers
from specdeploy.workqueue import WorkQueue

log = logging.getLogger(__name__)


async def run(settings: Settings) -> None:
    """The operator, until it is told to stop. Raises PreflightError or ClusterError where it can't start."""
    async with AsyncExitStack() as stack:
        cluster = await KubernetesCluster.connect(__version__)
        stack.push_async_callback(cluster.close)
        await check_version(cluster)
        outdated = await check_schema(cluster)
        await check_served(cluster)
        telemetry = Telemetry()
        queue: WorkQueue[Key] = WorkQueue(random.Random())  # noqa: S311 - jitter, no secret
        slots = TrialSlots(settings.max_trials)
        for namespace in settings.namespaces or ("",):
            slots.prime(await cluster.list_all(SPEC_DEPLOYMENTS, namespace))
        reader = PodReader.over(None, clock=time.monotonic)
        stack.push_async_callback(reader.close)
        reconciler = _reconciler(settings, cluster, reader, telemetry, slots, outdated)
        workers = Workers(queue, reconciler.reconcile, telemetry, settings.workers)
        ready = asyncio.Event()
        server = _server(telemetry, workers, ready)
        await server.start(*settings.address)
        stack.push_async_callback(server.stop)
        await _work_and_watch(workers, server, settings, cluster, queue, ready)


def _reconciler(
    settings: Settings,
    cluster: Cluster,
    reader: PodReader,
    telemetry: Telemetry,
    slots: TrialSlots,
    outdated: str | None,
) -> Reconciler:
    book = WindowBook()
    gatherer = Gatherer(
        cluster=cluster,
        measurer=Measurer(reader, book),
        nodes=Nodes(cluster, time.monotonic),
        clock=time.time,
        default_image=settings.engine_image or DEFAULT_IMAGE,
        catalogue=own_catalogue(settings),
        crd_outdated=outdated,
    )
    return Reconciler(
        cluster=cluster,
        gatherer=gatherer,
        book=book,
        slots=slots,
        telemetry=telemetry,
        clock=time.time,
    )


def _server(telemetry: Telemetry, workers: Workers, ready: asyncio.Event) -> Server:
    return Server(
        telemetry.registry,
        healthy=workers.fault,
        ready=lambda: None if ready.is_set() else "it is starting",
    )


async def _work_and_watch(
    workers: Workers,
    server: Server,
    settings: Settings,
    cluster: KubernetesCluster,
    queue: WorkQueue[Key],
    ready: asyncio.Event,
) -> None:
    """Until told to stop. Workers end only by an error, and then the process ends with it."""
    stop = asyncio.Event()
    working = asyncio.create_task(workers.run(), name="workers")
    working.add_done_callback(lambda _: stop.set())

    async def end() -> None:
        working.cancel()
        await asyncio.wait([working])
        await server.stop()

    log.info("SpecDeploy %s watches %s", __version__, ", ".join(settings.namespaces) or "all namespaces")
    try:
        await inform(
            add=queue.add,
            access=cluster.access,
            namespaces=settings.namespaces,
            ready=ready,
            stop=stop,
            end=end,
        )
    finally:
        await end()
    if not working.cancelled():
        working.result()
