"""Files as people write them: what is wrong is found at its line and column, and nothing makes it raise."""

import json
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specdeploy.api.rule import Rule
from specdeploy.cli.reading import RULES, Contents, NoFileError, Source, contents, sources
from specdeploy.cli.reading.files import MOST_BYTES
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


def test_a_stdin_that_is_closed_or_only_for_writing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NoFileError, match="stdin is closed"):
        list(sources(["-"]))
    with Path(os.devnull).open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(NoFileError, match="stdin can't be read"):
            list(sources(["-"]))


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


@pytest.mark.parametrize(
    ("method", "said"),
    [
        ("deepseek_mtp", "deepseek_mtp is not taken: it is an old name of mtp; use method mtp"),
        ("medusa", "medusa is not taken: vLLM dropped it in 0.33; use a drafter of another method"),
    ],
)
def test_a_method_of_vllm_that_is_not_taken_is_told_with_what_to_use(method: str, said: str) -> None:
    [one] = read(SPEC + f"  drafters: [{{name: a, method: {method}, numSpeculativeTokens: 3}}]\n").objects
    assert [str(each.finding) for each in one.found] == [f"spec.drafters[0].method: {said}"]


@pytest.mark.parametrize(
    ("engine", "fix"),
    [
        ("{podTemplate: {supplementalGroups: [44]}}", "put it in podTemplate.securityContext"),
        ("{podTemplate: {runAsUser: 1000}}", "put it in podTemplate.securityContext"),
        ("{podTemplate: {hostNetwork: true}}", "remove it"),
        ("{podTemplate: {toleration: []}}", "did you mean tolerations?"),
        ("{supplementalGroups: [44]}", "remove it"),
    ],
)
def test_a_field_of_the_security_context_is_told_where_it_goes(engine: str, fix: str) -> None:
    [one] = read(SPEC + f"  engine: {engine}\n").objects
    assert [(each.finding.code, each.finding.fix) for each in one.found] == [("SD002", fix)]


def test_a_value_that_waits_for_a_template_is_told_how_to_fill_it_in() -> None:
    [one] = read(SPEC + "  replicas: '{{ .Values.replicas }}'\n").objects
    assert "helm template" in one.found[0].finding.fix
    [broken] = read("{{ if }}\n" + SPEC).broken
    assert "helm template" in broken.finding.fix


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("p-eagle", "P-EAGLE is eagle3 with options.parallel_drafting: true"),
        ("PEAGLE", "P-EAGLE is eagle3 with options.parallel_drafting: true"),
        ("PARD", "PARD is draft_model with options.parallel_drafting: true"),
        ("xpress", "XPress is dflash with a checkpoint that says so"),
    ],
)
def test_a_variant_of_a_method_is_told_how_to_ask_for_it(name: str, fix: str) -> None:
    [one] = read(SPEC + f"  drafters: [{{name: a, method: {name}, numSpeculativeTokens: 3}}]\n").objects
    assert [each.finding.fix for each in one.found] == [fix]


# what is wrong beside the drafters -> (lines of the spec, whether the rest is read just as it is meant)
BESIDE: dict[str, tuple[str, bool]] = {
    "a number in quotes": ("  replicas: '7'\n", True),
    "text without quotes": ("  modelRevision: 1.10\n", True),
    "text without quotes in a list": ("  engine: {args: [--seed, 7]}\n", True),
    "a value that does not exist": ("  accelerator: {type: H100}\n", False),
    "a number out of bounds": ("  replicas: -1\n", False),
    "an object for a number": ("  replicas: {}\n", False),
    "a list for an object": ("  engine: []\n", False),
    "an item without its name": ("  engine: {env: [{value: x}]}\n", False),
    "a rule that does not hold": ("  promotion: {steps: [50, 25, 100]}\n", True),
    "a name twice": ("  engine: {env: [{name: A, value: x}, {name: A, value: y}]}\n", True),
    "several": ("  replicas: {}\n  accelerator: {type: H100}\n  paused: 1\n", False),
}


@pytest.mark.parametrize("case", BESIDE)
def test_what_is_wrong_beside_the_drafters_hides_nothing_of_them(case: str) -> None:
    lines, exact = BESIDE[case]
    [one] = read(f"{SPEC}{lines}  drafters: [{DRAFTER % 'a'}, {DRAFTER % 'B'}]\n").objects
    assert one.spec is not None
    assert (one.spec.names(), one.kept, one.whole, one.exact) == (["a"], (0,), False, exact)


def test_quotes_are_read_as_they_were_meant() -> None:
    [one] = read(SPEC + "  replicas: '7'\n  paused: 'true'\n  engine: {args: [--seed, 1.10]}\n").objects
    assert one.spec is not None
    assert (one.spec.replicas, one.spec.paused, one.spec.engine.args) == (7, True, ["--seed", "1.10"])


def test_a_name_that_is_wrong_hides_nothing_of_the_spec() -> None:
    [one] = read(SPEC.replace("{name: gemma}", "{name: 4}")).objects
    assert (one.spec is not None, one.whole, one.exact) == (True, False, True)


def test_without_a_model_there_is_nothing_to_check() -> None:
    [one] = read(SPEC.replace("model: google/gemma", "model: [x]")).objects
    assert (one.spec, one.whole) == (None, False)


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


def test_files_are_read_whole_folders_in_order_and_only_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b/z.yml", "b/a.json", "c.yaml", "note.txt", ".git/x.yaml"):
        (tmp_path / name).write_text(SPEC)
    (tmp_path / "template.yaml").write_text("{{ if }}")
    names = [Path(source.name).relative_to(tmp_path).as_posix() for source in sources([str(tmp_path)])]
    assert names == ["c.yaml", "b/a.json", "b/z.yml"]


def test_a_name_that_is_no_file_is_a_mistake_of_who_types_it(tmp_path: Path) -> None:
    with pytest.raises(NoFileError, match="no such file"):
        list(sources([str(tmp_path / "none.yaml")]))
    with pytest.raises(NoFileError, match="no such file"):
        list(sources(["x" * 5000]))
    with pytest.raises(NoFileError, match="no file that ends in"):
        list(sources([str(tmp_path)]))


def test_a_folder_that_can_not_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root nothing is closed: the system's own listing says no."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.yaml").write_text(SPEC)
    listing = os.scandir

    def scandir(folder: str) -> object:
        if os.fspath(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied", folder)
        return listing(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    closed, good = sources([str(tmp_path)])
    assert good.broken is None
    assert (closed.name, [f.finding.code for f in contents(closed).broken]) == (
        str(tmp_path / "closed"),
        ["SD019"],
    )
    assert [source.name for source in sources([str(tmp_path / "closed")])] == [closed.name]


def test_a_pipe_in_a_folder_is_passed_over_and_one_that_is_named_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    (tmp_path / "a.yaml").write_text(SPEC)
    assert [Path(source.name).name for source in sources([str(tmp_path)])] == ["a.yaml"]
    writer = threading.Thread(target=pipe.write_text, args=(SPEC,), daemon=True)
    writer.start()
    assert [source.text for source in sources([str(pipe)])] == [SPEC]


def test_a_link_that_leads_nowhere_is_a_finding_wherever_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("b.yaml")
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    (tmp_path / "c.yaml").symlink_to("none.yaml")
    named = [str(tmp_path / name) for name in ("a.yaml", "b.yaml", "c.yaml")]
    for words in ([str(tmp_path)], named):
        found = [source for source in sources(words) if source.broken and source.broken.rule.code == "SD019"]
        assert [source.name for source in found] == named


# what is in a file -> (line, column, a part of the reason)
BYTES: dict[str, tuple[bytes, int, int, str]] = {
    "no text": (b"kind: x\nab\xff", 2, 3, "is no UTF-8 text"),
    "too much": (b"#" * (MOST_BYTES + 1), 1, 1, "larger than 16 MiB"),
}


@pytest.mark.parametrize("case", BYTES)
def test_a_file_that_can_not_be_read_is_told_with_its_place(case: str, tmp_path: Path) -> None:
    content, line, column, words = BYTES[case]
    (tmp_path / "f.yaml").write_bytes(content)
    [source] = sources([str(tmp_path / "f.yaml")])
    [found] = contents(source).broken
    assert (found.line, found.column, found.finding.code) == (line, column, "SD019")
    assert words in found.finding.reason


def test_a_mark_of_the_byte_order_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbf" + SPEC.encode())
    [source] = sources([str(tmp_path / "f.yaml")])
    assert len(contents(source).objects) == 1


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
