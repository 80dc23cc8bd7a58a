"""A short closed loop of clients against one or more engines, and what their counters moved by meanwhile.

Engines that are compared get their load in the same seconds, so that whatever else runs on the machine slows
all of them alike. Counters are read while nothing runs, before and after, so that identities hold exactly.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx
from prometheus_client.parser import text_string_to_metric_families

from tests.vllm.server import SERVED_NAME, Server
from tools.vllm.tiny_text import example

MAX_TOKENS = 128


@dataclass(frozen=True)
class Moved:
    """What the `vllm:` series of one engine moved by over a load, summed over labels, by sample name."""

    deltas: dict[str, float]

    def __getitem__(self, series: str) -> float:
        return self.deltas[f"vllm:{series}"]

    @property
    def decode_tokens(self) -> float:
        return self["generation_tokens_total"] - self["time_to_first_token_seconds_count"]

    @property
    def decode_seconds(self) -> float:
        return self["inter_token_latency_seconds_sum"]

    @property
    def speed(self) -> float:
        """R: decode tokens per request-decode-second."""
        return self.decode_tokens / self.decode_seconds


def series_sums(page: str) -> dict[str, float]:
    """The value of every `vllm:` sample of a metrics page, summed over its label sets, by sample name."""
    sums: dict[str, float] = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            if sample.name.startswith("vllm:"):
                sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    return sums


def drive(servers: Sequence[Server], *, seconds: float, clients: int = 4) -> list[Moved]:
    """Loads all `servers` at once, each with `clients` requests at a time; after `seconds` no new ones start.

    Raises:
        httpx.HTTPError: a request failed.
    """
    before = [series_sums(server.metrics_page()) for server in servers]
    closing = threading.Event()
    with ThreadPoolExecutor(len(servers) * clients) as pool:
        loops = [
            pool.submit(client_loop, server.url, seed, closing)
            for server in servers
            for seed in range(clients)
        ]
        time.sleep(seconds)
        closing.set()
        for loop in loops:
            loop.result()
    after = [series_sums(server.metrics_page()) for server in servers]
    return [Moved(difference(old, new)) for old, new in zip(before, after, strict=True)]


def client_loop(url: str, seed: int, closing: threading.Event) -> None:
    rng = random.Random(seed)
    with httpx.Client(base_url=url, timeout=240) as client:
        while not closing.is_set():
            complete(client, example(rng)[0])


def complete(client: httpx.Client, prompt: str) -> str:
    """One greedy chat completion of exactly MAX_TOKENS tokens; returns its text."""
    body = {
        "model": SERVED_NAME,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        "ignore_eos": True,
    }
    response = client.post("/v1/chat/completions", json=body)
    response.raise_for_status()
    text: str = response.json()["choices"][0]["message"]["content"]
    return text


def difference(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    return {name: value - before.get(name, 0.0) for name, value in after.items()}
