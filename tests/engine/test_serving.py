"""What arguments and variables make of an engine: each rule near its edges."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.engine.checks import on_spec
from specdeploy.engine.rules import environment, ranks, serving, spec
from specdeploy.engine.setting import setting_of
from tests.engine.specs import changed, drafter, smallest, with_drafters

RULES = {rule.code: rule.name for rule in (*serving.RULES, *ranks.RULES, *environment.RULES, *spec.RULES)}


def names(given: Any) -> set[str]:
    return {RULES[each.code] for each in on_spec(setting_of(given)) if each.code in RULES}


def transfer(role: str) -> str:
    return f'{{"kv_connector": "X", "kv_role": "{role}"}}'


NESTED = (
    f'{{"kv_connector_extra_config": {{"connectors": [{transfer("kv_both")}, {transfer("kv_producer")}]}}}}'
)


@pytest.mark.parametrize(
    ("args", "rule", "found"),
    [
        (["--kv-transfer-config", transfer("kv_producer")], "prefill-decode-role", True),
        (["--kv-transfer-config", transfer("kv_consumer")], "prefill-decode-role", True),
        (["--kv_transfer_config=" + transfer("kv_consumer")], "prefill-decode-role", True),
        (["--kv-transfer-config.kv_role", "kv_consumer"], "prefill-decode-role", True),
        (["--kv-transfer-config", NESTED], "prefill-decode-role", True),
        (["--kv-transfer-config", transfer("kv_both")], "prefill-decode-role", False),
        (["--kv-transfer-config.kv_role", "kv_both"], "prefill-decode-role", False),
        (["--kv-transfer-config", "[" * 4000], "prefill-decode-role", False),
        (["--kv-transfer-config", "kv_consumer"], "prefill-decode-role", False),
        (["--kv-transfer-config"], "prefill-decode-role", False),
        (["--nnodes", "2"], "engine-across-pods", True),
        (["--nnodes", "1"], "engine-across-pods", False),
        (["--nnodes"], "engine-across-pods", False),
        (["-dp", "2", "--data-parallel-size-local", "1"], "engine-across-pods", True),
        (["--data-parallel-size-local", "1", "--data-parallel-size", "2"], "engine-across-pods", True),
        (["-dp", "2", "--data-parallel-size-local", "2"], "engine-across-pods", False),
        (["-tp", "2", "-dcp", "2"], "ranks-that-do-not-fit", True),  # each has heads of its own
        (["-tp", "2", "-dcp", "1"], "ranks-that-do-not-fit", False),
        (["-dcp", "2"], "ranks-that-do-not-fit", True),
        (["-dcp", "3"], "ranks-that-do-not-fit", True),
        (["-tp", "1", "-pcp", "2", "-dcp", "2"], "ranks-that-do-not-fit", True),
        (["-dcp", "two"], "ranks-that-do-not-fit", False),
        (["--data-parallel-size-local", "2"], "ranks-that-do-not-fit", True),
        (["-dp", "2", "--data-parallel-size-local", "2"], "ranks-that-do-not-fit", False),
        (["--enforce-eager"], "enforce-eager", True),
        (["--enforce-eager", "--no-enforce-eager"], "enforce-eager", False),
        (["-O0"], "enforce-eager", True),
        (["-O", "0"], "enforce-eager", True),
        (["--optimization-level", "0"], "enforce-eager", True),
        (["-O1"], "enforce-eager", False),
        (["-O0", "-O2"], "enforce-eager", False),
        (["-O0", "-cc.cudagraph_mode=FULL"], "enforce-eager", False),
        (["-cc.cudagraph_mode=none"], "enforce-eager", True),
        (["--compilation-config", '{"cudagraph_mode": "NONE"}'], "enforce-eager", True),
        (["--compilation-config", '{"mode": 0}'], "enforce-eager", False),
        (["--gpu-memory-utilization", "0"], "memory-share", True),
        (["--gpu-memory-utilization", "0.001"], "memory-share", False),
        (["--gpu-memory-utilization", "1"], "memory-share", False),
        (["--gpu-memory-utilization", "1.01"], "memory-share", True),
        (["--gpu-memory-utilization", "nan"], "memory-share", True),
        (["--gpu-memory-utilization=most"], "memory-share", True),
        (["--device-memory-utilization", "90"], "memory-share", True),
        (["--max-num-seqs", "1"], "batch-below-its-requests", False),
        (["--max-num-batched-tokens", "1k", "--max-num-seqs", "1001"], "batch-below-its-requests", True),
        (["--max-num-batched-tokens", "1k", "--max-num-seqs", "1000"], "batch-below-its-requests", False),
        (["--max-num-batched-tokens", "many", "--max-num-seqs", "8"], "batch-below-its-requests", False),
        (["--api-server-count", "2"], "several-api-servers", True),
        (["--api-server-count", "1"], "several-api-servers", False),
        (["-dp", "2"], "several-api-servers", True),
        (["-dp", "2", "--api-server-count", "1"], "several-api-servers", False),
        (["--enable-sleep-mode"], "sleep-mode-with-drafters", True),
        (["--no-enable-sleep-mode"], "sleep-mode-with-drafters", False),
    ],
)
def test_arguments_are_told_what_they_make_of_the_engine(args: list[str], rule: str, found: bool) -> None:
    given = with_drafters(drafter("ngram"), path="engine.args", value=args)
    assert (rule in names(given)) is found


@pytest.mark.parametrize(("version", "found"), [("0.32.0", True), ("0.33.0", False)])
def test_from_the_release_on_that_pairs_them_a_switch_is_off_by_its_disable_form(
    version: str, found: bool
) -> None:
    args = ["--enable-sleep-mode", "--disable-sleep-mode"]
    given = with_drafters(drafter("ngram"), path="engine", value={"vllmVersion": version, "args": args})
    assert ("sleep-mode-with-drafters" in names(given)) is found


def test_what_leaves_no_graphs_is_found_at_the_argument_that_decides() -> None:
    args = ["-cc.cudagraph_mode=NONE", "--max-num-seqs", "8", "-O0"]
    found = [each for each in on_spec(setting_of(smallest("engine.args", args))) if each.code == "SD164"]
    assert [each.field for each in found] == ["spec.engine.args[0]"]


def test_sleep_mode_alone_is_not_told() -> None:
    given = smallest("engine.args", ["--enable-sleep-mode"]).model_copy(update={"drafters": []})
    assert "sleep-mode-with-drafters" not in names(given)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("VLLM_SERVER_DEV_MODE", "development-endpoints"),
        ("VLLM_KEEP_ALIVE_ON_ENGINE_DEATH", "dead-engine-kept"),
        ("VLLM_USE_RUST_FRONTEND", "rust-frontend"),
        ("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "run-time-lora"),
    ],
)
@pytest.mark.parametrize(
    ("value", "found"),
    [("1", True), ("true", True), ("0", False), ("False", False), ("", False), (None, False)],
)
def test_a_switch_among_the_variables_is_told_when_it_is_on(
    name: str, rule: str, value: str | None, found: bool
) -> None:
    assert (rule in names(smallest("engine.env", [{"name": name, "value": value}]))) is found


def test_a_switch_that_is_refused_by_policy_is_no_secret() -> None:
    source = {"valueFrom": {"configMapKeyRef": {"name": "switches", "key": "lora"}}}
    refused, other = "VLLM_ALLOW_RUNTIME_LORA_UPDATING", "VLLM_SERVER_DEV_MODE"
    given = smallest("engine.env", [{"name": refused, **source}, {"name": other, **source}])
    found = [each for each in on_spec(setting_of(given)) if each.code in ("SD132", "SD135")]
    assert [each.field for each in found] == ["spec.engine.env[0]"]
    assert "can't be seen" in found[0].reason


VOLUME = {"persistentVolumeClaim": {"claimName": "models"}}


@pytest.mark.parametrize(
    ("model", "engine", "expected"),
    [
        ("org/m", {}, {"weights-not-kept", "compiled-kernels-not-kept"}),
        ("org/m", {"weights": {"emptyDir": {}}, "compileCache": VOLUME}, {"weights-not-kept"}),
        ("org/m", {"weights": {"ephemeral": {"size": "1Ti"}}, "compileCache": VOLUME}, {"weights-not-kept"}),
        ("org/m", {"weights": VOLUME, "compileCache": VOLUME}, set()),
        ("org/m", {"weights": {"offline": True}, "compileCache": VOLUME}, {"offline-without-weights"}),
        ("org/m", {"weights": {**VOLUME, "offline": True}, "compileCache": VOLUME}, set()),
        (
            "org/m",
            {
                "weights": {"offline": True},
                "compileCache": VOLUME,
                "podTemplate": {"initContainers": [{"name": "fetch"}]},
            },
            set(),
        ),
        ("/models/m", {"compileCache": VOLUME}, set()),
        ("./m", {"compileCache": VOLUME}, set()),
        ("../models/m", {"compileCache": VOLUME}, set()),
        (".models/m", {"compileCache": VOLUME}, {"weights-not-kept"}),
    ],
)
def test_volumes_are_told_what_ends_with_a_pod(
    model: str, engine: dict[str, Any], expected: set[str]
) -> None:
    body = changed(smallest("engine", engine).wire(), "model", model)
    assert names(type(smallest()).model_validate(body)) == expected
