"""What `engine.args` say about batches, lengths and switches, as vLLM reads it. Combinations ask here."""

from typing import Any

from .json_words import object_in, whole_in
from .parser import inverses
from .setting import Setting
from .tables import flags as table
from .tables.defaults import MEMORY_CLASSES, default
from .versions import since

_TOKENS, _REQUESTS = "--max-num-batched-tokens", "--max-num-seqs"


def is_on(setting: Setting, switch: str) -> bool:
    """Whether a flag without a value is in force: the last of `--x` and what turns it off decides."""
    words = (switch, *inverses(switch, since(table.PAIRED_SINCE).holds(setting.version)))
    given = [flag for flag in setting.flags if any(flag.means(word) for word in words)]
    return bool(given) and given[-1].means(switch)


def prefills_whole(setting: Setting) -> bool:
    """Whether chunked prefill is off: by default it is on."""
    off = setting.flag("--no-enable-chunked-prefill") is not None
    return off and not is_on(setting, "--enable-chunked-prefill")


def caches_prefixes(setting: Setting) -> bool:
    """Whether prefix caching is on, as it is by default."""
    off = setting.flag("--no-enable-prefix-caching") is not None
    return not off or is_on(setting, "--enable-prefix-caching")


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
    given = size_of(setting, _TOKENS)
    return given if given is not None else _default(setting, _TOKENS)


def sequences(setting: Setting) -> int | None:
    """Requests that may run at once; None: unknown."""
    given = size_of(setting, _REQUESTS)
    if given is not None:
        return given
    default, tokens = _default(setting, _REQUESTS), batched_tokens(setting)
    return default if default is None or tokens is None else min(default, tokens)


def longest_request(setting: Setting) -> int | None:
    """max_model_len in force, in tokens; None: unknown, or left to what fits."""
    if setting.flag("--max-model-len") is not None:
        return size_of(setting, "--max-model-len")
    target = setting.as_published
    return target.context if target else None


def possible_batches(setting: Setting) -> tuple[tuple[int, int], ...]:
    """Tokens of a step and requests at once, as given or by default, for every GPU that it may be.

    One pair where the GPU is known. Empty: the defaults are not known.
    """
    device = setting.device_gib
    found = []
    for memory in MEMORY_CLASSES if device is None else (device,):
        tokens, requests = (size_of(setting, flag) for flag in (_TOKENS, _REQUESTS))
        tokens = _default_on(setting, _TOKENS, memory) if tokens is None else tokens
        if requests is None:
            requests = _default_on(setting, _REQUESTS, memory)
            requests = requests if requests is None or tokens is None else min(requests, tokens)
        if tokens is None or requests is None:
            return ()
        found.append((tokens, requests))
    return tuple(found)


def _default(setting: Setting, flag: str) -> int | None:
    """vLLM's default on this device; None: which it is, or what else moves it, is not known."""
    device = setting.device_gib
    return None if device is None else _default_on(setting, flag, device)


def _default_on(setting: Setting, flag: str, memory_gib: float) -> int | None:
    if setting.parallel.data > 1:
        return None
    mode = setting.flag("--performance-mode")
    factor = 2 if mode is not None and mode.text == "throughput" else 1
    return factor * int(default(flag, setting.version, memory_gib))
