"""Which engine image runs, what its name tells, and which vLLM is in it. Rules by version ask here."""

import re
from dataclasses import dataclass

from specdeploy.api.spec import Spec

from .versions import OLDEST, Version, parse_version

# The release that this operator pins for specs that name no image. Kept in status from first sight.
DEFAULT_IMAGE = "vllm/vllm-openai-rocm:v0.33.0"
STOCK_REPOSITORIES = ("vllm/vllm-openai-rocm", "docker.io/vllm/vllm-openai-rocm")

# What is not for AMD GPUs, by the last two parts of the repository, at whatever registry it is mirrored.
NOT_ROCM: dict[str, str] = {
    "vllm/vllm-openai": "vLLM for CUDA",
    "vllm/vllm-openai-cpu": "vLLM for CPUs",
    "vllm/vllm-openai-xpu": "vLLM for Intel's GPUs",
    "vllm/vllm-tpu": "vLLM for TPUs",
    "nvidia/vllm": "vLLM for CUDA",
}
_OTHER_PLATFORMS = "vllm/vllm-openai-"
_ROCM_PLATFORM = "vllm/vllm-openai-rocm"
# AMD's own images, which AMD no longer develops.
DEPRECATED = ("rocm/vllm", "rocm/vllm-dev")

# ROCm's naming: rocm7.0.0_vllm_0.18.1_20260101.
_EMBEDDED = re.compile(r"vllm[_-](v?\d+\.\d+.*)")
# Tags that are moved to newer images. `nightly-<commit>` and `nightly_main_<date>` are not.
_FLOATING = re.compile(r"(latest|nightly|main|master|dev|edge|stable)?(-(rocm\d+|base))?")
# AMD's tags for one family of architectures: gfx950-dcgpu, gfx94X-dcgpu.
_ARCHITECTURE = re.compile(r"gfx\d+[acx]?", re.IGNORECASE)

# The ROCm that the tag names: rocm7.0.0, rocm72 (7.2), rocm100 (10.0).
_ROCM = re.compile(r"rocm[-_]?(\d+)(?:\.(\d+))?")


@dataclass(frozen=True)
class Image:
    """The parts of an image's name. `tag` and `digest` are "" where they are absent."""

    repository: str
    tag: str
    digest: str

    @property
    def project(self) -> str:
        """The last two parts of the repository: the same in every mirror."""
        return "/".join(self.repository.split("/")[-2:])

    @property
    def floats(self) -> bool:
        """Whether the same name can mean another image tomorrow."""
        return not self.digest and _FLOATING.fullmatch(self.tag) is not None

    @property
    def architectures(self) -> tuple[str, ...]:
        """Those that the tag says it is for, as written; empty: it does not say."""
        return tuple(_ARCHITECTURE.findall(self.tag))

    @property
    def rocm(self) -> tuple[int, int | None] | None:
        """Major and minor version of the ROCm that the tag names; None: it does not say."""
        found = _ROCM.search(self.tag)
        if found is None:
            return None
        digits, minor = found.groups()
        if minor is None:
            # Without dots: the first digit is the major version, or the first two are.
            major = 2 if digits.startswith("1") else 1
            digits, minor = digits[:major], digits[major : major + 1]
        return int(digits), int(minor) if minor else None

    @property
    def is_base(self) -> bool:
        """Whether it is only what vLLM is built on: v0.33.0-base."""
        return self.tag == "base" or self.tag.endswith("-base")

    def runs_on(self, architecture: str) -> bool:
        """Whether it is for this one, as far as its tag tells: gfx94X is for gfx942."""
        named = [each.lower().rstrip("x") for each in self.architectures]
        return not named or any(architecture.startswith(each) for each in named)


def other_platform(image: Image) -> str | None:
    """What is in an image that is not for AMD GPUs; None where it is for them, or its name does not tell.

    The vLLM project has one repository for each platform.
    """
    project = image.project
    if project.startswith(_OTHER_PLATFORMS) and not project.startswith(_ROCM_PLATFORM):
        return NOT_ROCM.get(project, "vLLM for another platform")
    return NOT_ROCM.get(project)


def parse_image(image: str) -> Image:
    """The parts of `registry:5000/team/vllm:v0.33.0@sha256:...`."""
    name, _, digest = image.partition("@")
    # A colon before the last slash is a registry's port.
    head, slash, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    return Image(head + slash + base, tag, digest)


def image_of(spec: Spec, pinned: str | None = None) -> str:
    """The image in force: the spec's, else the one pinned in status, else this operator's default."""
    return spec.engine.image or pinned or DEFAULT_IMAGE


def vllm_version(spec: Spec, image: str) -> Version | None:
    """vLLM's version as declared in the spec, else as told by the image's tag; None when neither tells."""
    declared = spec.engine.vllm_version
    return parse_version(declared) if declared else version_of_tag(image)


def version_of_tag(image: str) -> Version | None:
    """The version in a release tag: `v0.33.0`, `v0.33.0-rocm100`, `rocm7.0_vllm_0.10.1_20260101`.

    A plain version tag counts only on an image that is named after vLLM: `team/server:v1.2` is not vLLM 1.2;
    and one that is too old to be used only on a copy of the project's own: `team/vllm:0.3.1` is the team's.
    """
    parts = parse_image(image)
    embedded = _EMBEDDED.search(parts.tag)
    if embedded is not None:
        return parse_version(embedded[1])
    name, version = parts.repository.rpartition("/")[2], parse_version(parts.tag)
    if version is None or "vllm" not in name:
        return None
    return version if version >= OLDEST or name.startswith("vllm-openai") else None


def is_stock(image: str) -> bool:
    """Whether it is the vLLM project's own ROCm image, whose contents are known."""
    return parse_image(image).repository in STOCK_REPOSITORIES
