"""Runs inside the vLLM venv: says for each command line whether vLLM accepts it, without starting an engine.

Reads JSON lines `{"args": ["MODEL", "--flag", ...]}`, what would follow `vllm serve`, and answers each with
`{"ok": bool, "error": str}`: parsed by vLLM's own parser, then made into the engine's whole configuration.
Only `config.json` of a model is read, never its weights. `engine_probe.py` is the other end.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from typing import TextIO

from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.entrypoints.cli.serve import ServeSubcommand
from vllm.utils.argparse_utils import FlexibleArgumentParser


class Refusal(Exception):  # noqa: N818 (an answer, not an error of ours)
    """vLLM does not take this command line."""


def check(parser: FlexibleArgumentParser, args: list[str]) -> None:
    """Raises Refusal, or whatever vLLM raises, if the engine would not start with `args`."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            parsed = parser.parse_args(["serve", *args])
    except SystemExit as stop:
        raise Refusal(complaint.getvalue().strip().splitlines()[-1]) from stop
    ServeSubcommand().validate(parsed)
    parsed.model = parsed.model_tag or parsed.model
    AsyncEngineArgs.from_cli_args(parsed).create_engine_config()


def answer(parser: FlexibleArgumentParser, args: list[str]) -> dict[str, object]:
    try:
        check(parser, args)
    except Exception as refusal:  # whatever vLLM raises is the answer
        return {"ok": False, "error": str(refusal) or type(refusal).__name__}
    return {"ok": True, "error": ""}


def serve_parser() -> FlexibleArgumentParser:
    parser = FlexibleArgumentParser(prog="vllm")
    ServeSubcommand().subparser_init(parser.add_subparsers())
    return parser


def main(questions: TextIO, answers: TextIO) -> None:
    parser = serve_parser()
    for line in questions:
        print(json.dumps(answer(parser, json.loads(line)["args"])), file=answers, flush=True)


if __name__ == "__main__":
    answers = sys.stdout
    sys.stdout = sys.stderr  # vLLM prints; the answers' stream is for answers only
    main(sys.stdin, answers)
