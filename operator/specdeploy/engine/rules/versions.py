"""Rules on vLLM's version: what tells it, and what is too old or too new for the tables."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import OLDEST


def _check_oldest(setting: Setting) -> Iterator[Finding]:
    spec, version = setting.spec, setting.version
    if version is None or version >= OLDEST:
        return
    field = "spec.engine.vllmVersion" if spec.engine.vllm_version else "spec.engine.image"
    reason = f"vLLM {version} can't drain running requests; the oldest that can is {OLDEST}"
    fix = (
        "use a newer image" if spec.engine.vllm_version else "use a newer one, or say spec.engine.vllmVersion"
    )
    yield Finding(field, reason, fix)


RULES: tuple[Rule, ...] = ()
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (_check_oldest,)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
