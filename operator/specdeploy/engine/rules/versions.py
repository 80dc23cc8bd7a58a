"""Rules on vLLM's version and the image that brings it: what tells it, and what is too old or too new."""

from collections.abc import Callable, Iterator

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.engine.image import DEPRECATED, other_platform, parse_image, version_of_tag
from specdeploy.engine.setting import Candidate, Setting
from specdeploy.engine.versions import NEWEST, OLDEST, Version, beyond_tables, parse_version

_IMAGE = "spec.engine.image"
_VERSION = "spec.engine.vllmVersion"

UNKNOWN = Rule(
    code="SD201",
    name="version-unknown",
    severity=Severity.WARNING,
    title="Nothing tells which vLLM is in the image",
    why="What vLLM accepts differs from release to release. Without a version the rules of the newest known "
    "release are applied, and what an older one lacks is found only when its pods start.",
    source="vLLM's releases 0.18 to 0.33 differ in over 100 flags and 150 environment variables",
    refused="engine: {image: 'registry.example/team/server:prod'}",
    passed="engine: {image: 'registry.example/team/server:prod', vllmVersion: 0.33.0}",
)
TOO_NEW = Rule(
    code="SD202",
    name="version-beyond-the-tables",
    severity=Severity.WARNING,
    title="vLLM is newer than the rules",
    why="The rules end with the newest release that this SpecDeploy knows. They are applied to a newer one "
    "too, except that a flag or an option that they do not know may be right there.",
    source=f"SpecDeploy's tables were read from the sources of vLLM {OLDEST} to {NEWEST}",
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.99.0'}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.33.1'}",
)
TOO_OLD = Rule(
    code="SD203",
    name="version-too-old",
    severity=Severity.ERROR,
    title=f"vLLM is older than {OLDEST}",
    why="Without --shutdown-timeout a stopped engine cuts the requests that it is running, so every step of "
    "a rollout would be felt by users. The argument parser of an older vLLM refuses the flag.",
    source="vLLM 0.18, which brought --shutdown-timeout",
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.17.1'}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.18.0'}",
)
CONTRADICTION = Rule(
    code="SD204",
    name="version-and-tag-disagree",
    severity=Severity.WARNING,
    title="The image's tag names another vLLM than vllmVersion",
    why="vllmVersion goes first, so all rules are those of a release that is probably not in the image.",
    source="SpecDeploy: engine.vllmVersion is for images whose tag does not tell",
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0', vllmVersion: 0.30.0}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0', vllmVersion: 0.33.0}",
)
FLOATING = Rule(
    code="SD205",
    name="floating-tag",
    severity=Severity.WARNING,
    title="The image's tag is moved to newer images",
    why="A pod that is pulled today and one that is pulled tomorrow run different engines under one name. A "
    "trial would then compare two engines, not a drafter with none; its windows do not count.",
    source="the vLLM project's image repository moves latest and nightly; nightly-<commit> stays",
    refused="engine: {image: 'vllm/vllm-openai-rocm:nightly', vllmVersion: 0.33.0}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:nightly-0f0f28b53', vllmVersion: 0.33.0}",
)
OTHER_PLATFORM = Rule(
    code="SD206",
    name="image-not-for-amd",
    severity=Severity.ERROR,
    title="The image has no vLLM for AMD GPUs",
    why="On an AMD node an engine built for CUDA finds no device and ends at once, in every pod, again and "
    "again.",
    source="vLLM's installation guide: the images for ROCm are vllm/vllm-openai-rocm",
    refused="engine: {image: 'vllm/vllm-openai:v0.33.0'}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0'}",
)
OLD_REPOSITORY = Rule(
    code="SD207",
    name="image-deprecated",
    severity=Severity.ADVICE,
    title="The image is from a repository that AMD has deprecated",
    why="New releases come as vllm/vllm-openai-rocm, one image for all architectures. The old ones are not "
    "followed up, and some of their tags are for one architecture only.",
    source="vLLM's documentation of ROCm images: rocm/vllm and rocm/vllm-dev are deprecated",
    refused="engine: {image: 'rocm/vllm:rocm7.0.0_vllm_0.18.1_20260101'}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0'}",
)
OTHER_ARCHITECTURE = Rule(
    code="SD208",
    name="image-for-another-architecture",
    severity=Severity.ERROR,
    title="The image is built for another architecture than the accelerator's",
    why="Kernels that were built for one architecture can't be loaded on another: the engine does not start.",
    source="AMD's rocm/vllm tags by architecture: gfx950-dcgpu, gfx94X-dcgpu",
    refused="""\
accelerator: {type: MI300X, count: 2}
engine: {image: 'rocm/vllm:rocm7.1_gfx950-dcgpu_vllm_0.22.1'}""",
    passed="""\
accelerator: {type: MI355X, count: 2}
engine: {image: 'rocm/vllm:rocm7.1_gfx950-dcgpu_vllm_0.22.1'}""",
)

OLD_ROCM = Rule(
    code="SD209",
    name="image-with-an-old-rocm",
    severity=Severity.ERROR,
    title="The image's ROCm is older than the accelerator",
    why="ROCm knows the architecture gfx950 (MI350P, MI350X, MI355X) from 7.0 on; an older one lacks its "
    "kernels.",
    source="AMD's release notes of ROCm 7.0",
    refused="""\
accelerator: {type: MI355X, count: 2}
engine: {image: 'rocm/vllm:rocm6.4.3_vllm_0.18.1_20260101'}""",
    passed="""\
accelerator: {type: MI355X, count: 2}
engine: {image: 'rocm/vllm:rocm7.0.0_vllm_0.18.1_20260101'}""",
)
BASE = Rule(
    code="SD210",
    name="image-without-vllm",
    severity=Severity.ERROR,
    title="The image is only what vLLM is built on",
    why="Images with -base have ROCm and PyTorch and no vLLM, so no pod of them would start.",
    source="vLLM's Dockerfile.rocm_base and its tags of vllm/vllm-openai-rocm; its Dockerfile.rocm begins "
    "with rocm/vllm-dev:base",
    refused="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0-base'}",
    passed="engine: {image: 'vllm/vllm-openai-rocm:v0.33.0'}",
)
# Where images called base are those of the project; another team's may have vLLM in it.
_OF_THE_PROJECT = ("vllm/vllm-openai-rocm", "rocm/vllm-dev")
# First ROCm with kernels for an architecture.
_ROCM = {"gfx950": 7}


def _check_known(setting: Setting) -> Iterator[Finding]:
    if setting.version is None:
        reason = f"{setting.image} does not tell its vLLM, so the rules of {NEWEST} are applied"
        yield UNKNOWN.at(_IMAGE, reason, f"say which it is in {_VERSION}")
    elif beyond_tables(setting.version):
        reason = f"vLLM {setting.version} is newer than the rules, which end with {NEWEST}"
        yield TOO_NEW.at(_told_by(setting), reason, "use a newer SpecDeploy, or try it on one pod first")


def _check_oldest(setting: Setting) -> Iterator[Finding]:
    version = setting.version
    if version is not None and version < OLDEST:
        reason = f"vLLM {version} can't drain running requests; the oldest that can is {OLDEST}"
        declared = setting.spec.engine.vllm_version
        fix = "use a newer image" if declared else f"use a newer one, or say {_VERSION}"
        yield TOO_OLD.at(_told_by(setting), reason, fix)


def _check_declared(setting: Setting) -> Iterator[Finding]:
    declared = parse_version(setting.spec.engine.vllm_version or "")
    told = version_of_tag(setting.image)
    if declared and told and not _same(declared, told):
        reason = f"it is {declared}, but the image's tag says {told}"
        yield CONTRADICTION.at(_VERSION, reason, "remove it, or use the image that it names")


def _same(one: Version, other: Version) -> bool:
    """Whether both can be the same release: one that names no patch is any of its minor release."""
    return one[:2] == other[:2] and (one == other or not (one.is_exact and other.is_exact))


def _check_image(setting: Setting) -> Iterator[Finding]:
    image = parse_image(setting.image)
    if image.floats:
        reason = f"{image.tag or 'an image without a tag'} can be another engine in the next pod"
        yield FLOATING.at(_IMAGE, reason, "name a release, or add the image's digest")
    other = other_platform(image)
    if other and setting.spec.accelerator.resource_name.startswith("amd.com/"):
        fix = "use vllm/vllm-openai-rocm with the same tag"
        yield OTHER_PLATFORM.at(_IMAGE, f"{image.project} is {other}, the pods have AMD GPUs", fix)
    if image.project in DEPRECATED:
        fix = "use vllm/vllm-openai-rocm"
        yield OLD_REPOSITORY.at(_IMAGE, f"{image.project} is deprecated", fix)
    if setting.gpu is not None and not image.runs_on(setting.gpu.architecture):
        reason = (
            f"the image is for {', '.join(image.architectures)}, "
            f"{setting.gpu.name} is {setting.gpu.architecture}"
        )
        yield OTHER_ARCHITECTURE.at(_IMAGE, reason, "use the image for it, or vllm/vllm-openai-rocm")


def _check_contents(setting: Setting) -> Iterator[Finding]:
    image, gpu = parse_image(setting.image), setting.gpu
    needed = _ROCM.get(gpu.architecture, 0) if gpu else 0
    if gpu and image.rocm is not None and image.rocm[0] < needed:
        reason = f"the image has ROCm {image.rocm[0]}, {gpu.name} needs {needed} or newer"
        yield OLD_ROCM.at(_IMAGE, reason, "use an image with it, such as vllm/vllm-openai-rocm")
    if image.is_base and image.project in _OF_THE_PROJECT:
        yield BASE.at(_IMAGE, "images with -base have no vLLM", "use the tag without -base")


def _told_by(setting: Setting) -> str:
    return _VERSION if setting.spec.engine.vllm_version else _IMAGE


RULES: tuple[Rule, ...] = (
    UNKNOWN,
    TOO_NEW,
    TOO_OLD,
    CONTRADICTION,
    FLOATING,
    OTHER_PLATFORM,
    OLD_REPOSITORY,
    OTHER_ARCHITECTURE,
    OLD_ROCM,
    BASE,
)
SPEC_CHECKS: tuple[Callable[[Setting], Iterator[Finding]], ...] = (
    _check_known,
    _check_oldest,
    _check_declared,
    _check_image,
    _check_contents,
)
DRAFTER_CHECKS: tuple[Callable[[Candidate], Iterator[Finding]], ...] = ()
