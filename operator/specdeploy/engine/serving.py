"""What `engine.args` say about batches, lengths and switches, as vLLM reads it. Combinations ask here."""

import re

from .setting import Setting
from .versions import since

_SUFFIXED = re.compile(r"(\d+)(\.\d+)?([kKmMgGtT])")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}

# Defaults by the memory of a GPU, from 70 and from 160 GiB on.
_LARGE_GIB = 70
_LARGEST_GIB = 160
_SEQUENCES = 1024
_BATCHED_TOKENS = 8192
_BATCHED_TOKENS_LARGEST = 16384
_LARGEST_SINCE = since("0.28")
_TWO_IN_ONE = ("MI250", "MI250X")  # each half is a GPU of its own


def is_on(setting: Setting, switch: str) -> bool:
    """Whether a flag without a value is in force: the last of `--x` and `--no-x` decides."""
    off = f"--no-{switch.removeprefix('--')}"
    given = [flag for flag in setting.flags if flag.means(switch) or flag.means(off)]
    return bool(given) and given[-1].means(switch)


def size_of(setting: Setting, option: str) -> int | None:
    """The whole number of a flag, `16k` and `16K` included; None: it is absent, or names none (`auto`)."""
    flag = setting.flag(option)
    return None if flag is None or flag.value is None else _whole(flag.value.strip())


def batched_tokens(setting: Setting) -> int | None:
    """Tokens that one step may hold, all requests together; None: unknown."""
    given = size_of(setting, "--max-num-batched-tokens")
    if given is not None or not _has_defaults(setting):
        return given
    largest = setting.gpu is not None and setting.gpu.memory_gib >= _LARGEST_GIB
    if largest and _LARGEST_SINCE.holds(setting.version):
        return _BATCHED_TOKENS_LARGEST
    return _BATCHED_TOKENS


def sequences(setting: Setting) -> int | None:
    """Requests that may run at once; None: unknown."""
    given = size_of(setting, "--max-num-seqs")
    if given is not None or not _has_defaults(setting):
        return given
    tokens = batched_tokens(setting)
    return _SEQUENCES if tokens is None else min(_SEQUENCES, tokens)


def _has_defaults(setting: Setting) -> bool:
    """Whether vLLM's defaults of a large GPU are in force: nothing else that moves them is set."""
    gpu = setting.gpu
    large = gpu is not None and gpu.memory_gib >= _LARGE_GIB and gpu.name not in _TWO_IN_ONE
    return large and setting.flag("--performance-mode") is None and setting.parallel.data == 1


def _whole(text: str) -> int | None:
    if text.isascii() and text.isdigit():
        return int(text)
    found = _SUFFIXED.fullmatch(text)
    if found is None:
        return None
    number, fraction, suffix = found.groups()
    if suffix in _BINARY:
        return None if fraction else int(number) * _BINARY[suffix]
    return int(float(number + (fraction or "")) * _DECIMAL[suffix])
