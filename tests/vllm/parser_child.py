"""Run by the engine's own interpreter: prints what vLLM's argument parser and its environment know, as JSON.

`{"version": "0.32.0", "flags": {"--dtype": "one", ...}, "variables": ["VLLM_PORT", ...], "refused": [...]}`;
a flag takes none, one, maybe (one or none) or some values, short flags are left out. `refused` has, for each
list of arguments in the JSON on stdin, what the parser says against it, or null.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import sys
from typing import Any

TAKES = {0: "none", None: "one", "?": "maybe", "+": "some"}
# Where the parser of `vllm serve` is made, newest place first.
PLACES = ("common", "launchers", "openai")


def main() -> None:
    vllm = importlib.import_module("vllm")
    envs = importlib.import_module("vllm.envs")
    parser = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser(prog="vllm serve")
    serve_parser(parser)
    refused = [refusal(parser, arguments) for arguments in json.load(sys.stdin)]
    known = {
        name: TAKES[action.nargs]
        for name, action in parser._option_string_actions.items()
        if name.startswith("--") and name != "--help"
    }
    variables = sorted(name for name in envs.environment_variables if name.startswith("VLLM_"))
    found = {"version": vllm.__version__, "flags": known, "variables": variables, "refused": refused}
    json.dump(found, sys.stdout)


def refusal(parser: Any, arguments: list[str]) -> str | None:
    """What is wrong with them; None where the parser takes them."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(["org/model", *arguments])
    except SystemExit:
        return said.getvalue()
    except (ValueError, argparse.ArgumentTypeError) as error:
        return str(error)
    return None


def serve_parser(parser: Any) -> None:
    """Adds the flags of `vllm serve`."""
    for place in PLACES:
        try:
            module = importlib.import_module(f"vllm.entrypoints.{place}.cli_args")
        except ImportError:
            continue
        module.make_arg_parser(parser)
        return
    raise SystemExit("the parser of `vllm serve` is in none of the known places")


if __name__ == "__main__":
    main()
