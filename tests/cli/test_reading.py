"""Files as people write them: what is wrong is found at its line and column, and nothing makes it raise."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.api.rule import Rule
from specdeploy.cli.reading import RULES, Contents, Source, contents
from specdeploy.cli.reading.paths import dotted, path_of

HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: gemma}\n"
SPEC = HEAD + "spec:\n  model: google/gemma\n"
DRAFTER = "{name: %s, method: ngram, numSpeculativeTokens: 3}"


def read(text: str) -> Contents:
    return contents(Source("f.yaml", text))


def told(text: str) -> list[tuple[int, int, str, str]]:
    """(line, column, code, field) of all that is found in a text, in order."""
    held = read(text)
    found = [*held.broken, *(each for one in held.objects for each in one.found)]
    return sorted((each.line, each.column, each.finding.code, each.finding.field) for each in found)


# A rule that is about bytes has no example that is text.
OF_TEXT = [rule for rule in RULES if rule.code != "SD019"]


@pytest.mark.parametrize("rule", OF_TEXT, ids=lambda rule: rule.code)
def test_the_refused_example_of_a_rule_is_refused_by_it_alone(rule: Rule) -> None:
    assert [code for _, _, code, _ in told(rule.refused)] == [rule.code]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_example_that_passes_a_rule_is_read_without_a_finding(rule: Rule) -> None:
    assert told(rule.passed) == []
    [found] = read(rule.passed).objects
    assert found.spec is not None


# what is written -> [(line, column, code, field)]
PLACES: dict[str, tuple[str, list[tuple[int, int, str, str]]]] = {
    "a value": (SPEC + "  replicas: -1\n", [(6, 3, "SD001", "spec.replicas")]),
    "a value in a list": (
        SPEC + f"  drafters:\n    - {DRAFTER % 'a'}\n    - {DRAFTER % 'B'}\n",
        [(8, 8, "SD001", "spec.drafters[1].name")],
    ),
    "a missing field stands at what lacks it": (
        SPEC + "  drafters:\n    - {name: a, method: ngram}\n",
        [(7, 7, "SD004", "spec.drafters[0].numSpeculativeTokens")],
    ),
    "a number in quotes": (SPEC + '  replicas: "4"\n', [(6, 3, "SD003", "spec.replicas")]),
    "a key with a slash": (
        SPEC + "  service: {annotations: {a.b/c: 1}}\n",
        [(6, 27, "SD003", 'spec.service.annotations["a.b/c"]')],
    ),
    "both of two mistakes": (
        SPEC + "  replica: 1\n  trial: {windowSeconds: 1}\n",
        [(6, 3, "SD002", "spec.replica"), (7, 11, "SD001", "spec.trial.windowSeconds")],
    ),
    "a second document": (
        f"{SPEC}---\n{SPEC}  paused: 1\n",
        [(12, 3, "SD001", "spec.paused")],
    ),
    "an empty document before it": (f"---\n---\n{SPEC}  paused: 1\n", [(8, 3, "SD001", "spec.paused")]),
    "an item of a v1 List": (
        "apiVersion: v1\nkind: List\nitems:\n- kind: Other\n- "
        + SPEC.replace("\n", "\n  ")
        + "  paused: 1\n",
        [(10, 5, "SD001", "spec.paused")],
    ),
    "an item of a list of ours": (
        "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeploymentList\nitems:\n- "
        + SPEC.replace("\n", "\n  ")
        + "  paused: 1\n",
        [(9, 5, "SD001", "spec.paused")],
    ),
    "what is merged in": (
        "x: &x {replicas: -1}\n---\n" + HEAD + "spec:\n  <<: &y {replicas: -1}\n  model: m\n",
        [(7, 11, "SD001", "spec.replicas")],
    ),
    "what an alias stands for": (
        SPEC + "  servedModelName: &n -x\n  modelRevision: *n\n",
        [(6, 3, "SD001", "spec.servedModelName"), (7, 3, "SD001", "spec.modelRevision")],
    ),
    "a key twice, at the second": (SPEC + "  model: other\n", [(6, 3, "SD013", "spec.model")]),
    "a key twice in JSON": (
        '{"a": 1,\n "a": 2, "apiVersion": "specdeploy.dev/v1alpha1"}',
        [(1, 1, "SD008", "kind"), (2, 2, "SD013", "a")],
    ),
    "a key twice, deep inside": (
        SPEC + "  engine:\n    env:\n    - {name: A, value: a}\n    - {name: B, value: b, name: C}\n",
        [(9, 27, "SD013", "spec.engine.env[1].name")],
    ),
    "a key that is a list": (SPEC + "  trial: {? [a] : 1}\n", [(6, 13, "SD014", "spec.trial")]),
    "a kind of another group": (
        SPEC.replace("specdeploy.dev", "specdeploy.io"),
        [(1, 1, "SD008", "apiVersion")],
    ),
    "a plain list of objects": ("- " + SPEC.replace("\n", "\n  "), [(1, 1, "SD008", "")]),
    "a template's value": (SPEC + "  replicas: {{ .Values.replicas }}\n", [(6, 13, "SD020", "")]),
    "a template's value in a value": (SPEC + "  trial: {replicas: {{ .x }}}\n", [(6, 21, "SD020", "")]),
    "a template's action": ("{{- if .Values.enabled }}\n" + SPEC + "{{- end }}\n", [(1, 1, "SD020", "")]),
    "a template's remark": ("{{/* What it is. */}}\n" + SPEC, [(1, 1, "SD020", "")]),
    "a template's value in quotes": (
        SPEC + "  replicas: '{{ .Values.replicas }}'\n",
        [(6, 3, "SD001", "spec.replicas")],
    ),
    "a chat template is no template of a manifest": (
        SPEC + "  engine: {args: ['--chat-template={{ messages }}']}\n",
        [],
    ),
    "a mistake beside a chat template": (
        SPEC + "  engine: {args: ['--chat-template={{ messages }}']}\n  a: b: c\n",
        [(7, 7, "SD010", "")],
    ),
    "a document before a mistake": (
        f"{SPEC}  paused: 1\n---\na: [1\n",
        [(6, 3, "SD001", "spec.paused"), (8, 4, "SD012", "")],
    ),
    "a tab between two keys": (SPEC + "\treplicas: 4\n", [(6, 1, "SD011", "")]),
    "a tab after spaces": (SPEC + "  \treplicas: 4\n", [(6, 3, "SD011", "")]),
    "an open quote, where it opens": (SPEC + "  image: 'x\n  y: 1\n", [(6, 10, "SD012", "")]),
    "a colon in a value": (SPEC + "  modelRevision: a: b\n", [(6, 19, "SD010", "")]),
    "a control character": (SPEC + "  modelRevision: a\x07\n", [(6, 19, "SD010", "")]),
    "a list for an object": ("- a\n- b\n", []),
    "text": ("hello\n", []),
    "nothing": ("", []),
    "a number that no machine holds": (
        SPEC + f"  replicas: {'9' * 5000}\n",
        [(6, 3, "SD001", "spec.replicas")],
    ),
    "a number that is none": (SPEC + "  replicas: .nan\n", [(6, 3, "SD001", "spec.replicas")]),
    "a number of which there is nothing but its tag": (
        SPEC + "  replicas: !!int\n",
        [(6, 3, "SD001", "spec.replicas")],
    ),
    "a tag that is not known": (SPEC + "  replicas: !Ref 4\n", [(6, 3, "SD003", "spec.replicas")]),
    "a tag that runs code elsewhere": (
        SPEC + "  replicas: !!python/object/apply:os.getcwd []\n",
        [(6, 3, "SD001", "spec.replicas")],
    ),
    "other letters": (
        SPEC.replace("google/gemma", "模型/γ") + "  drafters: [" + DRAFTER % "日本" + "]\n",
        [(6, 15, "SD001", "spec.drafters[0].name")],
    ),
    "the column of what stands after other letters": (
        HEAD + "spec: {servedModelName: 模型, model: m, replicas: x}\n",
        [(4, 39, "SD001", "spec.replicas")],
    ),
    "a kind that does not exist": (SPEC.replace("SpecDeployment", "SpecDeploy"), [(2, 1, "SD008", "kind")]),
    "a kind without a version": (
        SPEC.replace("apiVersion: specdeploy.dev/v1alpha1\n", ""),
        [(1, 1, "SD008", "apiVersion")],
    ),
    "a date where text is wanted": (SPEC + "  modelRevision: 2026-01-01\n", []),
    "words that are switches": (SPEC + "  modelRevision: yes\n", [(6, 3, "SD003", "spec.modelRevision")]),
}


@pytest.mark.parametrize("case", PLACES)
def test_what_is_wrong_is_found_at_its_place(case: str) -> None:
    text, wanted = PLACES[case]
    assert told(text) == wanted


def test_text_without_quotes_is_shown_as_it_is_written() -> None:
    [found] = read(SPEC + "  modelRevision: 1.10\n").objects
    assert [each.finding.fix for each in found.found] == ['write "1.10", in quotes']


def test_json_may_write_a_character_as_two_escapes() -> None:
    body = {"apiVersion": "specdeploy.dev/v1alpha1", "kind": "SpecDeployment", "metadata": {"name": "a"}}
    text = json.dumps({**body, "spec": {"model": "m/\U0001f600\\ud83d"}})
    [found] = read(text).objects
    assert found.spec is not None
    assert found.spec.model == "m/\U0001f600\\ud83d"
    assert [code for _, _, code, _ in told(text.replace("\\ude00", ""))] == ["SD010"]


def test_drafters_that_can_not_be_read_leave_the_others_at_their_places() -> None:
    drafters = "".join(f"    - {DRAFTER % name}\n" for name in ("a", "B", "c"))
    [found] = read(f"{SPEC}  drafters:\n{drafters}").objects
    assert found.spec is not None
    assert found.spec.names() == ["a", "c"]
    moved = found.locate_in_spec(RULES[0].at("spec.drafters[1].method", "", ""))
    assert (moved.line, moved.finding.field) == (9, "spec.drafters[2].method")


def test_documents_that_are_no_specdeployment_are_counted_and_passed_over() -> None:
    held = read(f"kind: Service\nspec: []\n---\n{SPEC}---\n- 1\n")
    assert (len(held.objects), held.others, held.broken) == (1, 2, [])


# what is large -> (the text, codes)
LARGE: dict[str, tuple[str, list[str]]] = {
    "ten thousand drafters": (
        SPEC + "  drafters:\n" + "".join(f"  - {DRAFTER % i}\n" for i in range(10_000)),
        ["SD001"],
    ),
    "a thousand unknown fields": (
        SPEC + "".join(f"  x{i}: 1\n" for i in range(1000)),
        ["SD002"] * 50 + ["SD001"],
    ),
    "aliases of aliases": (next(r.refused for r in RULES if r.code == "SD017"), ["SD017"]),
    "brackets without an end": ("[" * 1_000_000, ["SD018"]),
    "dashes without an end": ("- " * 1_000_000, ["SD018"]),
    "aliases that make it deep": (
        "a: &a " + "[" * 60 + "]" * 60 + "\nb: " + "[" * 60 + "*a" + "]" * 60 + "\n",
        ["SD018"],
    ),
    "five megabytes of text": (SPEC + "  modelRevision: '" + "x " * 2_500_000 + "'\n", ["SD001"]),
    "five megabytes of an affinity": (
        SPEC
        + "  engine: {podTemplate: {affinity: {\n"
        + "".join(f"    k{i}: '{'v' * 990}',\n" for i in range(5000))
        + "}}}\n",
        [],
    ),
}


@pytest.mark.parametrize("case", LARGE)
def test_what_is_large_is_answered_in_time_and_in_few_words(case: str) -> None:
    text, codes = LARGE[case]
    begin = time.process_time()
    held = read(text)
    found = [*held.broken, *(each for one in held.objects for each in one.found)]
    assert [each.finding.code for each in found] == codes
    assert all(len(str(each.finding)) < 300 for each in found)
    assert time.process_time() - begin < 10


PATHS = ["spec", "spec.drafters[0].name", "spec.engine.env[12]", 'spec.a["x.y/z"].b', 'a["\\"\\\\"]', 'a[""]']


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_the_same_after_it_was_taken_apart(path: str) -> None:
    assert dotted(path_of(path)) == path


SIGNS = [*"[]{}:,-?&*!|>'\"%@`# \n\t\\", "\n  ", ": ", "- ", "&a ", "*a", "<<: ", "---\n", "\x00", "\ud7ff"]
WORDS = ["a", "spec", "drafters", "replicas: ", "4", "null", "~", "!!int ", "!!seq ", "0x", "1:30", ".inf"]
PIECES = st.sampled_from([*SIGNS, *WORDS, SPEC, HEAD])


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join))
def test_whatever_is_in_a_file_it_is_told_and_never_raised(text: str) -> None:
    for one in read(SPEC + text).objects:
        assert one.found or one.spec is not None
    read(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["model", "replicas", "accelerator", "engine", "drafters", "trial", "guards", "x"])


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_whatever_a_spec_holds_it_is_told_or_understood(spec: dict[str, object]) -> None:
    body = {"apiVersion": "specdeploy.dev/v1alpha1", "kind": "SpecDeployment", "metadata": {"name": "a"}}
    for one in read(json.dumps({**body, "spec": spec})).objects:
        assert one.found or one.spec is not None
