"""The catalogue: its files are sound, reading them says what is wrong, and its rules find what it tells."""

from __future__ import annotations

import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hatchling.builders.wheel import WheelBuilder

from specdeploy.api.rule import Finding, Severity
from specdeploy.api.spec import Spec
from specdeploy.engine.catalogue import Checkpoint, Target, Tokens
from specdeploy.engine.catalogue.evidence import best_measured, best_ratio, in_words
from specdeploy.engine.catalogue.load import CatalogueError, about, read_entries, targets, with_extra
from specdeploy.engine.checks import on_drafters, on_spec
from specdeploy.engine.setting import candidates_of, setting_of
from specdeploy.engine.versions import parse_version
from tools.catalogue import EXAMPLE, KEYS, PAGE, SCHEMA, page, schema

ROOT = Path(__file__).parents[2]
FILES = sorted(
    (each for each in (files("specdeploy.engine.catalogue") / "data").iterdir()), key=lambda each: each.name
)
DRAFTERS = [(target, drafter) for target in targets() for drafter in target.drafters]
ARCHITECTURES = {"gfx90a", "gfx942", "gfx950"}
ACCELERATORS = {
    "MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI308X", "MI325X", "MI350X", "MI355X",
}  # fmt: skip
BACKENDS = {
    "ROCM_ATTN", "ROCM_AITER_FA", "ROCM_AITER_UNIFIED_ATTN", "TRITON_ATTN", "ROCM_AITER_MLA", "TRITON_MLA",
}  # fmt: skip


# The files


@pytest.mark.parametrize("file", FILES, ids=lambda each: each.name)
def test_each_file_says_how_to_add_to_it_and_is_read_whole(file: Any) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "pull request" in text.partition("\n- ")[0]
    assert read_entries(text, file.name)


def test_no_target_is_listed_twice() -> None:
    models = [target.model for target in targets()]
    assert len(models) == len(set(models)) > 70


def test_no_drafter_is_listed_twice_for_a_target() -> None:
    for target in targets():
        named = [(drafter.method, drafter.model) for drafter in target.drafters]
        assert len(named) == len(set(named)), target.model


def test_a_checkpoint_has_one_method_and_one_block_wherever_it_is_listed() -> None:
    facts: dict[str, set[tuple[str, int | None]]] = {}
    for _, drafter in DRAFTERS:
        if drafter.model:
            facts.setdefault(drafter.model, set()).add((drafter.method, drafter.block))
    assert [name for name, found in facts.items() if len(found) > 1] == []


@pytest.mark.parametrize("target", targets(), ids=lambda each: each.model)
def test_each_target_has_drafters_and_numbers_that_go_together(target: Target) -> None:
    assert target.drafters
    assert target.since is None or parse_version(target.since)
    assert target.active is None or target.parameters is None or target.active <= target.parameters
    assert target.state_mib is None or target.state_layers is not None
    assert target.state_layers is None or target.attention == "hybrid"
    assert target.config is None or None not in (target.experts, target.context)
    assert target.heads is None or target.kv_heads is None or target.heads % target.kv_heads == 0


@pytest.mark.parametrize("target", targets(), ids=lambda each: each.model)
def test_what_a_recipe_says_of_accelerators_goes_together(target: Target) -> None:
    assert {*target.verified, *target.unsupported} <= ACCELERATORS
    assert not {*target.verified} & {*target.unsupported}
    for drafter in target.drafters:  # where the target does not run, no drafter of it does
        assert {*target.unsupported} <= {*drafter.unsupported}


@pytest.mark.parametrize(
    ("target", "drafter"), DRAFTERS, ids=[f"{t.model}-{d.method}-{d.model}" for t, d in DRAFTERS]
)
def test_each_drafter_has_numbers_that_go_together(target: Target, drafter: Checkpoint) -> None:
    tokens = drafter.tokens
    assert tokens.least <= tokens.suggested <= tokens.most <= 64
    assert drafter.longest is None or tokens.most <= drafter.longest
    assert drafter.since is None or parse_version(drafter.since)
    assert drafter.model or drafter.method in ("mtp", "dspark")
    assert set(drafter.backends) <= ARCHITECTURES
    assert set(drafter.backends.values()) <= BACKENDS
    assert set(drafter.unsupported) <= ACCELERATORS
    for row in drafter.measured:
        assert tokens.least <= row.tokens <= tokens.most
        assert row.accepted_length is None or row.accepted_length <= row.tokens + 1


@pytest.mark.parametrize(
    ("block", "method", "longest"), [(16, "dflash", 15), (7, "dspark", 7), (None, "mtp", None)]
)
def test_the_anchor_of_a_dflash_block_is_not_drafted(
    block: int | None, method: Any, longest: int | None
) -> None:
    assert Checkpoint(method, Tokens(1, 1, 1), "s", block=block).longest == longest


# Reading


def test_asking_for_a_name_finds_its_target_without_reading_every_file() -> None:
    for target, drafter in DRAFTERS:
        assert target in about(frozenset({target.model}))
        assert drafter.model is None or target in about(frozenset({drafter.model}))
    assert len(about(frozenset({"Qwen/Qwen3-8B"}))) < len(targets())


def test_a_name_that_no_file_mentions_finds_nothing() -> None:
    assert about(frozenset({"/models/of-our-own", "Qwen/Qwen3"})) == ()


ENTRY = "- model: a/b\n  family: f\n  source: s\n"
DRAFTER = f"{ENTRY}  drafters:\n    - method: mtp\n      source: s\n      tokens: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("model: a/b\n", "own.yaml: it is no list of targets; begin each with '- model: '"),
        ("- a/b\n", "own.yaml: entry 1: Expected `object`, got `str`"),
        ("- family: f\n", "own.yaml: entry 1: Object missing required field `model`"),
        (
            f"{ENTRY}- model: c/d\n  family: f\n",
            "own.yaml: entry 2 (c/d): Object missing required field `source`",
        ),
        (
            f"{ENTRY}  layers: many\n",
            "own.yaml: entry 1 (a/b): Expected `int | null`, got `str` - at `layers`",
        ),
        (f"{ENTRY}  colour: red\n", "own.yaml: entry 1 (a/b): Object contains unknown field `colour`"),
        (
            f"{DRAFTER}{{least: 0, most: 3, suggested: 1}}\n",
            "own.yaml: entry 1 (a/b): Expected `int` >= 1 - at `drafters[0].tokens.least`",
        ),
        (
            "- model: a/b\n  family: 4\n  since: banana\n"
            "  drafters: [{method: mtq, source: s, tokens: {least: 9}}]\n",
            "own.yaml: entry 1 (a/b): Object missing required field `source`; "
            "Expected `str`, got `int` - at `family`; "
            "Expected a release such as 0.24 or 0.24.1 - at `since`; "
            "Invalid enum value 'mtq' - at `drafters[0].method`; "
            "Object missing required field `most` - at `drafters[0].tokens`; "
            "Object missing required field `suggested` - at `drafters[0].tokens`",
        ),
        (
            f"{DRAFTER}{{least: 9, most: 3, suggested: 4}}\n",
            "own.yaml: entry 1 (a/b): The numbers do not ascend: least 9, suggested 4, most 3 - at "
            "`drafters[0].tokens`",
        ),
        (
            f"{DRAFTER.replace('mtp', 'dflash')}{{least: 1, most: 3, suggested: 2}}\n      block: 1\n",
            "own.yaml: entry 1 (a/b): A block of dflash is at least 2: its first place is the token that is "
            "known - at `drafters[0]`",
        ),
        (
            f"{DRAFTER}{{least: 1, most: 3, suggested: 2}}\n      since: soon\n",
            "own.yaml: entry 1 (a/b): Expected a release such as 0.24 or 0.24.1 - at `drafters[0].since`",
        ),
        ("- {model: a\n", "own.yaml: while parsing a flow mapping"),
        ("- model: \x00\n", "own.yaml: unacceptable character #x0000: control characters are not allowed"),
    ],
)
def test_a_file_of_ones_own_that_is_wrong_is_told_by_entry_field_and_reason(text: str, said: str) -> None:
    with pytest.raises(CatalogueError) as caught:
        read_entries(text, "own.yaml")
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_the_example_of_the_page_can_be_read_and_every_key_is_told() -> None:
    (entry,) = read_entries(EXAMPLE, "the example")
    assert [each.measured[0].tokens for each in entry.drafters] == [4]
    for name, kind, rows in KEYS:
        told = [key for keys, _ in rows for key in keys]
        fields = {field.encode_name: field.required for field in msgspec.structs.fields(kind)}
        assert sorted(told) == sorted(fields), name
        assert all(len({fields[key] for key in keys}) == 1 for keys, _ in rows), name


def test_ones_own_entry_goes_before_what_is_known_and_fills_nothing_else() -> None:
    known = Target(
        "a/b", "f", "s", parameters=8, context=100, drafters=(Checkpoint("mtp", Tokens(1, 3, 2), "s"),)
    )
    mine = Target(
        "a/b", "f", "me", parameters=9, drafters=(Checkpoint("eagle3", Tokens(1, 3, 2), "me", model="a/e"),)
    )
    other = Target("c/d", "f", "me")
    new, merged = with_extra((known,), (mine, other))
    assert new == other
    assert (merged.parameters, merged.context, merged.source) == (9, 100, "me")
    assert [each.method for each in merged.drafters] == ["eagle3", "mtp"]


def test_ones_own_entry_that_names_no_accelerators_leaves_those_that_are_known() -> None:
    known = Target("a/b", "f", "s", verified=("MI355X",), unsupported=("MI300X",))
    (silent,) = with_extra((known,), (Target("a/b", "f", "me"),))
    assert (silent.verified, silent.unsupported) == (("MI355X",), ("MI300X",))
    (other,) = with_extra((known,), (Target("a/b", "f", "me", verified=("MI325X",)),))
    assert (other.verified, other.unsupported) == (("MI325X",), ("MI300X",))


def test_ones_own_word_on_a_known_drafter_replaces_it() -> None:
    known = Target("a/b", "f", "s", drafters=(Checkpoint("mtp", Tokens(1, 3, 2), "s"),))
    mine = Target("a/b", "f", "me", drafters=(Checkpoint("mtp", Tokens(1, 9, 5), "me"),))
    (merged,) = with_extra((known,), (mine,))
    assert [each.tokens.most for each in merged.drafters] == [9]


def test_a_setting_knows_its_target_and_its_drafters_from_the_package_or_from_ones_own_file() -> None:
    spec = Spec.model_validate(
        {
            "model": "Qwen/Qwen3-8B",
            "drafters": [
                {"name": "a", "method": "mtp", "numSpeculativeTokens": 1},
                {"name": "b", "method": "eagle3", "model": "a/e", "numSpeculativeTokens": 1},
            ],
        }
    )
    assert [each.checkpoint for each in candidates_of(setting_of(spec))] == [None, None]
    own = Checkpoint("eagle3", Tokens(1, 3, 2), "me", model="a/e")
    setting = setting_of(spec, extra=(Target("Qwen/Qwen3-8B", "qwen3", "me", drafters=(own,)),))
    assert setting.target is not None
    assert setting.target.layers == 36
    assert [each.checkpoint for each in candidates_of(setting)] == [None, own]


def test_the_wheel_carries_the_files(tmp_path: Path) -> None:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    carried = zipfile.ZipFile(built).namelist()
    assert {f"specdeploy/engine/catalogue/data/{file.name}" for file in FILES} <= set(carried)


# Docs


def test_the_committed_page_is_what_the_files_say() -> None:
    assert PAGE.read_text() == page(), "run `PYTHONPATH=operator:. python tools/catalogue.py`"


def test_the_committed_schema_is_what_the_types_say() -> None:
    assert SCHEMA.read_text() == schema(), "run `PYTHONPATH=operator:. python tools/catalogue.py`"


def test_the_page_explains_every_key() -> None:
    keys = {name for kind in (Target, Checkpoint) for name in kind.__struct_encode_fields__} - {"drafters"}
    assert [key for key in keys if f"`{key}`" not in page()] == []


# Evidence


@pytest.mark.parametrize(
    ("model", "method", "gpu", "said"),
    [
        ("google/gemma-4-26B-A4B-it", "dflash", "MI300X", "2.87x on MATH500 with 7 tokens (MI300X)"),
        ("google/gemma-4-31B-it", "dflash", "B300", "5.80x on MATH500 with 15 tokens (B300)"),
        ("google/gemma-4-31B-it", "dflash", "MI355X", "2.34x on MATH500 with 7 tokens (MI300X)"),
        ("Qwen/Qwen3.8-2.4T-A95B", "mtp", "MI300X", "1.03x with 1 token (not stated)"),
    ],
)
def test_the_best_that_was_measured_is_of_this_gpu_else_of_an_instinct_else_of_any(
    model: str, method: str, gpu: str, said: str
) -> None:
    drafter = next(d for t, d in DRAFTERS if (t.model, d.method) == (model, method))
    best = best_measured(drafter, gpu)
    assert best is not None
    assert in_words(best) == said


def test_what_was_measured_elsewhere_gives_no_order() -> None:
    dogacel = next(d for _, d in DRAFTERS if d.model == "Dogacel/Qwen3-8B-DSpark")
    assert best_measured(dogacel, "MI300X") is not None
    assert best_ratio(dogacel, "MI300X") == 0


# Rules


def findings(body: dict[str, Any]) -> list[Finding]:
    setting = setting_of(Spec.model_validate(body))
    return [*on_spec(setting), *(each for found in on_drafters(setting).values() for each in found)]


def codes(body: dict[str, Any]) -> set[str]:
    return {each.code for each in findings(body)}


def one(
    model: str, method: str, checkpoint: str | None = None, tokens: int = 3, **more: Any
) -> dict[str, Any]:
    """A spec with one drafter."""
    named = {"model": checkpoint} if checkpoint else {}
    drafter = {"name": "d", "method": method, "numSpeculativeTokens": tokens, **named}
    return {"model": model, "accelerator": {"type": "MI300X"}, "drafters": [drafter], **more}


@pytest.mark.parametrize(
    ("target", "drafter"), DRAFTERS, ids=[f"{t.model}-{d.method}-{d.model}" for t, d in DRAFTERS]
)
def test_each_drafter_runs_as_the_catalogue_says(target: Target, drafter: Checkpoint) -> None:
    body = one(target.model, drafter.method, drafter.model, drafter.tokens.suggested)
    gpus = next(size for size in (32, 16, 8, 4) if (target.heads or 16) % size == 0)
    body["accelerator"] = {"type": "MI355X", "count": gpus}
    body["engine"] = {"hfTokenSecretRef": {"name": "hub", "key": "token"}}
    body["drafters"][0] |= {"options": drafter.options, "attentionBackend": drafter.backends.get("gfx950")}
    found = findings(body)
    assert [str(each) for each in found if each.severity is Severity.ERROR] == []
    assert not {each.code for each in found} & {
        "SD801",
        "SD802",
        "SD803",
        "SD804",
        "SD805",
        "SD806",
        "SD810",
        "SD811",
    }


Z = "z-lab/Qwen3-8B-DFlash-b16"


@pytest.mark.parametrize(
    ("served", "told"),
    [
        ("Qwen/Qwen3-8B", False),
        ("RedHatAI/Qwen3-8B-FP8-dynamic", False),
        ("our/finetune-of-qwen3-8b", False),
        ("/models/qwen", False),
        ("Qwen/Qwen3-4B", True),
        ("our/model", True),
    ],
)
def test_a_head_is_for_its_target_and_for_builds_of_it(served: str, told: bool) -> None:
    assert ("SD801" in codes(one(served, "dflash", Z, 7))) is told


def test_a_checkpoint_under_another_method_is_named_with_its_block() -> None:
    found = findings(one("Qwen/Qwen3-8B", "dflash", "deepseek-ai/dspark_qwen3_8b_block7", 15))
    (told,) = [each for each in found if each.code in ("SD802", "SD818")]
    assert str(told) == (
        "spec.drafters[0].method: this checkpoint is DSpark with block 7; "
        "use method dspark, numSpeculativeTokens 7 or less"
    )


@pytest.mark.parametrize(
    ("method", "checkpoint", "code"),
    [
        ("dflash", "deepseek-ai/dspark_qwen3_8b_block7", "SD818"),
        ("eagle3", "z-lab/Qwen3-8B-DFlash-b16", "SD818"),
        ("eagle", "deepseek-ai/eagle3_qwen3_8b_ttt7", "SD818"),
        ("eagle3", "RedHatAI/Qwen3-8B-speculator.dflash", "SD802"),  # its config names no architecture
        ("dspark", "deepseek-ai/eagle3_qwen3_8b_ttt7", "SD802"),  # the parser takes any
        ("draft_model", "deepseek-ai/eagle3_qwen3_8b_ttt7", "SD802"),  # and makes eagle3 of it
        ("eagle3", "deepseek-ai/eagle3_qwen3_8b_ttt7", None),
    ],
)
def test_a_kind_that_the_method_can_not_take_is_an_error_and_any_other_a_warning(
    method: str, checkpoint: str, code: str | None
) -> None:
    found = codes(one("Qwen/Qwen3-8B", method, checkpoint, 3))
    assert found & {"SD802", "SD818"} == ({code} if code else set())


GPT = "openai/gpt-oss-120b"
ON_ONE_GPU = next(d for t, d in DRAFTERS if t.model == GPT and "draft_tensor_parallel_size" in d.options)


@pytest.mark.parametrize(
    ("gpus", "options", "told"),
    [
        (1, {}, False),  # a drafter is spread over as many GPUs as its target
        (2, {}, True),
        (2, {"draft_tensor_parallel_size": 1}, False),
        (2, {"draft-tensor-parallel-size": 1}, False),
    ],
)
def test_an_option_that_is_in_force_by_default_is_not_missed(
    gpus: int, options: dict[str, Any], told: bool
) -> None:
    body = one(GPT, "eagle3", ON_ONE_GPU.model, 3, accelerator={"type": "MI355X", "count": gpus})
    body["drafters"][0]["options"] = options
    assert ("SD803" in codes(body)) is told


@pytest.mark.parametrize(
    ("engine", "also"),
    [
        ({}, "; it keeps logits for each of --max-num-seqs, so lower that too"),
        ({"args": ["--max-num-seqs", "64"]}, ""),
    ],
)
def test_options_of_sampling_are_a_matter_of_taste(engine: dict[str, Any], also: str) -> None:
    said = f"try draft_sample_method: probabilistic{also}"
    body = one("deepseek-ai/DeepSeek-V4-Pro-0813", "dspark", None, 5, engine=engine)
    found = [each for each in findings(body) if each.code in ("SD803", "SD810")]
    assert [(each.code, each.severity, each.fix) for each in found] == [("SD810", Severity.ADVICE, said)]


@pytest.mark.parametrize(
    ("tokens", "fix"),
    [
        (1, None),
        (7, None),
        (8, None),
        (9, "use 8 or fewer, or 16"),
        (16, None),
        (17, "use 8 or fewer, or 24"),
    ],
)
def test_a_chain_of_layers_is_run_whole(tokens: int, fix: str | None) -> None:
    found = findings(one("thinkingmachines/Inkling-NVFP4", "mtp", None, tokens))
    assert [each.fix for each in found if each.code == "SD811"] == ([fix] if fix else [])


def test_a_token_of_the_hub_by_any_way_is_enough_for_a_gated_target() -> None:
    bare = one("meta-llama/Llama-3.1-8B-Instruct", "ngram")
    assert "SD805" in codes(bare)
    for engine in (
        {"hfTokenSecretRef": {"name": "hub", "key": "token"}},
        {"env": [{"name": "HF_TOKEN", "value": "x"}]},
        {"weights": {"offline": True, "hostPath": {"path": "/srv/models"}}},
    ):
        assert "SD805" not in codes({**bare, "engine": engine})


@pytest.mark.parametrize(("tokens", "told"), [(2, True), (3, False), (15, False), (16, False)])
def test_too_few_tokens_are_told_and_more_than_the_block_is_left_to_the_rule_on_blocks(
    tokens: int, told: bool
) -> None:
    assert ("SD806" in codes(one("Qwen/Qwen3-8B", "dflash", Z, tokens))) is told


def test_a_drafter_that_was_measured_better_is_named_once() -> None:
    found = [each for each in findings(one("Qwen/Qwen3-8B", "dflash", Z, 7)) if each.code == "SD807"]
    (told,) = found
    assert "DSpark with deepseek-ai/dspark_qwen3_8b_block7" in told.reason
    assert "1.63x on GSM8K" in told.reason


def test_an_old_engine_is_not_told_of_a_drafter_that_it_does_not_run() -> None:
    body = one("moonshotai/Kimi-K3", "ngram", accelerator={"type": "MI355X", "count": 8})
    assert "SD807" in codes({**body, "engine": {"vllmVersion": "0.28.0"}})
    assert "SD807" not in codes({**body, "engine": {"vllmVersion": "0.26.0"}})


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (one("Qwen/Qwen3-8B", "mtp"), False),
        (one("Qwen/Qwen3-8B", "dflash", Z), True),
        (one("/models/target", "dflash", "/models/head"), False),
        (one("Qwen/Qwen3-8B", "dflash", Z, modelRevision="abc"), True),
    ],
)
def test_revisions_matter_where_a_head_belongs_to_a_target(body: dict[str, Any], told: bool) -> None:
    assert ("SD808" in codes(body)) is told
