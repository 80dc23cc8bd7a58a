"""Which vLLM an image has."""

from __future__ import annotations

import pytest

from specdeploy.engine.image import (
    DEFAULT_IMAGE,
    Image,
    image_of,
    is_stock,
    parse_image,
    version_of_tag,
    vllm_version,
)
from specdeploy.engine.versions import Version
from tests.engine.specs import smallest


@pytest.mark.parametrize(
    ("image", "version"),
    [
        (DEFAULT_IMAGE, (0, 33)),
        ("vllm/vllm-openai-rocm:v0.32.1", (0, 32)),
        ("vllm/vllm-openai-rocm:v0.33.0-rocm72", (0, 33)),
        ("vllm/vllm-openai-rocm:v0.33.0@sha256:00ff", (0, 33)),
        ("localhost:5000/vllm:0.30", (0, 30)),
        ("rocm/vllm:rocm7.0.0_vllm_0.18.1_20260101", (0, 18)),
        ("rocm/vllm:rocm7.1_gfx950-dcgpu_vllm_0.22.1", (0, 22)),
        ("rocm/vllm-dev:nightly_main_20260101", None),
        ("vllm/vllm-openai-rocm:v0.34.0rc1", (0, 34)),
        ("vllm/vllm-openai-rocm:v0.33.0-rocm100", (0, 33)),
        ("vllm/vllm-openai-rocm:v0.33.0-base", (0, 33)),
        ("team/llm-d:vllm-v0.28.0", (0, 28)),
        ("vllm/vllm-openai-rocm:latest", None),
        ("vllm/vllm-openai-rocm:nightly-0a1b2c", None),
        ("vllm/vllm-openai-rocm@sha256:00ff", None),
        ("vllm/vllm-openai-rocm", None),
        ("localhost:5000/vllm", None),
        ("vllm/server:v1.2.0", None),
        ("team/engine:v1.2.0", None),
        ("team/vllm:0.3.1", None),
        ("team/vllm-openai-rocm:v0.10.2", (0, 10)),
    ],
)
def test_a_release_tag_tells_the_version_and_nothing_else_does(image: str, version: Version | None) -> None:
    found = version_of_tag(image)
    assert (found and found[:2]) == version


def test_a_declared_version_wins_over_the_tag() -> None:
    assert vllm_version(smallest("engine.vllmVersion", "0.31.2rc1"), "team/vllm:v2.0.0") == (0, 31, 2)
    assert vllm_version(smallest(), "team/vllm:v0.29.0") == (0, 29, 0)


def test_the_image_is_the_specs_else_the_pinned_one_else_the_default() -> None:
    assert image_of(smallest("engine.image", "mine:1"), "pinned:1") == "mine:1"
    assert image_of(smallest(), "pinned:1") == "pinned:1"
    assert image_of(smallest()) == DEFAULT_IMAGE


@pytest.mark.parametrize(
    ("image", "stock"),
    [
        (DEFAULT_IMAGE, True),
        ("docker.io/vllm/vllm-openai-rocm:nightly", True),
        ("vllm/vllm-openai-rocm@sha256:00ff", True),
        ("registry.example/vllm/vllm-openai-rocm:v0.33.0", False),
        ("vllm/vllm-openai-rocm-more:v0.33.0", False),
    ],
)
def test_only_the_projects_own_repository_is_stock(image: str, stock: bool) -> None:
    assert is_stock(image) is stock


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("vllm/vllm-openai-rocm:v0.33.0", Image("vllm/vllm-openai-rocm", "v0.33.0", "")),
        ("localhost:5000/vllm", Image("localhost:5000/vllm", "", "")),
        ("localhost:5000/vllm:1@sha256:00ff", Image("localhost:5000/vllm", "1", "sha256:00ff")),
        ("vllm@sha256:00ff", Image("vllm", "", "sha256:00ff")),
    ],
)
def test_an_images_name_has_a_repository_a_tag_and_a_digest(text: str, image: Image) -> None:
    assert parse_image(text) == image


@pytest.mark.parametrize(
    ("tag", "architecture", "runs"),
    [
        ("v0.33.0", "gfx90a", True),
        ("gfx94X-dcgpu", "gfx942", True),
        ("gfx94x-dcgpu", "gfx942", True),
        ("gfx94X-dcgpu", "gfx950", False),
        ("gfx950-dcgpu", "gfx950", True),
        ("gfx950-dcgpu", "gfx942", False),
        ("gfx942_gfx950", "gfx950", True),
        ("gfx90a", "gfx90a", True),
        ("gfx1100", "gfx942", False),
    ],
)
def test_a_tag_with_an_architecture_is_for_that_one_or_its_family(
    tag: str, architecture: str, runs: bool
) -> None:
    assert Image("rocm/vllm", tag, "").runs_on(architecture) is runs


@pytest.mark.parametrize(
    ("tag", "rocm"),
    [
        ("rocm7.2.1_vllm_0.30.0_20260901", (7, 2)),
        ("v0.33.0-rocm72", (7, 2)),
        ("v0.33.0-rocm100", (10, 0)),
        ("v0.33.0-rocm10.1", (10, 1)),
        ("rocm643_vllm_0.18.1", (6, 4)),
        ("rocm-7.2_vllm_0.30.0", (7, 2)),
        ("v0.33.0-rocm7", (7, None)),
        ("v0.33.0", None),
    ],
)
def test_a_tag_tells_the_rocm(tag: str, rocm: tuple[int, int | None] | None) -> None:
    assert parse_image(f"team/vllm:{tag}").rocm == rocm
