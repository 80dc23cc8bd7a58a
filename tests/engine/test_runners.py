"""Which model runner an arm gets, what it can't run there, and what it loses there."""

from __future__ import annotations

from typing import Any

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.setting import setting_of
from tests.engine.findings import a_target, codes, on_drafter
from tests.engine.specs import drafter

LONG = {"prompt_lookup_min": 8, "prompt_lookup_max": 8}
PEAGLE = drafter("eagle3", options={"parallel_drafting": True})
PARD = drafter("draft_model", options={"parallel_drafting": True})
ADAPTIVE = {"enable_adaptive_verification": True}
V2 = "VLLM_USE_V2_MODEL_RUNNER"
OLD = {"name": V2, "value": "0"}


@pytest.mark.parametrize(
    ("one", "forced", "args", "image", "found"),
    [
        (PEAGLE, "1", [], "v0.33.0", ["SD530"]),
        (PEAGLE, "0", [], "v0.33.0", []),
        (PEAGLE, None, [], "v0.33.0", ["SD532"]),
        (PEAGLE, None, [], "v0.28.0", []),  # V2 was not the default
        (PARD, None, [], "v0.33.0", ["SD532"]),
        (drafter("suffix"), "1", [], "v0.33.0", ["SD530"]),
        (drafter("eagle3"), None, [], "v0.33.0", []),
        (drafter("eagle3"), "1", ["--enable-dbo"], "v0.33.0", ["SD530"]),
        (drafter("eagle3"), "1", ["--ubatch-size", "2"], "v0.33.0", ["SD530"]),
        (drafter("eagle3"), "1", ["--ubatch-size", "1"], "v0.33.0", []),
        (drafter("eagle3"), "1", ["--ubatch-size", "2"], "v0.29.0", []),
        (drafter("dspark"), None, ["--ubatch-size", "2"], "v0.30.0", ["SD531"]),
        (drafter("eagle3"), "0", ["-pcp", "2"], "v0.33.0", []),  # told once, of every arm
        (PEAGLE, None, ["--enable-trace-replay"], "v0.33.0", ["SD531"]),
        (PEAGLE, None, ["--enable-trace-replay"], "v0.30.0", ["SD532"]),  # not known of this release
        (drafter("suffix"), None, ["--return-sampling-mask"], "v0.33.0", ["SD449", "SD531"]),
        (PEAGLE, None, ["--enable-return-routed-experts"], "v0.33.0", ["SD531"]),
        (drafter("eagle3"), None, ["--enable-trace-replay"], "v0.33.0", []),
        (drafter("dflash", model="z-lab/Qwen3.8-27B-DFlash2"), "0", [], "v0.33.0", ["SD531"]),
        (drafter("dflash", model="z-lab/Qwen3.8-27B-DFlash2"), None, [], "v0.33.0", []),
        (drafter("eagle3"), None, ["--enable-dbo"], "v0.33.0", []),
        (drafter("dspark"), None, ["--enable-dbo"], "v0.33.0", ["SD531"]),
        (drafter("dspark"), "0", [], "v0.33.0", ["SD531"]),
        (drafter("dspark"), "1", [], "v0.33.0", []),
        (drafter("eagle3", options=ADAPTIVE), "0", [], "v0.33.0", ["SD531"]),
        (PEAGLE, None, ["-pp", "2", "--async-scheduling"], "v0.33.0", ["SD531"]),
        (PEAGLE, None, ["-pp", "2", "--async-scheduling"], "v0.30.0", ["SD532"]),
        (drafter("ngram", options=LONG), None, [], "v0.29.0", ["SD449", "SD532"]),
        (drafter("ngram", options=LONG), None, [], "v0.30.0", ["SD449"]),
        (drafter("eagle3"), None, ["-pp", "2"], "v0.29.0", ["SD532"]),
        (drafter("eagle3"), None, ["-pp", "2"], "v0.30.0", []),
        (PEAGLE, None, ["-pp", "2"], "v0.33.0", ["SD532"]),
        (drafter("eagle3", options={"draft_lm_head_quantization": "fp8"}), "0", [], "v0.33.0", ["SD531"]),
    ],
)
def test_a_drafter_gets_a_runner_that_can_run_it(
    one: Any, forced: str | None, args: list[str], image: str, found: list[str]
) -> None:
    env = [{"name": V2, "value": forced}] if forced else []
    image = f"team/vllm:{image}"
    assert codes(one, args=args, image=image, path="engine.env", value=env) == found


@pytest.mark.parametrize(
    ("family", "attention", "version", "dspark", "parallel"),
    [
        ("deepseek-v4", None, "0.28.0", [], []),
        ("deepseek-v4", None, "0.29.0", ["SD531"], []),
        ("deepseek-v4", None, "0.30.0", ["SD531"], []),
        ("deepseek-v4", None, "0.31.0", ["SD532"], []),  # the default yields, for this arm alone
        ("deepseek-v4", None, "0.32.0", [], ["SD532"]),
        ("deepseek-v3", "sparse-mla", "0.29.0", ["SD531"], []),
        ("deepseek-v3", "mla", "0.29.0", [], ["SD532"]),
        ("glm", "sparse-mla", "0.29.0", [], ["SD532"]),
        ("glm", "sparse-mla", "0.30.0", ["SD531"], []),
        ("glm", "sparse-mla", "0.31.0", ["SD532"], []),
        ("glm", "gqa", "0.30.0", [], ["SD532"]),
    ],
)
def test_some_targets_stayed_on_the_v1_runner_on_rocm_for_a_while(
    family: str, attention: str | None, version: str, dspark: list[str], parallel: list[str]
) -> None:
    where: dict[str, Any] = {
        "image": f"team/vllm:v{version}",
        "target": a_target(family, attention=attention),
    }
    one = drafter("dspark", model="org/draft")
    assert codes(one, **where) == dspark
    assert codes(PEAGLE, **where) == parallel
    asked: dict[str, Any] = {"path": "engine.env", "value": [{"name": V2, "value": "1"}]}
    assert codes(one, **where, **asked) == []


def test_watermarks_run_on_the_v2_runner_whatever_the_variable_says() -> None:
    spec: dict[str, Any] = {
        "path": "engine",
        "value": {"args": ["--watermark-config.key", "7"], "env": [OLD]},
    }
    found = codes(drafter("dspark", options={"draft_sample_method": "probabilistic"}), **spec)
    assert "SD531" not in found
    refused = [each for each in on_drafter(PEAGLE, **spec) if each.code == "SD530"]
    assert [each.fix for each in refused] == ["remove --watermark-config"]


def test_what_the_drafter_needs_of_another_runner_is_told() -> None:
    target = a_target("deepseek-v4", within="dspark")
    (finding,) = on_drafter(drafter("dspark"), image="team/vllm:v0.31.0", target=target)
    assert finding.reason == "method dspark needs the V2 model runner, the baseline runs on V1"


@pytest.mark.parametrize(
    ("one", "version", "args", "found"),
    [
        (drafter("ngram", options=LONG), "0.32.0", [], ["SD449"]),
        (drafter("ngram", options=LONG), "0.33.0", [], []),
        (drafter("suffix"), "0.33.0", [], ["SD449", "SD532"]),
        (drafter("suffix"), "0.33.0", ["--no-async-scheduling"], ["SD532"]),
        (drafter("eagle3", options={"disable_padded_drafter_batch": True}), "0.32.0", [], ["SD446"]),
        (drafter("eagle3"), "0.32.0", [], []),
    ],
)
def test_async_scheduling_that_goes_off_for_one_arm_is_told(
    one: Any, version: str, args: list[str], found: list[str]
) -> None:
    assert codes(one, args=args, image=f"team/vllm:v{version}") == found


@pytest.mark.parametrize(
    ("version", "forced", "args", "found"),
    [
        ("0.33.0", "0", [], True),
        ("0.33.0", None, [], False),
        ("0.28.0", "0", [], False),  # which runner others would get is not known
        ("0.33.0", "0", ["-cc.cudagraph_mode=PIECEWISE"], False),
        ("0.33.0", "0", ["-dp", "2"], False),  # the schedule itself is dropped
    ],
)
def test_a_schedule_on_the_v1_runner_costs_the_full_graphs(
    version: str, forced: str | None, args: list[str], found: bool
) -> None:
    one = drafter("eagle3", options={"num_speculative_tokens_per_batch_size": [[1, 8, 4], [9, 64, 2]]})
    env = [{"name": V2, "value": forced}] if forced else []
    where: dict[str, Any] = {"args": args, "path": "engine.env", "value": env}
    assert ("SD433" in codes(one, image=f"team/vllm:v{version}", **where)) is found


def test_what_leads_to_the_v1_runner_is_told() -> None:
    one = drafter("draft_model", options={"parallel_drafting": True, **ADAPTIVE})
    (finding,) = on_drafter(one)
    assert (finding.reason, finding.fix) == (
        "the V1 model runner can't run enable_adaptive_verification",
        "remove parallel_drafting",
    )


@pytest.mark.parametrize(
    ("forced", "args", "found"),
    [
        ("0", [], False),
        ("0", ["-pcp", "2"], True),
        ("1", ["-pcp", "2"], False),
        (None, ["-pcp", "2"], False),
        ("0", ["--enable-batch-sharded-sampling"], True),
        ("0", ["-pp", "2", "--async-scheduling"], True),
        ("0", ["-pp", "2"], False),
        ("0", ["--enable-trace-replay"], True),
        (None, ["-pcp", "2", "--enable-dbo"], True),
    ],
)
def test_what_every_arm_uses_is_told_once_without_a_drafter(
    forced: str | None, args: list[str], found: bool
) -> None:
    env = [{"name": V2, "value": forced}] if forced else []
    engine = {"image": "team/vllm:v0.33.0", "args": args, "env": env}
    spec = Spec.model_validate({"model": "org/model", "accelerator": {"count": 2}, "engine": engine})
    assert ("SD531" in {each.code for each in on_spec(setting_of(spec))}) is found
