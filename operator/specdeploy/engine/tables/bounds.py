"""Bounds of the numbers that flags of `vllm serve` take. `rules.bounds` reads it.

Those of the parallel sizes and of the share of a GPU's memory have rules of their own. Source: vllm.config in
vLLM 0.18, 0.32 and 0.33; a bound that 0.18 does not have came somewhere before 0.32.
"""

import math
from dataclasses import dataclass

from specdeploy.engine.versions import ALWAYS, LATELY, Span


@dataclass(frozen=True)
class Bound:
    """Numbers from `least` to `most`, without the ends that are `open`; and `besides`, one that is taken too.

    `read`: the switch without which vLLM does not look at it; empty: it always does.
    """

    least: float
    most: float = math.inf
    open: str = ""
    besides: float | None = None
    span: Span = ALWAYS
    read: str = ""

    def holds(self, number: float) -> bool:
        """Whether it is within."""
        if number == self.besides:
            return True
        above = number > self.least if "least" in self.open else number >= self.least
        return above and (number < self.most if "most" in self.open else number <= self.most)

    @property
    def words(self) -> str:
        """`at least 1`, `above 0 and below 1`."""
        ends = [f"{'above' if 'least' in self.open else 'at least'} {self.least:g}"]
        if self.most < math.inf:
            ends.append(f"{'below' if 'most' in self.open else 'at most'} {self.most:g}")
        return " and ".join(ends)


_WHOLE, _NOT_NEGATIVE, _POSITIVE = Bound(1), Bound(0), Bound(0, open="least")
_WHOLE_LATELY, _NOT_NEGATIVE_LATELY = Bound(1, span=LATELY), Bound(0, span=LATELY)
_POSITIVE_LATELY = Bound(0, open="least", span=LATELY)
_LORA = "--enable-lora"

BOUNDS: dict[str, Bound] = {
    "--block-size": _POSITIVE_LATELY,
    "--cpu-offload-gb": _NOT_NEGATIVE,
    "--data-parallel-rank": _NOT_NEGATIVE_LATELY,
    "--data-parallel-rpc-port": Bound(1, 65535, span=LATELY),
    "--data-parallel-size-local": _NOT_NEGATIVE_LATELY,
    "--dbo-decode-token-threshold": _NOT_NEGATIVE_LATELY,
    "--dbo-prefill-token-threshold": _NOT_NEGATIVE_LATELY,
    "--decode-context-parallel-size": _WHOLE_LATELY,
    "--dp-sync-interval": _WHOLE,
    "--elastic-ep-max-dp-size": _WHOLE,
    "--kv-cache-metrics-sample": Bound(0, 1, open="least"),
    "--long-prefill-token-threshold": _NOT_NEGATIVE_LATELY,
    "--mamba-block-size": _POSITIVE,
    "--max-logprobs": Bound(-1, span=LATELY),
    "--max-lora-cls-labels": Bound(1, read=_LORA),
    "--max-loras": Bound(1, read=_LORA),
    "--max-model-len": Bound(1, besides=-1),
    "--max-num-active-seqs": _WHOLE,
    "--max-num-batched-tokens": _WHOLE,
    "--max-num-queued-reqs": _NOT_NEGATIVE_LATELY,
    "--max-num-queued-tokens": _NOT_NEGATIVE_LATELY,
    "--max-num-scheduled-tokens": _WHOLE_LATELY,
    "--max-num-seqs": _WHOLE,
    "--max-parallel-loading-workers": _WHOLE_LATELY,
    "--nnodes": _WHOLE_LATELY,
    "--node-rank": _NOT_NEGATIVE_LATELY,
    "--offload-group-size": _NOT_NEGATIVE,
    "--offload-num-in-group": _WHOLE,
    "--offload-prefetch-step": _NOT_NEGATIVE,
    "--optimization-level": Bound(0, 3),
    "--prefill-schedule-interval": _WHOLE_LATELY,
    "--prefix-cache-retention-interval": _NOT_NEGATIVE_LATELY,
    "--prefix-match-unit": _POSITIVE_LATELY,
    "--replayssm-buffer-len": _POSITIVE_LATELY,
    "--safetensors-prefetch-block-size": _WHOLE_LATELY,
    "--safetensors-prefetch-num-threads": _WHOLE_LATELY,
    "--sse-keep-alive-interval": _NOT_NEGATIVE_LATELY,
    "--stream-interval": _WHOLE,
    "--ubatch-size": _NOT_NEGATIVE_LATELY,
    "--watermark": Bound(0, 1, open="most", span=LATELY),
}

# Those that vLLM looks at where the target takes images or sound, and not elsewhere.
OF_MEDIA: dict[str, Bound] = {
    "--mm-encoder-fp8-scale-save-margin": _POSITIVE_LATELY,
    "--mm-ipc-gpu-memory-gb": _NOT_NEGATIVE_LATELY,
    "--mm-processor-cache-gb": _NOT_NEGATIVE,
    "--mm-shm-cache-max-object-size-mb": _NOT_NEGATIVE,
    "--video-pruning-rate": Bound(0, 1, open="most"),
}
