"""`/metrics`: the engine's own series from `stats`, beside those of the process and of the HTTP routes.

A custom collector, so that the engine's hot path pays nothing for it; prometheus_client, which vLLM uses as
well, writes the text and the `_created` companions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    Summary,
)
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from vllm_sim.families import BASE, NOT_BY_ENGINE, SPECULATION, Family
from vllm_sim.stats import Distribution, Stats

_FINE = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5),
    *(7.5, 10, 30, 60),
)
_NO_PERCENTILE = (
    "by handler. Only value of header is respected. Otherwise ignored. No percentile calculated. "
)


class EngineCollector(Collector):
    """The `vllm:` series of engine "0", labelled with the name that clients use for the model."""

    def __init__(
        self, stats: Stats, *, model_name: str, cache_config: Mapping[str, str], created: float
    ) -> None:
        self._stats = stats
        self._model = {"model_name": model_name}
        self._cache_config = {**cache_config, "engine": "0"}
        self._created = created

    def collect(self) -> Iterator[Metric]:
        speculation = SPECULATION if self._stats.speculative_tokens else ()
        for family in (*speculation, *BASE):
            yield self._metric(family)
        info = Metric("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", "gauge")
        info.add_sample(info.name, dict(sorted(self._cache_config.items())), 1.0)
        yield info

    def _metric(self, family: Family) -> Metric:
        metric = Metric(f"vllm:{family.name}", family.text, family.kind)
        base = self._model if family.name in NOT_BY_ENGINE else {"engine": "0", **self._model}
        value = family.read(self._stats)
        if isinstance(value, Distribution):
            self._add_distribution(metric, base, value)
            return metric
        values = value if isinstance(value, Mapping) else {"": value}
        for name, number in values.items():
            labels = {**base, family.label: name} if family.label else base
            self._add(metric, family.kind, dict(sorted(labels.items())), float(number))
        return metric

    def _add(self, metric: Metric, kind: str, labels: dict[str, str], number: float) -> None:
        if kind == "gauge":
            metric.add_sample(metric.name, labels, number)
            return
        metric.add_sample(f"{metric.name}_total", labels, number)
        metric.add_sample(f"{metric.name}_created", labels, self._created)

    def _add_distribution(self, metric: Metric, labels: dict[str, str], value: Distribution) -> None:
        counts = value.cumulative()
        bounds = [
            floatToGoString(bound)  # type: ignore[no-untyped-call]
            for bound in (*value.bounds, float("inf"))
        ]
        for bound, count in zip(bounds, counts, strict=True):
            metric.add_sample(f"{metric.name}_bucket", dict(sorted({**labels, "le": bound}.items())), count)
        metric.add_sample(f"{metric.name}_count", labels, counts[-1])
        metric.add_sample(f"{metric.name}_sum", labels, value.total)
        metric.add_sample(f"{metric.name}_created", labels, self._created)


class HttpMetrics:
    """The series that vLLM's web instrumentation adds: they appear with a route's first request."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._requests = Counter(
            "http_requests",
            "Total number of requests by method, status and handler.",
            ("method", "status", "handler"),
            registry=registry,
        )
        self._request_size = Summary(
            "http_request_size_bytes",
            f"Content length of incoming requests {_NO_PERCENTILE}",
            ("handler",),
            registry=registry,
        )
        self._response_size = Summary(
            "http_response_size_bytes",
            f"Content length of outgoing responses {_NO_PERCENTILE}",
            ("handler",),
            registry=registry,
        )
        self._fine = Histogram(
            "http_request_duration_highr_seconds",
            "Latency with many buckets but no API specific labels. "
            "Made for more accurate percentile calculations. ",
            buckets=_FINE,
            registry=registry,
        )
        self._coarse = Histogram(
            "http_request_duration_seconds",
            "Latency with only few buckets by handler. "
            "Made to be only used if aggregation by handler is important. ",
            ("method", "handler"),
            buckets=(0.1, 0.5, 1),
            registry=registry,
        )

    def observe(
        self,
        *,
        method: str,
        handler: str,
        status: int,
        request_bytes: int,
        response_bytes: int,
        seconds: float,
    ) -> None:
        """One answered request; sizes are the Content-Length headers, 0 where there is none."""
        self._requests.labels(method, f"{status // 100}xx", handler).inc()
        self._request_size.labels(handler).observe(request_bytes)
        self._response_size.labels(handler).observe(response_bytes)
        self._fine.observe(seconds)
        self._coarse.labels(method, handler).observe(seconds)


def new_registry(collector: EngineCollector | None) -> tuple[CollectorRegistry, HttpMetrics]:
    """A registry in the order of the real page: interpreter, process, engine, HTTP."""
    registry = CollectorRegistry()
    GCCollector(registry=registry)
    PlatformCollector(registry=registry)
    ProcessCollector(registry=registry)
    if collector is not None:
        registry.register(collector)
    return registry, HttpMetrics(registry)
