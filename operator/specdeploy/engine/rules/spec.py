"""Rules on the spec as a whole: the target, arguments, environment, pod, volumes."""

import re
from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule
from specdeploy.engine.arguments import check_arguments
from specdeploy.engine.environment import check_environment
from specdeploy.engine.pod_template import check_pod_template
from specdeploy.engine.setting import Candidate, Setting

# How checkpoints in the speculators format are named by their makers.
_SPECULATORS = re.compile(r"-speculator\.(eagle3|peagle|dflash|dspark)")


def _check_target(setting: Setting) -> Iterator[Finding]:
    """A checkpoint in the speculators format turns speculation on by itself: no arm would be a baseline."""
    if _SPECULATORS.search(setting.spec.model):
        reason = "this is a draft checkpoint that speculates by itself, so there would be no baseline"
        yield Finding("spec.model", reason, "name the target; list the checkpoint under spec.drafters")


def _check_arguments(setting: Setting) -> Iterator[Finding]:
    yield from check_arguments(setting.spec)


def _check_environment(setting: Setting) -> Iterator[Finding]:
    yield from check_environment(setting.spec)


def _check_pod_template(setting: Setting) -> Iterator[Finding]:
    yield from check_pod_template(setting.spec)


def _check_compile_cache(setting: Setting) -> Iterator[Finding]:
    cache = setting.spec.engine.compile_cache
    sources = (
        {"persistentVolumeClaim": cache.persistent_volume_claim, "hostPath": cache.host_path} if cache else {}
    )
    for name, source in sources.items():
        if source and source.read_only:
            field = f"spec.engine.compileCache.{name}.readOnly"
            yield Finding(field, "engines write compiled kernels there", "remove it")


RULES: tuple[Rule, ...] = ()
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_target,
    _check_arguments,
    _check_environment,
    _check_pod_template,
    _check_compile_cache,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
