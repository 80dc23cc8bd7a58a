"""The 84 panels of AMD's measurements (vLLM blog, August 2026, appendix): 21 pairs of target and drafter, on
four workloads each. Every configuration renders to the command that is written down, and is called good.

They ran vLLM 0.23.1rc1.dev1120, a development build that was ahead of the release of that number.
`UPDATE_GOLDEN=1` writes the commands anew.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from specdeploy.api.rule import Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.arguments import COMMAND, serve_arguments
from specdeploy.engine.catalogue.load import targets
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import setting_of

GOLDEN = Path(__file__).parent / "golden" / "panels.txt"
VERSION = "0.23.1"
IMAGE = "vllm/vllm-openai-rocm:nightly-0f0f28b53"
WORKLOADS = ("GSM8K", "MATH500", "HumanEval", "MBPP")
MEASURED_BY = "vLLM blog, speculative decoding on AMD GPUs, August 2026, appendix"


@dataclass(frozen=True)
class Drafted:
    """A drafter with the numbers of tokens that were measured; `best`: of each workload, in their order."""

    method: str
    model: str | None
    tokens: range
    best: tuple[int, int, int, int]
    backend: str | None = None
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Served:
    """A target as it was served."""

    model: str
    gpus: int
    drafters: tuple[Drafted, ...]
    gpu: str = "MI300X"
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    backend: str | None = None


BLOCKS = range(3, 16, 4)
GEMMA = ("--max-num-batched-tokens", "16384", "--max-model-len", "32768")
V2 = {"VLLM_USE_V2_MODEL_RUNNER": "1"}
TRITON = "TRITON_ATTN"
AITER = {"VLLM_ROCM_USE_AITER": "1"}
BUILT_IN = None


def upto(most: int) -> range:
    """1 to `most`."""
    return range(1, most + 1)


SERVED = (
    Served(
        "google/gemma-4-26B-A4B-it",
        2,
        (
            Drafted("mtp", "google/gemma-4-26B-A4B-it-assistant", upto(5), (5, 5, 5, 5)),
            Drafted("eagle3", "RedHatAI/gemma-4-26B-A4B-it-speculator.eagle3", upto(5), (3, 4, 4, 3)),
            Drafted("dflash", "z-lab/gemma-4-26B-A4B-it-DFlash", BLOCKS, (7, 7, 7, 7), TRITON),
        ),
        args=GEMMA,
        env=V2,
        backend=TRITON,
    ),
    Served(
        "google/gemma-4-31B-it",
        2,
        (
            Drafted("mtp", "google/gemma-4-31B-it-assistant", upto(4), (4, 4, 3, 4)),
            Drafted("eagle3", "RedHatAI/gemma-4-31B-it-speculator.eagle3", upto(5), (3, 5, 5, 3)),
            Drafted("dflash", "z-lab/gemma-4-31B-it-DFlash", BLOCKS, (7, 7, 11, 7), TRITON),
            Drafted("dspark", "RedHatAI/gemma-4-31B-it-speculator.dspark", BLOCKS, (7, 7, 7, 3), TRITON),
        ),
        args=GEMMA,
        env=V2,
        backend=TRITON,
    ),
    Served(
        "Qwen/Qwen3-8B",
        1,
        (
            Drafted("eagle3", "RedHatAI/Qwen3-8B-Thinking-speculator.eagle3", upto(7), (5, 7, 5, 5)),
            Drafted("dflash", "z-lab/Qwen3-8B-DFlash-b16", BLOCKS, (11, 15, 7, 7)),
            Drafted("dspark", "deepseek-ai/dspark_qwen3_8b_block7", BLOCKS, (7, 7, 7, 7)),
        ),
        args=("--max-model-len", "4096"),
    ),
    Served(
        "Qwen/Qwen3.5-27B",
        2,
        (
            Drafted("mtp", BUILT_IN, upto(7), (6, 5, 4, 4)),
            Drafted("dflash", "z-lab/Qwen3.5-27B-DFlash", BLOCKS, (7, 11, 3, 3)),
        ),
    ),
    Served(
        "Qwen/Qwen3.5-122B-A10B",
        4,
        (
            Drafted("mtp", BUILT_IN, upto(7), (7, 7, 7, 7)),
            Drafted("dflash", "z-lab/Qwen3.5-122B-A10B-DFlash", BLOCKS, (7, 7, 7, 3)),
        ),
    ),
    Served(
        "Qwen/Qwen3.6-27B",
        2,
        (
            Drafted("mtp", BUILT_IN, upto(5), (5, 5, 4, 4)),
            Drafted("dflash", "z-lab/Qwen3.6-27B-DFlash", BLOCKS, (7, 11, 3, 3)),
        ),
    ),
    Served(
        "Qwen/Qwen3.6-35B-A3B",
        2,
        (
            Drafted("mtp", BUILT_IN, upto(6), (6, 6, 6, 6), options={"moe_backend": "triton"}),
            Drafted("dflash", "z-lab/Qwen3.6-35B-A3B-DFlash", BLOCKS, (7, 7, 7, 7)),
        ),
        env=AITER,
    ),
    Served(
        "moonshotai/Kimi-K2.5",
        4,
        (
            Drafted("eagle3", "lightseekorg/kimi-k2.5-eagle3-mla", upto(4), (4, 4, 4, 4)),
            Drafted("dflash", "z-lab/Kimi-K2.5-DFlash", BLOCKS, (7, 7, 7, 7)),
        ),
        env={**AITER, "VLLM_ROCM_QUICK_REDUCE_QUANTIZATION": "INT4"},
    ),
    Served(
        "MiniMaxAI/MiniMax-M3-MXFP8",
        8,
        (Drafted("eagle3", "Inferact/MiniMax-M3-EAGLE3", upto(5), (4, 4, 4, 4), TRITON),),
        gpu="MI355X",
        args=("--block-size", "128"),
        backend=TRITON,
    ),
)
PAIRS = [(served, drafted) for served in SERVED for drafted in served.drafters]
CONFIGURATIONS = [(served, drafted, n) for served, drafted in PAIRS for n in drafted.tokens]
NAMES = [f"{s.model.rpartition('/')[2]}-{d.method}-{n}" for s, d, n in CONFIGURATIONS]


def spec_of(served: Served, drafted: Drafted, tokens: int) -> Spec:
    """A SpecDeployment that serves it as it was measured."""
    drafter: dict[str, Any] = {"name": "d", "method": drafted.method, "numSpeculativeTokens": tokens}
    optional = {
        "model": drafted.model,
        "attentionBackend": drafted.backend,
        "options": drafted.options or None,
    }
    engine = {
        "image": IMAGE,
        "vllmVersion": VERSION,
        "args": list(served.args),
        "env": [{"name": name, "value": value} for name, value in served.env.items()],
        "attentionBackend": served.backend,
        "weights": {"hostPath": {"path": "/srv/models"}},
    }
    return Spec.model_validate(
        {
            "model": served.model,
            "replicas": 2,
            "accelerator": {"type": served.gpu, "count": served.gpus},
            "engine": {key: value for key, value in engine.items() if value},
            "drafters": [{**drafter, **{key: value for key, value in optional.items() if value}}],
        }
    )


def found(spec: Spec, severity: Severity) -> list[str]:
    """Findings of one severity, on the spec and its drafter."""
    setting = setting_of(spec)
    everything = [*on_spec(setting), *(each for found in on_drafters(setting).values() for each in found)]
    return [f"{each.code} {each}" for each in everything if each.severity is severity]


def command(served: Served, spec: Spec) -> str:
    """What would be typed: its variables and `vllm serve` with all arguments."""
    assert spec.drafters
    variables = [f"{name}={value}" for name, value in served.env.items()]
    return " ".join([*variables, shlex.join([*COMMAND, *serve_arguments(spec, spec.drafters[0])])])


def test_there_are_84_panels_of_21_pairs_in_100_configurations() -> None:
    assert len(PAIRS) * len(WORKLOADS) == 84
    assert len(CONFIGURATIONS) == len(set(NAMES)) == 100


def test_every_configuration_renders_to_the_command_that_is_written_down() -> None:
    commands = [command(served, spec_of(served, drafted, n)) for served, drafted, n in CONFIGURATIONS]
    text = "\n".join(commands) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text, "UPDATE_GOLDEN=1 writes it anew"


@pytest.mark.parametrize(("served", "drafted", "tokens"), CONFIGURATIONS, ids=NAMES)
def test_the_command_hands_vllm_the_measured_configuration(
    served: Served, drafted: Drafted, tokens: int
) -> None:
    spec = spec_of(served, drafted, tokens)
    assert spec.drafters
    words = serve_arguments(spec, spec.drafters[0])
    assert words[0] == served.model
    assert words[words.index("--tensor-parallel-size") + 1] == str(served.gpus)
    config = json.loads(words[words.index("--speculative-config") + 1])
    assert config["method"] == drafted.method
    assert config.get("model") == drafted.model
    assert config["num_speculative_tokens"] == tokens


@pytest.mark.parametrize(("served", "drafted", "tokens"), CONFIGURATIONS, ids=NAMES)
def test_no_measured_configuration_is_called_an_error(served: Served, drafted: Drafted, tokens: int) -> None:
    assert found(spec_of(served, drafted, tokens), Severity.ERROR) == []


# Warnings that a panel's best numbers of tokens keep: by target and method, the rule, and why it is right.
_DSPARK = ("SD302", "it came with 0.25; only a development build of 0.23.1 had it")
_BUDGET = ("SD510", "with 11 or 15 tokens it does not start with the default budget; theirs is not stated")
_EAGLE3 = ("SD644", "the drafter is left to vLLM's ROCM_ATTN; AMD saw no collapse there, #47854 did")
_ROWS = ("SD643", "seven tokens on vLLM's ROCM_AITER_MLA; they measured the speed and not the answers")
KEPT: dict[tuple[str, str], tuple[str, str]] = {
    ("google/gemma-4-31B-it", "dspark"): _DSPARK,
    ("Qwen/Qwen3-8B", "dspark"): _DSPARK,
    ("Qwen/Qwen3-8B", "dflash"): _BUDGET,
    ("Qwen/Qwen3.5-27B", "dflash"): _BUDGET,
    ("Qwen/Qwen3.6-27B", "dflash"): _BUDGET,
    ("google/gemma-4-26B-A4B-it", "eagle3"): _EAGLE3,
    ("google/gemma-4-31B-it", "eagle3"): _EAGLE3,
    ("Qwen/Qwen3-8B", "eagle3"): _EAGLE3,
    ("moonshotai/Kimi-K2.5", "dflash"): _ROWS,
    ("MiniMaxAI/MiniMax-M3-MXFP8", "eagle3"): ("SD804", "no release before 0.24 is known to run MiniMax-M3"),
}


@pytest.mark.parametrize(("served", "drafted"), PAIRS, ids=[f"{s.model}-{d.method}" for s, d in PAIRS])
def test_the_best_of_each_panel_has_no_warning_but_the_ones_that_are_right(
    served: Served, drafted: Drafted
) -> None:
    best = sorted(set(drafted.best))
    warned = [each for n in best for each in found(spec_of(served, drafted, n), Severity.WARNING)]
    kept = KEPT.get((served.model, drafted.method), ("", ""))[0]
    assert [each for each in warned if not kept or not each.startswith(kept)] == []
    assert bool(warned) is bool(kept)


@pytest.mark.parametrize(("served", "drafted"), PAIRS, ids=[f"{s.model}-{d.method}" for s, d in PAIRS])
def test_the_catalogue_has_the_best_of_each_panel(served: Served, drafted: Drafted) -> None:
    target = next(each for each in targets() if each.model == served.model)
    known = next(
        each for each in target.drafters if (each.method, each.model) == (drafted.method, drafted.model)
    )
    rows = {row.workload: row for row in known.measured if row.source == MEASURED_BY}
    assert tuple(rows[workload].tokens for workload in WORKLOADS) == drafted.best
    assert {(row.hardware, row.gpus) for row in rows.values()} == {(served.gpu, served.gpus)}
    assert all(known.tokens.least <= row.tokens <= known.tokens.most for row in rows.values())
    assert known.tokens.suggested in drafted.best
