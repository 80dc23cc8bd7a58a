"""Which engine image runs, and which vLLM is in it. Rules by version (`speculative`) ask here."""

import re

from specdeploy.api.spec import Spec

from .versions import OLDEST, Version, parse_version

# The release that this operator pins for specs that name no image. Kept in status from first sight.
DEFAULT_IMAGE = "vllm/vllm-openai-rocm:v0.33.0"
STOCK_REPOSITORIES = ("vllm/vllm-openai-rocm", "docker.io/vllm/vllm-openai-rocm")

_EMBEDDED = re.compile(r"vllm[_-](v?\d+\.\d+.*)")


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
    repository, tag = _split(image)
    embedded = _EMBEDDED.search(tag)
    if embedded is not None:
        return parse_version(embedded[1])
    name, version = repository.rpartition("/")[2], parse_version(tag)
    if version is None or "vllm" not in name:
        return None
    return version if version >= OLDEST or name.startswith("vllm-openai") else None


def is_stock(image: str) -> bool:
    """Whether it is the vLLM project's own ROCm image, whose contents are known."""
    return _split(image)[0] in STOCK_REPOSITORIES


def _split(image: str) -> tuple[str, str]:
    """Repository and tag, without a digest; a colon before the last slash is a registry's port."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    return head + slash + base, tag
