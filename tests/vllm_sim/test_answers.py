"""The operator's startup probe against the simulated engine: what it finds in the log, and who agrees."""

from __future__ import annotations

import asyncio
import sys

import pytest

from specdeploy.engine.questions import QUESTION_SET, QUESTIONS
from specdeploy.judge.answers import read
from specdeploy.judge.guards.agreement import agreement
from specdeploy.manifests.probes import build_probes
from tests.engine.specs import smallest

DRAFTER = ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 3}')


async def answers(sim, folder, name):
    """What the probe finds out about a running engine."""
    _, *words = build_probes(smallest("servedModelName", "m"))["startupProbe"]["exec"]["command"]
    log = folder / name
    command = [*words[:-4], str(sim.running.port), str(folder / f"{name}-mark"), str(log), words[-1]]
    probe = await asyncio.create_subprocess_exec(sys.executable, *command)
    assert await asyncio.wait_for(probe.wait(), 120) == 0
    return read(log.read_text(), QUESTION_SET)


@pytest.mark.parametrize(("share", "broken"), [("0", False), ("0.3", True), ("1", True)])
async def test_a_drafter_agrees_with_the_baseline_unless_it_corrupts(simulate, tmp_path, share, broken):
    async with simulate() as plain, simulate(*DRAFTER, VLLM_SIM_CORRUPT_SHARE=share) as drafting:
        theirs = await answers(plain, tmp_path, "baseline")
        ours = await answers(drafting, tmp_path, "drafter")
    found = agreement(ours, [theirs])
    assert found.compared == len(QUESTIONS)
    assert found.broken(0.25) is broken
    assert broken or not found.differing
