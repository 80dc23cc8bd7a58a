"""The accelerator's nodes and the user's affinity hold at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdeploy.engine.accelerators import LABEL, matches
from specdeploy.manifests.affinity import build_affinity
from tests.engine.specs import smallest
from tests.manifests.rendering import pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
Labels = dict[str, str]


def accepts(affinity: dict[str, Any], labels: Labels, node: str) -> bool:
    """The scheduler's rule: one term of which everything holds; an empty term never holds."""
    terms = affinity["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return any(_term_holds(term, labels, node) for term in terms)


def _term_holds(term: dict[str, Any], labels: Labels, node: str) -> bool:
    on_labels, on_fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not on_labels and not on_fields:
        return False
    return all(_holds(e, labels) for e in on_labels) and all(
        _holds(e, {"metadata.name": node}) for e in on_fields
    )


def _holds(expression: dict[str, Any], labels: Labels) -> bool:
    value = labels.get(expression["key"])
    return value is not None if expression["operator"] == "Exists" else value in expression["values"]


def asked(terms: list[dict[str, Any]]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


EXPRESSION = st.sampled_from(
    [
        {"key": "zone", "operator": "In", "values": ["a"]},
        {"key": "zone", "operator": "In", "values": ["b", "c"]},
        {"key": "ssd", "operator": "Exists"},
    ]
)
FIELD = st.just({"key": "metadata.name", "operator": "In", "values": ["n1"]})
TERM = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(EXPRESSION, max_size=2),
        "matchFields": st.lists(FIELD, max_size=1),
    },
)
NODE_LABELS = st.fixed_dictionaries(
    {},
    optional={
        LABEL: st.sampled_from(["74a1", "74b5", "75a3"]),
        f"{LABEL}.74a1": st.just("4"),
        f"{LABEL}.75a3": st.just("4"),
        "zone": st.sampled_from(["a", "b", "d"]),
        "ssd": st.just("yes"),
    },
)


@given(st.lists(TERM, min_size=1, max_size=3), NODE_LABELS, st.sampled_from(["n1", "n2"]))
def test_a_node_is_accepted_if_it_has_the_gpu_and_the_user_accepts_it(
    terms: list[dict[str, Any]], labels: Labels, node: str
) -> None:
    merged = build_affinity(smallest("engine.podTemplate.affinity", asked(terms)))
    wanted = matches(labels, "MI300X") and accepts(asked(terms), labels, node)
    assert accepts(merged, labels, node) == wanted


@pytest.mark.parametrize("given_", [{}, {"nodeAffinity": {}}, asked([]), {"nodeAffinity": {REQUIRED: None}}])
def test_without_terms_of_the_user_the_gpu_decides(given_: dict[str, Any]) -> None:
    merged = build_affinity(smallest("engine.podTemplate.affinity", given_))
    assert accepts(merged, {LABEL: "74a1"}, "n1")
    assert not accepts(merged, {LABEL: "75a3"}, "n1")


def test_the_rest_of_the_users_affinity_stays() -> None:
    preferred = [{"weight": 1, "preference": {"matchExpressions": [{"key": "ssd", "operator": "Exists"}]}}]
    affinity = {
        "podAntiAffinity": {"x": 1},
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred},
    }
    merged = build_affinity(smallest("engine.podTemplate.affinity", affinity))
    assert merged["podAntiAffinity"] == {"x": 1}
    assert merged["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] == preferred
    assert REQUIRED in merged["nodeAffinity"]


def test_without_a_type_of_accelerator_the_users_affinity_stands_alone() -> None:
    assert "affinity" not in pod(smallest("accelerator", {}))
    spec = smallest("accelerator", {}).model_copy(
        update={"engine": smallest("engine.podTemplate.affinity", {"podAffinity": {}}).engine}
    )
    assert pod(spec)["affinity"] == {"podAffinity": {}}
