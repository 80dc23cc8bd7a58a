"""Environment of the engine's container."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.rule import Finding
from specdeploy.api.spec import Spec
from specdeploy.engine import layout
from specdeploy.engine.checks import on_spec
from specdeploy.engine.environment import OWNED, engine_environment
from specdeploy.engine.options import PATH_METHODS
from specdeploy.engine.rules.environment import FIELD, TOKEN_TWICE
from specdeploy.engine.setting import setting_of
from tests.engine.specs import everything, smallest

IMAGE = "vllm:v0.33.0"


def environment(spec: Spec, image: str = IMAGE) -> dict[str, Any]:
    found = engine_environment(spec, image)
    names = [variable["name"] for variable in found]
    assert len(names) == len(set(names))
    return {variable["name"]: variable.get("value", variable.get("valueFrom")) for variable in found}


def check_environment(spec: Spec) -> tuple[Finding, ...]:
    codes = {FIELD.code, TOKEN_TWICE.code}
    return tuple(finding for finding in on_spec(setting_of(spec)) if finding.code in codes)


def test_the_smallest_engine_has_a_home_caches_and_explicit_switches() -> None:
    assert environment(smallest()) == {
        "HOME": "/var/lib/engine/home",
        "USER": "vllm",
        "VLLM_ROCM_USE_AITER": "0",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENGINE_READY_TIMEOUT_S": "3600",
        "HF_HOME": "/var/lib/engine/weights",
        "HF_MODULES_CACHE": "/var/lib/engine/home/hf-modules",
        "VLLM_CACHE_ROOT": "/var/lib/engine/compiled/huewatp3t4/MI300X/vllm",
        "TRITON_CACHE_DIR": "/var/lib/engine/compiled/huewatp3t4/MI300X/triton",
    }


def test_the_users_value_replaces_ours_and_comes_after_what_it_may_refer_to() -> None:
    found = engine_environment(everything(), IMAGE)
    assert [v for v in found if v["name"] == "VLLM_ROCM_USE_AITER"] == [
        {"name": "VLLM_ROCM_USE_AITER", "value": "1"}
    ]
    assert [v["name"] for v in found[-2:]] == ["VLLM_ROCM_USE_AITER", "VLLM_API_KEY"]
    assert found[-1]["valueFrom"] == {"secretKeyRef": {"name": "keys", "key": "engine"}}


def test_offline_and_the_hub_token_are_set_only_when_asked_for() -> None:
    assert not {"HF_HUB_OFFLINE", "HF_TOKEN"} & set(environment(smallest()))
    found = environment(everything())
    assert found["HF_HUB_OFFLINE"] == "1"
    assert found["HF_TOKEN"] == {"secretKeyRef": {"name": "hub", "key": "token"}}


def test_compiled_kernels_are_kept_apart_by_image_and_by_gpu() -> None:
    folders = {
        environment(smallest("accelerator.type", gpu), image)["VLLM_CACHE_ROOT"]
        for gpu in ("MI300X", "MI355X")
        for image in ("vllm:v0.32.0", "vllm:v0.33.0")
    }
    assert len(folders) == 4


def test_without_a_kind_of_gpu_compiled_kernels_are_kept_apart_by_node() -> None:
    spec = smallest("accelerator", {"count": 2})
    names = [variable["name"] for variable in engine_environment(spec, IMAGE)]
    found = environment(spec)
    assert found["SPECDEPLOY_NODE"] == {"fieldRef": {"fieldPath": "spec.nodeName"}}
    assert "/$(SPECDEPLOY_NODE)/" in found["TRITON_CACHE_DIR"]
    assert names.index("SPECDEPLOY_NODE") < names.index("TRITON_CACHE_DIR")


@pytest.mark.parametrize(
    ("cache", "kept"),
    [
        (None, False),
        ({"emptyDir": {}}, False),
        ({"ephemeral": {"size": "10Gi"}}, False),
        ({"hostPath": {"path": "/cache"}}, True),
        ({"persistentVolumeClaim": {"claimName": "cache"}}, True),
    ],
)
def test_aiter_builds_into_the_cache_only_where_it_outlives_the_pod(cache: Any, kept: bool) -> None:
    assert ("AITER_JIT_DIR" in environment(smallest("engine.compileCache", cache))) is kept


@pytest.mark.parametrize("name", sorted(OWNED))
def test_a_variable_with_a_field_of_its_own_is_refused(name: str) -> None:
    spec = smallest("engine.env", [{"name": "OTHER", "value": "x"}, {"name": name, "value": "x"}])
    (finding,) = check_environment(spec)
    assert finding.field == "spec.engine.env[1]"
    assert name in finding.reason


@pytest.mark.parametrize("name", ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"])
def test_a_hub_token_is_refused_only_beside_its_field(name: str) -> None:
    variables = [{"name": name, "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]
    assert check_environment(smallest("engine.env", variables)) == ()
    assert len(check_environment(everything("engine.env", variables))) == 1


def test_no_path_of_ours_holds_a_word_by_which_vllm_guesses_a_method() -> None:
    paths = (layout.WEIGHTS_PATH, layout.CACHE_PATH, layout.HOME_PATH, layout.SHM_PATH)
    assert not [path for path in paths for word, _ in PATH_METHODS if word in path]
