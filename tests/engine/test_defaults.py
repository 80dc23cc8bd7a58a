"""vLLM's defaults by release and by memory."""

from __future__ import annotations

import pytest

from specdeploy.engine.tables.defaults import default
from specdeploy.engine.versions import parse_version


@pytest.mark.parametrize(
    ("flag", "version", "memory_gib", "value"),
    [
        ("--gpu-memory-utilization", "0.19.1", 192, 0.9),
        ("--gpu-memory-utilization", "0.20.0", 192, 0.92),
        ("--gpu-memory-utilization", None, 64, 0.92),
        ("--max-num-batched-tokens", "0.27.1", 192, 8192),
        ("--max-num-batched-tokens", "0.28.0", 192, 16384),
        ("--max-num-batched-tokens", "0.33.0", 128, 8192),
        ("--max-num-batched-tokens", "0.33.0", 64, 2048),
        ("--max-num-seqs", "0.18.0", 192, 1024),
        ("--max-num-seqs", "0.33.0", 64, 256),
    ],
)
def test_a_default_depends_on_the_release_and_the_gpus_memory(
    flag: str, version: str | None, memory_gib: float, value: float
) -> None:
    assert default(flag, parse_version(version) if version else None, memory_gib) == value


def test_a_flag_without_a_row_has_no_default_here() -> None:
    with pytest.raises(KeyError):
        default("--dtype", None, 192)
