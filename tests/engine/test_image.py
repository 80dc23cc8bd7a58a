"""Which vLLM an image has."""

from __future__ import annotations

import pytest

from specdeploy.engine.image import DEFAULT_IMAGE, image_of, is_stock, version_of_tag, vllm_version
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
