"""Whatever the API server would take, the rules find something or nothing, and never raise."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.cli.checking import check, located, rules_by_code
from specdeploy.cli.reading import Source, contents
from specdeploy.engine.catalogue.load import targets
from specdeploy.engine.options import OPTIONS
from specdeploy.engine.versions import Version

KNOWN = rules_by_code()
TARGETS = [target.model for target in targets()]
CHECKPOINTS = sorted({each.model for target in targets() for each in target.drafters if each.model})
METHODS = ["mtp", "eagle3", "eagle", "dflash", "dspark", "draft_model", "ngram", "suffix"]
FLAGS = [
    "--tensor-parallel-size", "--max-model-len", "--max-num-seqs", "--enable-lora", "--kv-cache-dtype", "-tp",
    "--hf-overrides", "--compilation-config", "--attention-backend", "--no-async-scheduling", "--", "serve",
    "--gpu-memory-utilization", "--max-num-batched-tokens", "--quantization", "--data-parallel-size",
]  # fmt: skip
NAMES = [
    "VLLM_ROCM_USE_AITER",
    "HIP_VISIBLE_DEVICES",
    "VLLM_USE_V1",
    "HF_TOKEN",
    "VLLM_USE_V2_MODEL_RUNNER",
    "X",
]

SCALARS: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 10**12), st.floats(allow_nan=False), st.text(max_size=6)
)
JSON = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=6), below, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from([*FLAGS, "0", "1", "2", "-1", "fp8", "{}", "[", '{"a": 1}', "1e9", "16K", "auto", ""])
DRAFTER = st.fixed_dictionaries(
    {"method": st.sampled_from(METHODS), "numSpeculativeTokens": st.integers(1, 64)},
    optional={
        "model": st.sampled_from([*CHECKPOINTS, "a/b", "/models/x", "ngram"]),
        "attentionBackend": st.sampled_from(["TRITON_ATTN", "ROCM_AITER_FA", "X"]),
        "options": st.dictionaries(st.sampled_from([*OPTIONS, "no_such_key"]), JSON, max_size=4),
    },
)
VARIABLES = st.dictionaries(st.sampled_from(NAMES), st.text(max_size=4), max_size=3)
TYPES = st.sampled_from(["MI250X", "MI300X", "MI355X"])
SPEC = st.fixed_dictionaries(
    {
        "model": st.sampled_from([*TARGETS, "o/m"]),
        "drafters": st.lists(DRAFTER, max_size=3),
        "accelerator": st.fixed_dictionaries({}, optional={"type": TYPES, "count": st.integers(1, 8)}),
        "args": st.lists(WORDS, max_size=6),
        "env": VARIABLES,
        "podTemplate": st.dictionaries(
            st.sampled_from(["affinity", "resources", "securityContext"]),
            st.dictionaries(st.sampled_from(["limits", "requests", "nodeAffinity", "x"]), JSON, max_size=2),
            max_size=2,
        ),
    }
)


def written(given_spec: dict[str, Any]) -> str:
    """A whole file with this spec."""
    spec = {key: given_spec[key] for key in ("model", "accelerator")}
    spec["drafters"] = [{**drafter, "name": f"d{i}"} for i, drafter in enumerate(given_spec["drafters"])]
    env = [{"name": name, "value": value} for name, value in given_spec["env"].items()]
    spec["engine"] = {"args": given_spec["args"], "env": env, "podTemplate": given_spec["podTemplate"]}
    head = {"apiVersion": "specdeploy.dev/v1alpha1", "kind": "SpecDeployment", "metadata": {"name": "a"}}
    return json.dumps({**head, "spec": spec})


@settings(max_examples=100, deadline=None)
@given(SPEC, st.sampled_from([None, Version(0, 18), Version(0, 27), Version(0, 40)]))
def test_every_finding_has_a_rule_and_a_place(spec: dict[str, Any], asked: Version | None) -> None:
    held = contents(Source("f.json", written(spec)))
    [read] = held.objects
    checked = [(read, check(read, read.spec, asked=asked).findings)] if read.spec else []
    for each in located(held, checked):
        assert each.finding.code in KNOWN
        assert each.finding.severity is KNOWN[each.finding.code].severity
        assert each.line >= 1
        assert each.finding.reason
        assert each.finding.fix


FIELDS = ["replicas", "accelerator", "drafters", "trial", "guards", "baseline", "promotion", "service", "x"]
PARTS = ["args", "env", "image", "podTemplate", "weights", "compileCache", "vllmVersion", "startupSeconds"]


@settings(max_examples=100, deadline=None)
@given(
    SPEC,
    st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2),
    st.dictionaries(st.sampled_from(PARTS), JSON, max_size=2),
)
def test_whatever_is_wrong_beside_the_drafters_is_told_and_the_rest_is_checked(
    spec: dict[str, Any], fields: dict[str, Any], parts: dict[str, Any]
) -> None:
    body = json.loads(written(spec))
    body["spec"]["engine"] |= parts
    body["spec"] |= fields
    [read] = contents(Source("f.json", json.dumps(body))).objects
    assert read.found or read.whole
    if read.spec is not None:
        assert all(each.reason for each in check(read, read.spec).findings)


HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: a}\n"
DFLASH = "{name: a, method: dflash, model: z-lab/gemma-4-26B-A4B-it-DFlash%s}"
# the only drafter -> whether the catalogue's best one is advised
LISTED: dict[str, tuple[str, bool]] = {
    "another": ("{name: a, method: ngram, numSpeculativeTokens: 3}", True),
    "the best": (DFLASH % ", numSpeculativeTokens: 7", False),
    "the best, without its tokens": (DFLASH % "", False),
    "the best, with options that are text": (DFLASH % ", numSpeculativeTokens: 7, options: '{}'", False),
    "one that is no object": ("dflash", True),
    "a method that is none": (DFLASH.replace("dflash", "DFlash", 1) % "", True),
}


@pytest.mark.parametrize("case", LISTED)
def test_what_is_listed_and_can_not_be_read_is_not_advised(case: str) -> None:
    drafter, advised = LISTED[case]
    spec = f"spec:\n  model: google/gemma-4-26B-A4B-it\n  drafters: [{drafter}]\n"
    [read] = contents(Source("f.yaml", HEAD + spec)).objects
    assert read.spec is not None
    advice = [each.reason for each in check(read, read.spec).findings if each.code == "SD807"]
    assert any("DFlash with z-lab" in reason for reason in advice) == advised


def test_of_a_spec_with_something_left_out_only_drafters_are_spoken_of() -> None:
    spec = "spec:\n  model: google/gemma-4-26B-A4B-it\n  replicas: {}\n  drafters: [{name: a, method: ngram, "
    [read] = contents(
        Source("f.yaml", f"{HEAD}{spec}numSpeculativeTokens: 3, options: {{x: 1}}}}]\n")
    ).objects
    assert read.spec is not None
    fields = {each.field for each in check(read, read.spec).findings}
    assert "spec.drafters[0].options.x" in fields
    assert all(field.startswith("spec.drafters[0]") for field in fields)
