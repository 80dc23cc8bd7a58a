"""What changes a revision, what changes only a pod's shape, and what changes neither."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from specdeploy.api.engine_spec import Accelerator, Engine, PodTemplate
from specdeploy.api.spec import Drafter, Spec
from specdeploy.engine.hashing import short_hash
from specdeploy.engine.image import image_of
from specdeploy.engine.revision import Arms, Template, revision_of, templates
from tests.engine.specs import EVERYTHING, SMALLEST, changed

# A revision that changes by accident forgets every verdict, a template that does restarts fleets. Change
# these only on purpose.
PINNED = {
    "smallest": {
        "baseline": ("oa5qx56vbd", "jvlswdd2l5", "veomufcytl"),
        "dflash": ("tujlvj4x6h", "hwpmfytlls", "ulovurikya"),
    },
    "everything": {
        "baseline": ("za4rnpejx5", "zpxqeheaoh", "w3ii536lli"),
        "eagle": ("zkrbespq5c", "dxjucrkhdy", "tbg7w37nzi"),
    },
}

# Field of the spec that sets everything, another value, and whether revision and shape change with it.
FIELDS: list[tuple[str, Any, bool, bool]] = [
    ("model", "Qwen/Qwen3-14B", True, True),
    ("servedModelName", "other", False, True),
    ("modelRevision", "main", True, True),
    ("replicas", 9, False, False),
    ("accelerator.type", "MI300X", True, True),
    ("accelerator.count", 16, True, True),
    ("accelerator.resourceName", "amd.com/gpu", True, True),
    ("engine.image", "registry.example/team/vllm-rocm:v0.33.0", True, True),
    ("engine.vllmVersion", "0.33.0", False, False),
    ("engine.imagePullPolicy", "Never", False, True),
    ("engine.args", ["-tp=8"], True, True),
    ("engine.env", [], True, True),
    ("engine.attentionBackend", "TRITON_ATTN", True, True),
    ("engine.weights", {"offline": True}, False, True),
    ("engine.compileCache", {"hostPath": {"path": "/other"}}, False, True),
    ("engine.hfTokenSecretRef", {"name": "hub", "key": "other"}, False, True),
    ("engine.startupSeconds", 600, False, True),
    ("engine.drain", {"requestSeconds": 60}, False, True),
    ("engine.podTemplate.labels", {"team": "ads"}, False, True),
    ("engine.podTemplate.annotations", {}, False, True),
    ("engine.podTemplate.serviceAccountName", "other", False, True),
    ("engine.podTemplate.nodeSelector", {"pool": "other"}, False, True),
    ("engine.podTemplate.tolerations", [], False, True),
    ("engine.podTemplate.affinity", {}, False, True),
    ("engine.podTemplate.topologySpreadConstraints", [], False, True),
    ("engine.podTemplate.priorityClassName", "other", False, True),
    ("engine.podTemplate.runtimeClassName", "other", False, True),
    ("engine.podTemplate.schedulerName", "other", False, True),
    ("engine.podTemplate.imagePullSecrets", [], False, True),
    ("engine.podTemplate.volumes", [], False, True),
    ("engine.podTemplate.volumeMounts", [], False, True),
    ("engine.podTemplate.initContainers", [], False, True),
    ("engine.podTemplate.containers", [], False, True),
    ("engine.podTemplate.securityContext", {"fsGroup": 1}, False, True),
    ("engine.podTemplate.resources", {"limits": {"memory": "1Gi"}}, True, True),
    ("drafters.0.name", "other", False, True),
    ("drafters.0.method", "eagle", True, True),
    ("drafters.0.model", "org/other", True, True),
    ("drafters.0.revision", "main", True, True),
    ("drafters.0.numSpeculativeTokens", 6, True, True),
    ("drafters.0.attentionBackend", "TRITON_ATTN", True, True),
    ("drafters.0.allowLossy", True, True, True),
    ("drafters.0.options", {"max_model_len": 4096}, True, True),
    ("promotion", {"soakWindows": 20}, False, False),
    ("guards", {"clientErrors": {"enabled": False}}, False, False),
    ("baseline", {"replicas": 2}, False, False),
    ("trial", {"windowSeconds": 30}, False, False),
    ("service", {"port": 8080}, False, False),
    ("paused", True, False, False),
]


def arms_of(body: dict[str, Any]) -> Arms:
    spec = Spec.model_validate(body)
    return templates("owner", spec, image_of(spec))


def drafter_of(body: dict[str, Any]) -> Template:
    return arms_of(body).drafters[0]


@pytest.mark.parametrize(("path", "value", "revision", "shape"), FIELDS, ids=[f[0] for f in FIELDS])
def test_a_field_changes_the_revision_if_it_can_change_speed_or_output_and_the_shape_if_it_shapes_the_pod(
    path: str, value: Any, revision: bool, shape: bool
) -> None:
    before, after = drafter_of(EVERYTHING), drafter_of(changed(EVERYTHING, path, value))
    assert (before.revision != after.revision, before.shape != after.shape) == (revision, shape)
    assert (before.hash != after.hash) == shape


def test_every_field_of_the_spec_has_a_row_in_the_table_above() -> None:
    def fields(prefix: str, model: type[BaseModel]) -> set[str]:
        return {f"{prefix}{field.alias}" for field in model.model_fields.values()}

    expected = (
        (fields("", Spec) - {"accelerator", "engine", "drafters"})
        | fields("accelerator.", Accelerator)
        | (fields("engine.", Engine) - {"engine.podTemplate"})
        | fields("engine.podTemplate.", PodTemplate)
        | fields("drafters.0.", Drafter)
    )
    assert {path for path, *_ in FIELDS} == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("servedModelName", SMALLEST["model"]),
        ("accelerator.resourceName", "amd.com/gpu"),
        ("engine", {}),
        ("engine.image", image_of(Spec.model_validate(SMALLEST))),
        ("engine.args", []),
        ("engine.env", []),
        ("engine.weights", {}),
        ("engine.weights", {"emptyDir": {}}),
        ("engine.weights", {"offline": False}),
        ("engine.compileCache", {}),
        ("engine.compileCache", {"emptyDir": {}}),
        ("engine.podTemplate", {}),
        ("engine.podTemplate", {"labels": {}, "tolerations": [], "affinity": {}, "resources": {}}),
        ("engine.startupSeconds", 3600),
        ("engine.drain", {"endpointRemovalSeconds": 20}),
        ("drafters.0.options", {}),
        ("drafters.0.allowLossy", False),
    ],
)
def test_writing_a_default_out_changes_nothing(path: str, value: Any) -> None:
    assert arms_of(changed(SMALLEST, path, value)).baseline == arms_of(SMALLEST).baseline
    written, absent = drafter_of(changed(SMALLEST, path, value)), drafter_of(SMALLEST)
    assert (written.revision, written.hash) == (absent.revision, absent.hash)


def test_a_variable_without_a_value_is_an_empty_one() -> None:
    bare = arms_of(changed(SMALLEST, "engine.env", [{"name": "A"}]))
    assert bare.baseline == arms_of(changed(SMALLEST, "engine.env", [{"name": "A", "value": ""}])).baseline


def test_an_empty_map_within_a_core_object_has_a_meaning_and_counts() -> None:
    def shape(volume: dict[str, Any]) -> str:
        return arms_of(changed(SMALLEST, "engine.podTemplate.volumes", [volume])).baseline.shape

    assert shape({"name": "v", "emptyDir": {}}) != shape({"name": "v"})


def test_the_owner_shapes_the_pod_and_is_no_part_of_the_revision() -> None:
    spec = Spec.model_validate(SMALLEST)
    one, two = (templates(name, spec, "image").baseline for name in ("one", "two"))
    assert (one.revision == two.revision, one.hash == two.hash) == (True, False)


def test_the_image_in_force_counts_even_if_the_spec_names_none() -> None:
    spec = Spec.model_validate(SMALLEST)
    assert revision_of(spec, "vllm:v0.32.0", None) != revision_of(spec, "vllm:v0.33.0", None)


def test_drafters_that_differ_only_in_name_have_one_revision_and_two_templates() -> None:
    first = SMALLEST["drafters"][0]
    arms = arms_of(changed(SMALLEST, "drafters", [first, {**first, "name": "twin"}]))
    one, two = arms.drafters
    assert (one.revision == two.revision, one.hash == two.hash) == (True, False)


def test_templates_come_in_the_order_of_the_spec_with_their_drafter() -> None:
    first = SMALLEST["drafters"][0]
    arms = arms_of(changed(SMALLEST, "drafters", [{**first, "name": "b"}, {**first, "name": "a"}]))
    assert [(t.drafter, t.config and t.config.name) for t in arms.drafters] == [("b", "b"), ("a", "a")]
    assert (arms.baseline.drafter, arms.baseline.config) == ("baseline", None)


@pytest.mark.parametrize(("name", "body"), [("smallest", SMALLEST), ("everything", EVERYTHING)])
def test_the_hashes_of_known_specs_stay_as_they_are(name: str, body: dict[str, Any]) -> None:
    arms = arms_of(body)
    found = {t.drafter: (t.revision, t.shape, t.hash) for t in (arms.baseline, *arms.drafters)}
    assert found == PINNED[name]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def reversed_maps(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_maps(value[key]) for key in reversed(value)}
    return [reversed_maps(item) for item in value] if isinstance(value, list) else value


@given(JSON_VALUES)
def test_a_hash_is_a_short_label_value_and_blind_to_the_order_of_keys(value: Any) -> None:
    found = short_hash(value)
    assert found == short_hash(reversed_maps(value))
    assert len(found) == 10
    assert found.isascii()
    assert found.isalnum()
    assert found == found.lower()


@given(JSON_VALUES, JSON_VALUES)
def test_different_values_have_different_hashes(one: Any, two: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (short_hash(one) == short_hash(two)) == same
