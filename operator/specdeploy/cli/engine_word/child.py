"""Says for command lines whether vLLM takes them, without starting an engine.

Run by an interpreter that has vLLM; nothing of SpecDeploy is imported, it is not installed there. `asking` is
the other end; the argument is the descriptor that it reads answers from. The first line written there is
`{"version": "0.32.0", "platform": "cpu"}`. Then each JSON line of stdin, `{"arguments": ["MODEL", "--flag",
...], "variables": {"VLLM_X": "1"}, "memory_gib": 192}` (what would follow `vllm serve`, its environment, and
the memory of its GPU or null), is answered by the fields of `asking.Answer`: parsed by vLLM's own parser,
then made into the engine's whole configuration. Of a model only its configuration files are read.
"""

# mypy: disable-error-code="import-not-found"

import contextlib
import copy
import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import vllm  # first: where it is missing, that is what is told

# isort: split
import torch
from huggingface_hub import try_to_load_from_cache
from vllm.config import speculative
from vllm.config import vllm as engine_config
from vllm.engine.arg_utils import AsyncEngineArgs, EngineArgs
from vllm.entrypoints.cli.serve import ServeSubcommand
from vllm.model_executor.models import registry
from vllm.platforms import current_platform
from vllm.usage.usage_lib import UsageContext
from vllm.utils.argparse_utils import FlexibleArgumentParser

# A model is described by one of these; the second is Mistral's own.
CONFIGURATIONS = ("config.json", "params.json")

# Refusals that are about this installation, by their words, and what they mean.
ELSEWHERE = {
    "failed to be inspected": "this vLLM can't import the model's code: a package that it needs is missing",
    "failed to tokenize": "the tokenizer of the model is not here",
    "No module named": "a package that it needs is missing here",
    "Please install ": "a package that it needs is missing here",
    "Failed to import Ray": "the package ray is missing here",
}
_CPU = "this is vLLM's CPU build, and what it refuses is for GPUs"
# Where the API server's own look at its arguments is, newest place first.
SERVERS = ("vllm.entrypoints.launchers.launcher", "vllm.entrypoints.openai.api_server")
# Taken for the GPU's memory where the spec does not say which GPU it is: its defaults forbid the least.
LARGE_GIB = 192.0

OF_THE_CPU = dict.fromkeys(("supported on current platform", "only supported on CUDA"), _CPU)


class Refusal(Exception):  # noqa: N818 (an answer, not an error of ours)
    """vLLM does not take this command line."""


def main(questions: TextIO, answers: TextIO) -> None:
    speculative.has_arctic_inference = lambda: True  # the image decides, not this installation
    if current_platform.is_cpu():
        answer_for_gpus()
    check_server, parser = server_check(), serve_parser()
    say(answers, version=vllm.__version__, platform=current_platform.device_type)
    for line in questions:
        question = json.loads(line)
        with surroundings(question.get("variables") or {}, question.get("memory_gib")):
            say(answers, **answer(parser, check_server, question["arguments"]))


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
    EngineArgs.get_batch_defaults = classmethod(
        batch_defaults_of_gpus(EngineArgs.get_batch_defaults.__func__)
    )


def batch_defaults_of_gpus(own: Callable[..., Any]) -> Callable[..., Any]:
    """vLLM's reckoning of its default batch, made to ask for a GPU's memory and not for a CPU's ranks."""

    def reckon(cls: type, world_size: int) -> Any:
        platform = type(current_platform)
        platform.is_cpu = lambda _: False
        try:
            return own(cls, world_size)
        finally:
            del platform.is_cpu  # the one that it inherits holds again

    return reckon


@contextlib.contextmanager
def surroundings(variables: Mapping[str, str], memory_gib: float | None) -> Iterator[None]:
    """The environment and the GPU that one question is about."""
    if memory_gib is not None or current_platform.is_cpu():
        memory = int((memory_gib or LARGE_GIB) * 2**30)
        type(current_platform).get_device_total_memory = classmethod(lambda *_, **__: memory)
        type(current_platform).get_device_name = classmethod(lambda *_, **__: "AMD Instinct")
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def serve_parser() -> FlexibleArgumentParser:
    parser = FlexibleArgumentParser(prog="vllm")
    ServeSubcommand().subparser_init(parser.add_subparsers(dest="subparser"))
    return parser


def server_check() -> Callable[[Any], None]:
    """What the API server refuses before it starts its engine."""
    for place in SERVERS:
        with contextlib.suppress(ImportError, AttributeError):
            check: Callable[[Any], None] = importlib.import_module(place).validate_api_server_args
            return check
    return lambda _: None


def answer(
    parser: FlexibleArgumentParser, check_server: Callable[[Any], None], arguments: list[str]
) -> dict[str, object]:
    try:
        parsed = parse(parser, check_server, arguments)
    except Refusal as refusal:
        return {"ok": False, "error": str(refusal)}
    models = named_models(parsed)
    try:
        args = AsyncEngineArgs.from_cli_args(parsed)
        if (
            args.enable_dbo and current_platform.is_cpu()
        ):  # it would turn that off, and not what it stands for
            args.ubatch_size = max(2, args.ubatch_size)
        config = args.create_engine_config(usage_context=UsageContext.OPENAI_API_SERVER)
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


def parse(parser: FlexibleArgumentParser, check_server: Callable[[Any], None], arguments: list[str]) -> Any:
    """The parsed command line, with nothing in it that the next one shares.

    Raises:
        Refusal: with what the parser says before it would end with exit code 2, without how it is used.
    """
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            # vLLM writes into objects that are the parser's own defaults.
            parsed = copy.deepcopy(parser.parse_args(["serve", *arguments]))
            ServeSubcommand().validate(parsed)
            if parsed.reasoning_parser_plugin:  # a file of the image, and what it adds is not known here
                parsed.reasoning_parser = ""
            if not (parsed.tool_parser_plugin or parsed.reasoning_parser_plugin):
                check_server(parsed)
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
