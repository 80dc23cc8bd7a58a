"""Versions, spans and timelines; and the rules on which vLLM an image has."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.engine.checks import on_spec
from specdeploy.engine.rules import versions
from specdeploy.engine.setting import setting_of
from specdeploy.engine.versions import (
    ALWAYS,
    NEWEST,
    OLDEST,
    Span,
    Version,
    between,
    beyond_tables,
    parse_version,
    since,
    timeline,
)
from tests.engine.specs import smallest


@pytest.mark.parametrize(
    ("text", "version", "shown"),
    [
        ("0.33.0", (0, 33, 0), "0.33"),
        ("v0.27", (0, 27, 999), "0.27"),
        ("0.27.1", (0, 27, 1), "0.27.1"),
        ("0.23.1rc1.dev1120+g0f0f28b53", (0, 23, 1), "0.23.1"),
        ("0.34.0rc1", (0, 34, 0), "0.34"),
        ("0.33.0-rocm72", (0, 33, 0), "0.33"),
        ("1.0", (1, 0, 999), "1.0"),
    ],
)
def test_a_version_is_told_apart_by_its_three_numbers(text: str, version: Any, shown: str) -> None:
    found = parse_version(text)
    assert found == version
    assert str(found) == shown


@pytest.mark.parametrize("text", ["", "nightly", "latest", "v1", "rocm7.0", "0.x"])
def test_what_begins_with_no_version_is_none(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(
    ("span", "version", "holds"),
    [
        (ALWAYS, "0.18.0", True),
        (since("0.26"), "0.25.1", False),
        (since("0.26"), "0.26.0", True),
        (since("0.26"), "0.26", True),
        (since("0.23.1"), "0.23.0", False),
        (since("0.23.1"), "0.23.1rc1", True),
        (since("0.23.1"), "0.23", True),
        (between("0.29", "0.31"), "0.28.9", False),
        (between("0.29", "0.31"), "0.30.4", True),
        (between("0.29", "0.31"), "0.31.0", False),
        (between(None, "0.31"), "0.18.0", True),
        (since("0.33"), None, True),
        (since("0.34"), None, False),
        (between(None, "0.33"), None, False),
    ],
)
def test_a_span_holds_from_its_first_release_until_before_its_last(
    span: Span, version: str | None, holds: bool
) -> None:
    assert span.holds(parse_version(version) if version else None) is holds


def test_a_span_with_a_bound_that_is_no_version_is_refused() -> None:
    with pytest.raises(ValueError, match="'soon' is no version"):
        since("soon")


def test_a_timeline_gives_each_name_the_span_between_what_brought_it_and_what_lost_it() -> None:
    assert timeline("a b", {"0.20": "c d"}, {"0.30": "b", "0.31": "c"}) == {
        "a": ALWAYS,
        "b": between(None, "0.30"),
        "c": between("0.20", "0.31"),
        "d": since("0.20"),
    }


@pytest.mark.parametrize(
    ("text", "beyond"),
    [("0.33.0", False), ("0.33.9", False), ("0.33", False), ("0.34.0rc1", True), ("1.0", True)],
)
def test_only_a_newer_minor_release_is_beyond_the_tables(text: str, beyond: bool) -> None:
    assert beyond_tables(parse_version(text)) is beyond


def test_the_bounds_of_the_tables_are_releases() -> None:
    assert OLDEST < NEWEST
    assert not beyond_tables(None)


def codes(engine: dict[str, Any], gpu: str | None = "MI300X", version: Version | None = None) -> list[str]:
    spec = smallest("engine", engine)
    spec = spec.model_copy(update={"accelerator": spec.accelerator.model_copy(update={"type": gpu})})
    own = {rule.code: rule.name for rule in versions.RULES}
    found = on_spec(setting_of(spec, version=version))
    return [own[finding.code] for finding in found if finding.code in own]


ROCM = "vllm/vllm-openai-rocm"


@pytest.mark.parametrize(
    ("engine", "names"),
    [
        ({}, []),
        ({"image": f"{ROCM}:v0.18.0"}, []),
        ({"image": f"{ROCM}:v0.18.0-rocm72"}, []),
        ({"image": f"{ROCM}:v0.17.9"}, ["version-too-old"]),
        ({"image": "a/b:1", "vllmVersion": "0.17.1"}, ["version-too-old"]),
        ({"image": f"{ROCM}:v0.33.4"}, []),
        ({"image": f"{ROCM}:v0.34.0rc1"}, ["version-beyond-the-tables"]),
        ({"image": f"{ROCM}:nightly"}, ["version-unknown", "floating-tag"]),
        ({"image": f"{ROCM}:latest"}, ["version-unknown", "floating-tag"]),
        ({"image": f"{ROCM}:nightly-rocm72"}, ["version-unknown", "floating-tag"]),
        ({"image": f"{ROCM}:nightly-0f0f28b53"}, ["version-unknown"]),
        ({"image": f"{ROCM}"}, ["version-unknown", "floating-tag"]),
        ({"image": f"{ROCM}@sha256:00ff"}, ["version-unknown"]),
        ({"image": f"{ROCM}:nightly@sha256:00ff", "vllmVersion": "0.33.0"}, []),
        ({"image": "a/b:1"}, ["version-unknown"]),
        ({"image": "a/b:1", "vllmVersion": "0.33.0"}, []),
        ({"image": f"{ROCM}:v0.33.0", "vllmVersion": "0.32.0"}, ["version-and-tag-disagree"]),
        ({"image": f"{ROCM}:v0.33.0", "vllmVersion": "0.33.1"}, ["version-and-tag-disagree"]),
        ({"image": f"{ROCM}:v0.33.0", "vllmVersion": "0.33"}, []),
        ({"image": f"{ROCM}:v0.33", "vllmVersion": "0.33.1"}, []),
        ({"image": f"{ROCM}:v0.33.0rc1", "vllmVersion": "0.33.0"}, []),
        ({"image": "vllm/vllm-openai:v0.33.0"}, ["image-not-for-amd"]),
        ({"image": "registry.example/mirror/vllm/vllm-openai:v0.33.0"}, ["image-not-for-amd"]),
        ({"image": "vllm/vllm-openai-xpu:v0.33.0"}, ["image-not-for-amd"]),
        ({"image": "registry.example/vllm/vllm-openai-neuron:v0.33.0"}, ["image-not-for-amd"]),
        ({"image": "vllm/vllm-openai-rocm:v0.33.0"}, []),
        ({"image": "team/vllm-openai:v0.33.0"}, []),
        ({"image": "rocm/vllm:rocm7.0.0_vllm_0.18.1_20260101"}, ["image-deprecated"]),
        ({"image": "rocm/vllm-dev:nightly_main_20260101"}, ["version-unknown", "image-deprecated"]),
        ({"image": "a/vllm:rocm7.1_gfx94X-dcgpu_vllm_0.22.1"}, []),
        ({"image": "a/vllm:rocm7.1_gfx942-dcgpu_vllm_0.22.1"}, []),
        ({"image": "a/vllm:rocm7.1_gfx942_gfx950_vllm_0.22.1"}, []),
        ({"image": "a/vllm:rocm7.1_gfx950-dcgpu_vllm_0.22.1"}, ["image-for-another-architecture"]),
        ({"image": "a/vllm:rocm7.1_gfx90a_vllm_0.22.1"}, ["image-for-another-architecture"]),
        ({"image": f"{ROCM}:v0.33.0-base"}, ["image-without-vllm"]),
        ({"image": f"{ROCM}:nightly-base", "vllmVersion": "0.33.0"}, ["floating-tag", "image-without-vllm"]),
        ({"image": "team/vllm:v0.33.0-base"}, []),
    ],
)
def test_an_image_and_a_version_are_told_what_is_wrong_with_them(
    engine: dict[str, Any], names: list[str]
) -> None:
    assert codes(engine) == names


@pytest.mark.parametrize(
    ("tag", "gpu", "found"),
    [
        ("rocm6.4.3_vllm_0.18.1", "MI355X", True),
        ("rocm643_vllm_0.18.1", "MI350X", True),
        ("rocm6.4.3_vllm_0.18.1", "MI300X", False),
        ("rocm7.0.0_vllm_0.18.1", "MI355X", False),
        ("rocm72_vllm_0.18.1", "MI355X", False),
        ("rocm100_vllm_0.18.1", "MI355X", False),
        ("v0.18.1", "MI355X", False),
    ],
)
def test_an_image_has_a_rocm_that_knows_the_gpu(tag: str, gpu: str, found: bool) -> None:
    assert ("image-with-an-old-rocm" in codes({"image": f"team/vllm:{tag}"}, gpu)) is found


def test_what_an_engine_itself_said_is_a_version_that_is_known() -> None:
    assert codes({"image": "a/b:1"}, version=Version(0, 30, 0)) == []


def test_without_a_kind_of_gpu_no_image_is_for_another_architecture() -> None:
    assert codes({"image": "a/vllm:rocm7.1_gfx950-dcgpu_vllm_0.22.1"}, gpu=None) == []
