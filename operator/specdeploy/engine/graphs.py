"""Which graphs an engine captures. `known_bad` asks here, and `rules.room`, `.schedule`, `.serving` and
`.verification`.

Source: vLLM 0.32 (config/compilation.py, CUDAGraphMode; config/vllm.py, OptimizationLevel, whose levels have
meant the same since 0.12).
"""

from .flags import Flag, is_flag
from .json_words import object_in, whole_in
from .kinds import as_whole
from .serving import is_on, object_of, size_of
from .setting import Setting

DEFAULT = "FULL_AND_PIECEWISE"
_PIECES_ONLY = ("NONE", "PIECEWISE")
# By --optimization-level; the others have the default.
_BY_LEVEL = {"0": "NONE", "1": "PIECEWISE"}


def cudagraph_mode(setting: Setting) -> str:
    """The mode that is asked for, upper case: a name of vLLM's CUDAGraphMode, or whatever stands there."""
    return _decided(setting)[0]


def without_graphs(setting: Setting) -> Flag | None:
    """The argument by which nothing is captured; None: something is."""
    mode, by = _decided(setting)
    return by if mode == "NONE" else None


def _decided(setting: Setting) -> tuple[str, Flag | None]:
    """The mode, and the argument that asks for it, if one does."""
    eager, level = setting.flag("--enforce-eager"), setting.flag("--optimization-level")
    if is_on(setting, "--enforce-eager"):
        return "NONE", eager
    configs = [flag for flag in reversed(setting.flags) if flag.means("--compilation-config")]
    for flag in configs:
        if (mode := _mode_in(flag)) is not None:
            return mode, flag
    return _BY_LEVEL.get((level.value or "") if level else "", DEFAULT), level


def captures_whole_steps(setting: Setting) -> bool:
    """Whether whole steps are captured, and not only the pieces between layers of attention, or nothing."""
    return cudagraph_mode(setting) not in _PIECES_ONLY


def captured_tokens(setting: Setting) -> int | None:
    """Tokens of the largest step that is captured, where the spec says it; None: it is left to vLLM."""
    given = size_of(setting, "--max-cudagraph-capture-size")
    if given is None:
        given = as_whole((object_of(setting, "--compilation-config") or {}).get("max_cudagraph_capture_size"))
    return given


def given_sizes(setting: Setting) -> tuple[int, ...] | None:
    """The sizes of graphs that the spec lists, in tokens; None: it lists none that can be read."""
    flag = setting.flag("--cudagraph-capture-sizes")
    if flag is None:
        listed = (object_of(setting, "--compilation-config") or {}).get("cudagraph_capture_sizes")
        read = [as_whole(each) for each in listed] if isinstance(listed, list) else [None]
    else:
        read = [whole_in(word) for word in _words_after(setting, flag)]
    sizes = tuple(size for size in read if size is not None)
    return sizes if len(sizes) == len(read) else None


def _words_after(setting: Setting, flag: Flag) -> list[str]:
    """The values of a flag that takes several."""
    words = setting.spec.engine.args or []
    if "=" in words[flag.index]:
        return [flag.value or ""]
    following = words[flag.index + 1 :]
    end = next((index for index, word in enumerate(following) if is_flag(word)), len(following))
    return following[:end]


def _mode_in(flag: Flag) -> str | None:
    """The mode in one --compilation-config: a JSON object, or the value of one of its keys."""
    mode = (object_in(flag) or {}).get("cudagraph_mode")
    return mode.upper() if isinstance(mode, str) else None
