"""Everything that can be found wrong with a spec without a cluster; the reconciler and the CLI ask here.

Findings on the spec make it `InvalidSpec`; findings on a drafter make only that drafter `Invalid`.
"""

import re

from specdeploy.api.findings import Finding
from specdeploy.api.spec import Drafter, Spec

from .arguments import PARALLEL, check_arguments, parallel_size
from .environment import check_environment
from .flags import read_flags
from .image import OLDEST, image_of, vllm_version
from .pod_template import check_pod_template
from .revision import revision_of
from .speculative import Engine, check_drafter

# How checkpoints in the speculators format are named by their makers.
_SPECULATORS = re.compile(r"-speculator\.(eagle3|peagle|dflash|dspark)")


def check_spec(spec: Spec, image: str | None = None) -> tuple[Finding, ...]:
    """What is wrong with the spec as a whole; empty when it can serve. `image`: the pinned one, if any."""
    return (
        *_check_version(spec, image or image_of(spec)),
        *_check_target(spec),
        *check_arguments(spec),
        *check_environment(spec),
        *check_pod_template(spec),
        *_check_compile_cache(spec),
    )


def check_drafters(spec: Spec, image: str | None = None) -> dict[str, tuple[Finding, ...]]:
    """Findings of each drafter that can't run, by its name. `image`: the pinned one, if any."""
    engine = engine_of(spec, image or image_of(spec))
    first: dict[str, str] = {}
    found: dict[str, tuple[Finding, ...]] = {}
    for index, drafter in enumerate(spec.drafters or []):
        same = first.setdefault(revision_of(spec, engine.image, drafter), drafter.name)
        findings = check_drafter(index, drafter, spec, engine) + _check_twin(index, drafter, same)
        if findings:
            found[drafter.name] = findings
    return found


def engine_of(spec: Spec, image: str) -> Engine:
    """What drafters are checked against."""
    tensor, pipeline, data, _ = (parallel_size(spec, option) for option in PARALLEL)
    return Engine(
        image=image,
        version=vllm_version(spec, image),
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        data_parallel=data,
        eager=any(flag.name == "--enforce-eager" for flag in read_flags(spec.engine.args or [])),
    )


def _check_version(spec: Spec, image: str) -> tuple[Finding, ...]:
    version = vllm_version(spec, image)
    if version is None or version >= OLDEST:
        return ()
    field = "spec.engine.vllmVersion" if spec.engine.vllm_version else "spec.engine.image"
    oldest, given = (f"{major}.{minor}" for major, minor in (OLDEST, version))
    reason = f"vLLM {given} can't drain running requests; the oldest that can is {oldest}"
    fix = (
        "use a newer image" if spec.engine.vllm_version else "use a newer one, or say spec.engine.vllmVersion"
    )
    return (Finding(field, reason, fix),)


def _check_target(spec: Spec) -> tuple[Finding, ...]:
    """A checkpoint in the speculators format turns speculation on by itself: no arm would be a baseline."""
    if not _SPECULATORS.search(spec.model):
        return ()
    reason = "this is a draft checkpoint that speculates by itself, so there would be no baseline"
    return (Finding("spec.model", reason, "name the target; list the checkpoint under spec.drafters"),)


def _check_compile_cache(spec: Spec) -> tuple[Finding, ...]:
    cache = spec.engine.compile_cache
    sources = (
        {"persistentVolumeClaim": cache.persistent_volume_claim, "hostPath": cache.host_path} if cache else {}
    )
    return tuple(
        Finding(
            f"spec.engine.compileCache.{name}.readOnly", "engines write compiled kernels there", "remove it"
        )
        for name, source in sources.items()
        if source and source.read_only
    )


def _check_twin(index: int, drafter: Drafter, same: str) -> tuple[Finding, ...]:
    if same == drafter.name:
        return ()
    return (Finding(f"spec.drafters[{index}]", f"same as {same}", "remove one of the two"),)
