"""One mistake hides no other: what is said of it, and what is still read of the spec around it."""

import pytest

from specdeploy.cli.reading import Contents, Source, contents

HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: gemma}\n"
SPEC = HEAD + "spec:\n  model: google/gemma\n"
DRAFTER = "{name: %s, method: ngram, numSpeculativeTokens: 3}"


def read(text: str) -> Contents:
    return contents(Source("f.yaml", text))


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
