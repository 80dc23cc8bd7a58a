"""Continuous batching in simulated time: the engine core, without I/O and without a clock of its own.

`loop` calls `advance(now)` every now and then; all steps that end by `now` are then simulated one by one,
at the times at which they would have happened, with the requests that had arrived by their start. So
counters are exact for every step although the process wakes up rarely.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field

from vllm_sim import speed
from vllm_sim.knobs import Knobs
from vllm_sim.stats import Stats

_DRIFT_MEMORY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a step: running requests, tokens in one step, KV blocks and their size in tokens."""

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_blocks: int
    block_size: int
    prefix_caching: bool = True

    def blocks(self, tokens: int) -> int:
        """KV blocks that so many tokens fill."""
        return -(-tokens // self.block_size)


@dataclass(slots=True, eq=False)
class Request:
    """One generation: after `output_tokens` it ends with `ending`, a FINISH_REASON. Times in seconds."""

    prompt_tokens: int
    output_tokens: int
    max_tokens: int
    ending: str
    arrived: float
    generated: int = 0
    finish_reason: str | None = None
    computed: bool = False
    """Whether its KV cache is there: it decodes, rather than being prefilled (again)."""
    cached_tokens: int = 0
    preemptions: int = 0
    scheduled_at: float = 0.0
    first_token_at: float = 0.0
    last_token_at: float = 0.0
    drafting: bool = False
    thresholds: tuple[float, ...] = ()
    logit_shift: float = 0.0

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.generated


@dataclass
class Scheduler:
    """One engine. `speculative_tokens` 0 means no drafter."""

    knobs: Knobs
    limits: Limits
    stats: Stats
    rng: random.Random
    clock: float
    speculative_tokens: int = 0
    stopped: bool = False
    """True: no step happens any more, as in an engine that hangs."""
    running: list[Request] = field(default_factory=list)
    waiting: deque[Request] = field(default_factory=deque)
    _step_ends: float | None = None
    _prefilling: int = 0
    _drift: float = 0.0
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock

    @property
    def busy(self) -> bool:
        return bool(self.running or self.waiting)

    def submit(self, request: Request) -> None:
        request.logit_shift = self.rng.gauss(0, 1)
        self._set_thresholds(request)
        self._spoil(request)
        self.waiting.append(request)

    def abort(self, request: Request) -> None:
        """The client went away: it leaves the batch and, as in vLLM, no per-request statistics."""
        if request.finish_reason is None:
            request.finish_reason = "abort"
            (self.running if request in self.running else self.waiting).remove(request)

    def change_knobs(self, knobs: Knobs) -> None:
        """Takes effect at the next step; running requests keep their own shift."""
        self.knobs = knobs
        for request in (*self.running, *self.waiting):
            self._set_thresholds(request)

    def advance(self, now: float) -> None:
        """Simulate every step that ends by `now`. Gauges are the engine's own: they freeze when it hangs."""
        if self.stopped:
            return
        while self._begin_step() and self._step_ends is not None and self._step_ends <= now:
            self._finish_step(self._step_ends)
        self._update_gauges()

    def resume(self, now: float) -> None:
        """Go on after a hang: the step that hung ends now, as one long inter-token latency."""
        self.stopped = False
        if self._step_ends is not None:
            self._step_ends = max(self._step_ends, now)

    def _set_thresholds(self, request: Request) -> None:
        shift = self.knobs.sticky * request.logit_shift
        age = request.arrived - self._began
        request.thresholds = speed.rejection_thresholds(self.knobs, self.speculative_tokens, shift, age)

    def _spoil(self, request: Request) -> None:
        """Some requests end half-way, for a reason that the engine counts."""
        errors, repetitions = self.knobs.error_share, self.knobs.repetition_share
        if errors + repetitions == 0:
            return
        chance = self.rng.random()
        if chance < errors + repetitions:
            request.ending = "error" if chance < errors else "repetition"
            request.output_tokens = max(1, request.output_tokens // 2)

    def _begin_step(self) -> bool:
        """Plan the next step unless one is under way; False when there is nothing to do."""
        if self._step_ends is not None:
            return True
        if not self.running:
            if not self.waiting:
                return False
            self.clock = max(self.clock, self.waiting[0].arrived)
        self._preempt()
        decoding = len(self.running)
        prompt_tokens = self._admit()
        drafts = self._choose_drafts(decoding)
        seconds = speed.step_seconds(
            self.knobs,
            decoding=decoding,
            drafted=drafts * self.speculative_tokens,
            drafts=drafts,
            prompt_tokens=prompt_tokens,
        )
        self._step_ends = self.clock + seconds * self._disturbance(seconds)
        self._prefilling = prompt_tokens
        return True

    def _preempt(self) -> None:
        """Where the KV cache is full, the youngest give up their place and are prefilled again later."""
        used = self._used_blocks()
        while used > self.limits.kv_blocks and len(self.running) > 1:
            request = self.running.pop()
            used -= self.limits.blocks(request.tokens)
            request.computed = request.drafting = False
            request.preemptions += 1
            self.stats.preemptions += 1
            self.waiting.appendleft(request)

    def _admit(self) -> int:
        """Move arrived requests into the batch, within its bounds; returns the tokens to prefill."""
        tokens = 0
        free = self.limits.kv_blocks - self._used_blocks()
        while self.waiting and len(self.running) < self._seats:
            request = self.waiting[0]
            prefill = request.tokens - self._cached(request)
            free -= self.limits.blocks(request.tokens + 1)
            if request.arrived > self.clock or (self.running and free < 0):
                break
            if tokens and tokens + prefill > self.limits.max_num_batched_tokens:
                break
            tokens += prefill
            if not request.generated:
                self._count_prompt(request)
            self.running.append(self.waiting.popleft())
        return tokens

    @property
    def _seats(self) -> float:
        return min(self.limits.max_num_seqs, self.knobs.slots or math.inf)

    def _used_blocks(self) -> int:
        return sum(self.limits.blocks(request.tokens) for request in self.running)

    def _cached(self, request: Request) -> int:
        """Prompt tokens in the prefix cache; at least one is always computed. vLLM finds whole blocks only;
        here the share must not depend on the lengths of prompts."""
        if not self.limits.prefix_caching:
            return 0
        return min(round(self.knobs.prefix_hits * request.prompt_tokens), request.prompt_tokens - 1)

    def _count_prompt(self, request: Request) -> None:
        request.scheduled_at = self.clock
        request.cached_tokens = self._cached(request)
        self.stats.prompt_tokens += request.prompt_tokens
        self.stats.prefix_queries += request.prompt_tokens if self.limits.prefix_caching else 0
        self.stats.prefix_hits += request.cached_tokens

    def _choose_drafts(self, decoding: int) -> int:
        if not self.speculative_tokens:
            return 0
        coverage = self.knobs.coverage
        drafts = 0
        for request in self.running[:decoding]:
            request.drafting = coverage >= 1 or self.rng.random() < coverage
            drafts += request.drafting
        return drafts

    def _disturbance(self, seconds: float) -> float:
        memory = math.exp(-seconds / _DRIFT_MEMORY_SECONDS)
        self._drift = memory * self._drift + math.sqrt(1 - memory * memory) * self.rng.gauss(
            0, self.knobs.drift
        )
        young = self.clock - self._began < self.knobs.young_seconds
        slowdown = self.knobs.young_slowdown if young else 1.0
        return slowdown * math.exp(self._drift + self.rng.gauss(0, self.knobs.noise))

    def _finish_step(self, end: float) -> None:
        stats, duration = self.stats, end - self.clock
        decoding = tokens = 0
        finished: list[Request] = []
        for request in self.running:
            if request.computed:
                decoding += 1
                gained = 1 + self._accept(request)
            else:
                gained = 1
                self._end_prefill(request, end)
            # What is accepted beyond the end of the answer is counted as accepted, then dropped.
            gained = min(gained, request.output_tokens - request.generated)
            request.generated += gained
            request.last_token_at = end
            tokens += gained
            if request.generated >= request.output_tokens:
                finished.append(request)
        stats.generation_tokens += tokens
        stats.inter_token_latency.observe(duration, decoding)
        stats.iteration_tokens.observe(tokens + self._prefilling)
        self.clock = end
        self._step_ends = None
        for request in finished:
            self._finish(request)

    def _end_prefill(self, request: Request, end: float) -> None:
        """The first token, or the next one of a request that was preempted and had its client wait."""
        request.computed = True
        if request.generated:
            self.stats.inter_token_latency.observe(end - request.last_token_at)
            return
        request.first_token_at = end
        self.stats.ttft.observe(end - request.arrived)

    def _accept(self, request: Request) -> int:
        if not request.drafting:
            return 0
        accepted = bisect_right(request.thresholds, self.rng.random())
        self.stats.rounds_by_accepted[accepted] += 1
        self.stats.drafted_tokens += self.speculative_tokens
        return accepted

    def _finish(self, request: Request) -> None:
        self.running.remove(request)
        request.finish_reason = request.ending
        request.drafting = False
        stats = self.stats
        decode = request.last_token_at - request.first_token_at
        stats.finished[request.ending] += 1
        stats.e2e.observe(request.last_token_at - request.arrived)
        stats.queue_time.observe(request.scheduled_at - request.arrived)
        stats.prefill_time.observe(request.first_token_at - request.scheduled_at)
        stats.decode_time.observe(decode)
        stats.inference_time.observe(request.last_token_at - request.scheduled_at)
        stats.time_per_output_token.observe(
            decode / (request.generated - 1) if request.generated > 1 else 0.0
        )
        stats.request_prompt_tokens.observe(request.prompt_tokens)
        stats.request_generation_tokens.observe(request.generated)
        stats.request_max_tokens.observe(request.max_tokens)
        stats.request_computed_tokens.observe(request.prompt_tokens - request.cached_tokens)
        stats.request_preemptions.observe(request.preemptions)

    def _update_gauges(self) -> None:
        self.stats.running = len(self.running)
        self.stats.waiting = len(self.waiting)
        self.stats.kv_usage = min(1.0, self._used_blocks() / self.limits.kv_blocks)
