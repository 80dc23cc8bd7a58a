"""What `engine.args` say about batches, lengths and switches, as vLLM reads it. Combinations ask here."""

from typing import Any

from . import tables_flags as table
from .defaults import default
from .json_words import object_in, whole_in
from .parser import inverses
from .setting import Setting
from .versions import since


def is_on(setting: Setting, switch: str) -> bool:
    """Whether a flag without a value is in force: the last of `--x` and what turns it off decides."""
    words = (switch, *inverses(switch, since(table.PAIRED_SINCE).holds(setting.version)))
    given = [flag for flag in setting.flags if any(flag.means(word) for word in words)]
    return bool(given) and given[-1].means(switch)


def size_of(setting: Setting, option: str) -> int | None:
    """The whole number of a flag, `16k` and `16K` included, at least 0; None: it is absent, or names none
    (`auto`, -1)."""
    flag = setting.flag(option)
    read = None if flag is None or flag.value is None else whole_in(flag.value)
    return None if read is None or read < 0 else read


def object_of(setting: Setting, option: str) -> dict[str, Any] | None:
    """The keys set by an argument that takes a JSON object, dotted ones included; None: it can't be read."""
    found: dict[str, Any] = {}
    for flag in (flag for flag in setting.flags if flag.means(option)):
        given = object_in(flag)
        if given is None:
            return None
        found |= given
    return found


def batched_tokens(setting: Setting) -> int | None:
    """Tokens that one step may hold, all requests together; None: unknown."""
    given = size_of(setting, "--max-num-batched-tokens")
    return given if given is not None else _default(setting, "--max-num-batched-tokens")


def sequences(setting: Setting) -> int | None:
    """Requests that may run at once; None: unknown."""
    given = size_of(setting, "--max-num-seqs")
    if given is not None:
        return given
    default, tokens = _default(setting, "--max-num-seqs"), batched_tokens(setting)
    return default if default is None or tokens is None else min(default, tokens)


def longest_request(setting: Setting) -> int | None:
    """max_model_len in force, in tokens; None: unknown, or left to what fits."""
    if setting.flag("--max-model-len") is not None:
        return size_of(setting, "--max-model-len")
    target = setting.as_published
    return target.context if target else None


def _default(setting: Setting, flag: str) -> int | None:
    """vLLM's default on this device, where nothing else that moves it is set."""
    device, moved = setting.device_gib, setting.flag("--performance-mode") is not None
    if device is None or moved or setting.parallel.data > 1:
        return None
    return int(default(flag, setting.version, device))
