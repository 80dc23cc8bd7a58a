"""vLLM's own defaults that differ by release and by the memory of a GPU, where the rules reckon with them.

Read from `EngineArgs` and `CacheConfig` in vLLM's released sources, every minor release from 0.18.0 to
0.33.0, for the API server. `docs/versions.md` is printed from here.
"""

from dataclasses import dataclass

from specdeploy.engine.versions import ALWAYS, Span, Version, between, since


@dataclass(frozen=True)
class Default:
    """What a flag is when it is absent, in `span`, on GPUs with at least `memory_gib` GiB."""

    flag: str
    value: float
    span: Span = ALWAYS
    memory_gib: float = 0


# For each flag the largest GPUs first: the first row that holds is in force.
DEFAULTS: tuple[Default, ...] = (
    Default("--gpu-memory-utilization", 0.9, between(None, "0.20")),
    Default("--gpu-memory-utilization", 0.92, since("0.20")),
    Default("--max-num-batched-tokens", 16384, since("0.28"), memory_gib=160),
    Default("--max-num-batched-tokens", 8192, memory_gib=70),
    Default("--max-num-batched-tokens", 2048),
    Default("--max-num-seqs", 1024, memory_gib=70),
    Default("--max-num-seqs", 256),
)
# Memory from which on other defaults hold, in GiB.
MEMORY_CLASSES: tuple[float, ...] = tuple(sorted({row.memory_gib for row in DEFAULTS}))


def default(flag: str, version: Version | None, memory_gib: float) -> float:
    """The default of a flag of `DEFAULTS` on a GPU with this memory.

    Raises:
        KeyError: the table does not have the flag.
    """
    for row in DEFAULTS:
        if row.flag == flag and row.span.holds(version) and memory_gib >= row.memory_gib:
            return row.value
    raise KeyError(flag)
