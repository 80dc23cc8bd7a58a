"""Rules on the keys in the objects of engine.args: does this vLLM have them? The table is `tables.keys`."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from specdeploy.api.rule import Decider, Finding, Rule, Severity
from specdeploy.engine.flags import Flag
from specdeploy.engine.json_words import object_in
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.tables import keys as table
from specdeploy.engine.versions import NEWEST

from .doubt import known, read

_SOURCE = "the classes of vllm.config in vLLM 0.18, 0.32 and 0.33"

UNKNOWN_KEY = Rule(
    code="SD230",
    name="key-unknown-in-an-argument",
    severity=Severity.ERROR,
    title="vLLM has no such key in the object of this flag",
    why="Its configuration forbids keys that it does not know, and the engine ends at once.",
    source=_SOURCE,
    refused="""engine: {args: [--compilation-config, '{"level": 3}']}""",
    passed="""engine: {args: [--compilation-config, '{"mode": 3}']}""",
    decided_by=Decider.PARSER,
)
KEY_OF_ANOTHER_RELEASE = Rule(
    code="SD231",
    name="key-of-another-release",
    severity=Severity.ERROR,
    title="The key in the object of this flag is of a newer or an older vLLM than the image's",
    why="The release's configuration forbids keys that it does not know, and the engine ends at once.",
    source=_SOURCE,
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.32.0', args: [--kernel-config.monokernel, 'true']}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0', args: [--kernel-config.monokernel, 'true']}",
    decided_by=Decider.PARSER,
)


def _check_keys(setting: Setting) -> Iterator[Finding]:
    for flag in setting.flags:
        given = object_in(flag) if flag.key or flag.value else None
        option = next((option for option in table.KEYS if flag.means(option)), None)
        if given and option:
            yield from _wrong(setting, flag, option, given)


def _wrong(setting: Setting, flag: Flag, option: str, given: Mapping[str, Any]) -> Iterator[Finding]:
    for key, value in given.items():
        span, inner = table.KEYS[option].get(key), f"{option}.{key}"
        if span is None or not span.holds(setting.version):
            yield _missing(setting, flag, option, key)
        elif inner in table.KEYS and isinstance(value, dict):
            yield from _wrong(setting, flag, inner, value)


def _missing(setting: Setting, flag: Flag, option: str, key: str) -> Finding:
    """The finding on a key that this release does not have."""
    path, version = flag.path, setting.version or NEWEST
    span, instead = table.KEYS[option].get(key), table.GONE_BEFORE.get(option, {}).get(key)
    if instead:
        reason = f"vLLM {version} no longer has the key {key} in {option}"
        return known(setting, UNKNOWN_KEY).at(path, reason, instead)
    if span is None:
        reason = f"vLLM {version} has no key {key:.60} in {option}"
        return read(setting, UNKNOWN_KEY).at(path, reason, _suggestion(setting, option, key))
    came = "came after" if span.is_ahead_of(version) else "went before"
    reason = f"the key {key} in {option} {came} vLLM {version}, which the image has"
    return known(setting, KEY_OF_ANOTHER_RELEASE).at(path, reason, "remove it")


def _suggestion(setting: Setting, option: str, key: str) -> str:
    here = [name for name, span in table.KEYS[option].items() if span.holds(setting.version)]
    near = difflib.get_close_matches(key.replace("-", "_")[:60], here, n=1, cutoff=0.7)
    return f"write {near[0]} or remove it" if near else "remove it"


RULES: tuple[Rule, ...] = (UNKNOWN_KEY, KEY_OF_ANOTHER_RELEASE)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_keys,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
