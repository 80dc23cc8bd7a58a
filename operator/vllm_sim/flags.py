"""The command line of `vllm serve`, as far as this product and ordinary users pass it.

An unknown flag or a value of the wrong kind ends the process with code 2 and argparse's message, as in vLLM.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

DEFAULT_MODEL = "Qwen/Qwen3-0.6B"
_DOTTED = re.compile(r"(--speculative-config|-sc)\.([a-zA-Z_.]+)(?:=(.*))?", re.DOTALL)
_SPEC_SHORTHANDS = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}

_TEXT = (
    "--tokenizer --tokenizer-mode --revision --code-revision --tokenizer-revision --hf-token --dtype "
    "--kv-cache-dtype --quantization -q --load-format --download-dir --attention-backend --moe-backend "
    "--distributed-executor-backend --tool-call-parser --reasoning-parser --chat-template --api-key "
    "--chat-template-content-format --uvicorn-log-level --scheduling-policy --generation-config "
    "--config-format --prefix-caching-hash-algo --custom-histogram-buckets "
    "--per-request-spec-decode-metrics --root-path --response-role --data-parallel-backend "
    "--data-parallel-address --hf-config-path --runner --convert --prefix-cache-retention-interval"
)
_INTEGERS = (
    "--port --max-num-seqs --tensor-parallel-size -tp --pipeline-parallel-size -pp --data-parallel-size -dp"
    " --data-parallel-size-local --data-parallel-rpc-port --block-size --num-gpu-blocks-override --seed "
    "--shutdown-timeout --api-server-count --max-logprobs --stream-interval --max-num-queued-reqs "
    "--max-num-queued-tokens --decode-context-parallel-size --max-loras --max-lora-rank "
    "--max-num-partial-prefills"
)
_SIZES = "--max-model-len --max-num-batched-tokens --kv-cache-memory-bytes --max-seq-len-to-capture"
_FLOATS = "--gpu-memory-utilization --swap-space --cpu-offload-gb"
_SWITCHES = (
    "--enforce-eager --trust-remote-code --enable-prefix-caching --enable-chunked-prefill "
    "--enable-auto-tool-choice --enable-log-requests --disable-log-requests --disable-log-stats "
    "--disable-uvicorn-access-log --disable-fastapi-docs --disable-custom-all-reduce "
    "--enable-expert-parallel --enable-sleep-mode --async-scheduling --enable-lora --skip-tokenizer-init "
    "--enable-prompt-tokens-details --enable-force-include-usage --enable-server-load-tracking "
    "--enable-tokenizer-info-endpoint --calculate-kv-scales --language-model-only "
    "--fail-on-environ-validation --headless"
)
_JSONS = (
    "--speculative-config -sc --compilation-config --hf-overrides --limit-mm-per-prompt --kv-transfer-config "
    "--attention-config --override-generation-config --default-chat-template-kwargs --kv-events-config "
    "--model-loader-extra-config --profiler-config --mm-processor-kwargs --lora-modules"
)
_LONG_FORM = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-q": "--quantization",
    "-sc": "--speculative-config",
}
_DEFAULTS: dict[str, Any] = {
    "host": None,
    "port": 8000,
    "seed": 0,
    "shutdown_timeout": 0,
    "max_model_len": 8192,
    "max_num_seqs": 1024,
    "max_num_batched_tokens": 16384,
    "tensor_parallel_size": 1,
    "pipeline_parallel_size": 1,
    "data_parallel_size": 1,
    "gpu_memory_utilization": 0.92,
    "block_size": 16,
    "kv_cache_dtype": "auto",
    "enable_prefix_caching": True,
}


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags after `vllm serve`. Every flag is an attribute; `speculative_config` is a map or None.

    Exits with code 2 on bad input.
    """
    parser = _parser()
    args = parser.parse_args(_gather_dotted([_dashed(token) for token in argv], parser))
    args.model = args.model_tag or args.model or DEFAULT_MODEL
    args.served_model_name = args.served_model_name or [args.model]
    shorthands = {key: getattr(args, name) for name, key in _SPEC_SHORTHANDS.items()}
    given = {key: value for key, value in shorthands.items() if value is not None}
    if given:
        args.speculative_config = {**(args.speculative_config or {}), **given}
    if args.speculative_config is not None and not isinstance(args.speculative_config, dict):
        parser.error("argument --speculative-config/-sc: a JSON object is needed")
    return args


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="vllm serve", allow_abbrev=False)
    parser.add_argument("model_tag", nargs="?", default=None)
    parser.add_argument("--model", default=None)
    parser.add_argument("--host", default=None)
    parser.add_argument("--served-model-name", nargs="+", default=None)
    parser.add_argument("--allowed-origins", nargs="+", default=None)
    parser.add_argument("--spec-method", default=None)
    parser.add_argument("--spec-model", default=None)
    parser.add_argument("--spec-tokens", type=int, default=None)
    _add_all(parser, _TEXT, str)
    _add_all(parser, _INTEGERS, int)
    _add_all(parser, _SIZES, _size)
    _add_all(parser, _FLOATS, float)
    _add_all(parser, _JSONS, _loads)
    for name in _SWITCHES.split():
        parser.add_argument(name, action=argparse.BooleanOptionalAction, default=None)
    parser.set_defaults(**_DEFAULTS)
    return parser


def _add_all(parser: argparse.ArgumentParser, names: str, kind: Callable[[str], Any]) -> None:
    shorts = {long: short for short, long in _LONG_FORM.items()}
    for name in names.split():
        if name not in _LONG_FORM:
            aliases = [shorts[name]] if name in shorts else []
            parser.add_argument(name, *aliases, type=kind, default=None)


def _dashed(token: str) -> str:
    """vLLM takes `--max_model_len` as well as `--max-model-len`."""
    name, equals, value = token.partition("=")
    if not name.startswith("--") or "." in name:
        return token
    return name.replace("_", "-") + equals + value


def _gather_dotted(argv: list[str], parser: argparse.ArgumentParser) -> list[str]:
    """Turn `--speculative-config.method x` into one `--speculative-config {"method": "x"}`."""
    rest: list[str] = []
    gathered: dict[str, Any] = {}
    tokens = iter(argv)
    for token in tokens:
        match = _DOTTED.fullmatch(token)
        if match is None:
            rest.append(token)
            continue
        value = match[3] if match[3] is not None else next(tokens, None)
        if value is None:
            parser.error(f"argument {token}: expected one argument")
        _nest(gathered, match[2].split("."), _scalar(value))
    return [*rest, "--speculative-config", json.dumps(gathered)] if gathered else rest


def _nest(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"Value {text} cannot be converted to <function loads>.") from None


def _size(text: str) -> int:
    """`8192`, `32k` (thousands), `32K` (times 1024), as vLLM reads them."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgG]?)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 8192, 32k or 32K")
    power = {"": 0, "k": 1, "m": 2, "g": 3}[match[2].lower()]
    return int(float(match[1]) * (1024 if match[2].isupper() else 1000) ** power)
