"""Says for command lines whether vLLM takes them, without starting an engine.

Run by an interpreter that has vLLM; nothing of SpecDeploy is imported, it is not installed there. `asking` is
the other end; the argument is the descriptor that it reads answers from. The first line written there is
`{"version": "0.32.0", "platform": "cpu"}`. Then each JSON line of stdin, `{"arguments": ["MODEL", "--flag",
...]}` (what would follow `vllm serve`), is answered by the fields of `asking.Answer`: parsed by vLLM's own
parser, then made into the engine's whole configuration. Of a model only its configuration files are read.
"""

# mypy: disable-error-code="import-not-found"

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

import torch
import vllm
from huggingface_hub import try_to_load_from_cache
from vllm.config import speculative
from vllm.config import vllm as engine_config
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.cli.serve import ServeSubcommand
from vllm.model_executor.models import registry
from vllm.platforms import current_platform
from vllm.utils.argparse_utils import FlexibleArgumentParser

# A model is described by one of these; the second is Mistral's own.
CONFIGURATIONS = ("config.json", "params.json")

# Refusals that are about this installation, by their words, and what they mean.
ELSEWHERE = {
    "failed to be inspected": "this vLLM can't import the model's code: a package that it needs is missing",
    "failed to tokenize": "the tokenizer of the model is not here",
}
_CPU = "this is vLLM's CPU build, and what it refuses is for GPUs"
OF_THE_CPU = dict.fromkeys(("supported on current platform", "only supported on CUDA"), _CPU)


class Refusal(Exception):  # noqa: N818 (an answer, not an error of ours)
    """vLLM does not take this command line."""


def main(questions: TextIO, answers: TextIO) -> None:
    speculative.has_arctic_inference = lambda: True  # the image decides, not this installation
    if current_platform.is_cpu():
        answer_for_gpus()
    parser = serve_parser()
    say(answers, version=vllm.__version__, platform=current_platform.device_type)
    for line in questions:
        say(answers, **answer(parser, json.loads(line)["arguments"]))


def say(answers: TextIO, **words: object) -> None:
    print(json.dumps(words), file=answers, flush=True)


def answer_for_gpus() -> None:
    """Lets a CPU build answer as a GPU build would, where its own rules would refuse what runs on a GPU.

    Triton and whole-model graphs: a CPU build has neither, so it takes the older model runner and refuses
    `dspark` and adaptive verification, whatever else is right with them. AMX: on a processor without it
    latent attention has no prefix caching, and a hybrid target with such attention is refused. A model's
    class is looked at in this process, not in one of its own (10 s each): that is for a GPU's driver.
    """
    registry._run_in_subprocess = lambda look: look()
    engine_config.HAS_TRITON = True
    torch.cpu._is_amx_tile_supported = lambda: True
    type(current_platform).support_static_graph_mode = classmethod(lambda _: True)


def serve_parser() -> FlexibleArgumentParser:
    parser = FlexibleArgumentParser(prog="vllm")
    ServeSubcommand().subparser_init(parser.add_subparsers())
    return parser


def answer(parser: FlexibleArgumentParser, arguments: list[str]) -> dict[str, object]:
    try:
        parsed = parse(parser, arguments)
    except Refusal as refusal:
        return {"ok": False, "error": str(refusal)}
    models = named_models(parsed)
    try:
        config = AsyncEngineArgs.from_cli_args(parsed).create_engine_config()
    except Exception as refusal:  # whatever vLLM raises is the answer
        error = str(refusal) or type(refusal).__name__
        return {"ok": False, "error": error, "unasked": why_unasked(models, error)}
    return {"ok": True, "method": config.speculative_config.method if config.speculative_config else ""}


def why_unasked(models: list[str], error: str) -> str:
    """Why the refusal `error` is about this installation; empty when it is about the arguments."""
    if missing := [model for model in models if not is_here(model)]:
        return f"the configuration of {' and '.join(missing)} is not here"
    reasons = {**ELSEWHERE, **(OF_THE_CPU if current_platform.is_cpu() else {})}
    return next((reason for words, reason in reasons.items() if words in error), "")


def parse(parser: FlexibleArgumentParser, arguments: list[str]) -> Any:
    """The parsed command line.

    Raises:
        Refusal: with what the parser says before it would end with exit code 2, without how it is used.
    """
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            parsed = parser.parse_args(["serve", *arguments])
            ServeSubcommand().validate(parsed)
    except SystemExit as stop:
        raise Refusal(complaint.getvalue().rpartition(": error: ")[2].strip()) from stop
    except Exception as refusal:
        raise Refusal(str(refusal) or type(refusal).__name__) from refusal
    parsed.model = parsed.model_tag or parsed.model
    return parsed


def named_models(parsed: Any) -> list[str]:
    """The target, and the draft checkpoint if one is named."""
    speculative = parsed.speculative_config
    draft = speculative.get("model") if isinstance(speculative, dict) else None
    return [parsed.model, *([draft] if isinstance(draft, str) else [])]


def is_here(model: str) -> bool:
    """Whether the model's configuration is in a folder of that name, or in the hub's cache."""
    if any(Path(model, name).is_file() for name in CONFIGURATIONS):
        return True
    with contextlib.suppress(ValueError):  # it is no name of a repository
        return any(isinstance(try_to_load_from_cache(model, name), str) for name in CONFIGURATIONS)
    return False


if __name__ == "__main__":
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        main(sys.stdin, pipe)
