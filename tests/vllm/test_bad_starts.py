"""How the real `vllm serve` refuses what it can't run: exit code and text, before it loads any weights."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.vllm.server import Server, running, speculative_args
from tools.vllm.environment import VllmEnvironment

pytestmark = pytest.mark.vllm

EXIT_SECONDS = 300

CASES = {
    "broken-json": (("--speculative-config", '{"method": "ngram"'), 2, "--speculative-config"),
    "unknown-flag": (("--no-such-flag", "1"), 2, "--no-such-flag"),
    "unknown-key": (
        speculative_args(method="ngram", num_speculative_tokens=3, no_such_key=1),
        1,
        "Unexpected keyword argument",
    ),
    "unknown-method": (
        speculative_args(method="no_such_method", num_speculative_tokens=3),
        1,
        "Input should be",
    ),
}


@pytest.fixture(scope="module")
def bad_starts(vllm_environment: VllmEnvironment, log_folder: Path) -> Iterator[dict[str, Server]]:
    """All of them started together: each spends its time importing."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(running(vllm_environment, log_folder, name, args))
            for name, (args, _, _) in CASES.items()
        }


@pytest.mark.parametrize(("name", "code", "text"), [(name, *case[1:]) for name, case in CASES.items()])
def test_a_bad_start_exits_with_the_code_and_the_text_of_its_kind(
    bad_starts: dict[str, Server], name: str, code: int, text: str
) -> None:
    server = bad_starts[name]
    try:
        left_with = server.process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{name} still runs after {EXIT_SECONDS} s")
    assert left_with == code
    assert text in server.log.read_text()
