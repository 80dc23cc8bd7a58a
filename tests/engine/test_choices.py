"""Words in engine.args and in their objects: lists of each release, and what makes a list open."""

from __future__ import annotations

import pytest

from specdeploy.api.spec import Spec
from specdeploy.engine.checks import on_spec
from specdeploy.engine.setting import setting_of
from specdeploy.engine.tables.flags import SPANS
from specdeploy.engine.tables.keys import KEYS
from specdeploy.engine.tables.values import CHOICES
from specdeploy.engine.tables.words import WORDS

CODES = ("SD226", "SD227", "SD234", "SD235", "SD236")
OURS = "registry.example/team/vllm:v0.32.0"
CC, KV, SO = "--compilation-config", "--kv-transfer-config", "--structured-outputs-config"


def codes(words: list[str], image: str) -> list[str]:
    full = image if "/" in image else f"vllm/vllm-openai-rocm:{image}"
    spec = Spec.model_validate({"model": "org/model", "engine": {"image": full, "args": words}})
    return [finding.code for finding in on_spec(setting_of(spec)) if finding.code in CODES]


def connector(name: str, more: str = "") -> list[str]:
    return [KV, f'{{"kv_connector": "{name}", "kv_role": "kv_both"{more}}}']


@pytest.mark.parametrize(
    ("words", "image", "found"),
    [
        (["--all2all-backend", "mori"], "v0.18.0", []),
        (["--all2all-backend", "mori"], "v0.25.0", []),  # it went somewhere before 0.32
        (["--all2all-backend", "mori"], "v0.32.0", ["SD235"]),
        (["--all2all-backend", "mori_low_latency"], "v0.18.0", ["SD235"]),
        (["--all2all-backend", "no_such"], "v0.33.0", ["SD234"]),
        (["--all2all-backend", "no_such"], "v0.25.0", ["SD227"]),
        (["--all2all-backend", "no_such"], OURS, ["SD234"]),
        (["--mamba-cache-mode", "all"], "v0.33.0", ["SD235"]),
        (["--reasoning-parser", "step5"], "v0.32.0", ["SD235"]),
        (["--reasoning-parser", "step5"], "v0.33.0", []),
        (["--reasoning-parser", "no_such"], "v0.33.0", ["SD234"]),
        (["--reasoning-parser", "no_such"], OURS, ["SD227"]),  # a package in it may add it
        (["--reasoning-parser", "no_such", "--reasoning-parser-plugin", "/x.py"], "v0.33.0", []),
        (["--tool-call-parser", "no_such"], "v0.33.0", []),  # never looked up
        (["--enable-auto-tool-choice", "--tool-call-parser", "no_such"], "v0.33.0", ["SD234"]),
        (["--enable-auto-tool-choice", "--tool-call-parser", "qwen3_xml"], "v0.33.0", []),
        (["--distributed-executor-backend", "no_such"], "v0.33.0", ["SD234"]),
        (["--distributed-executor-backend", "team.executors.Ours"], "v0.33.0", []),
        (["-cc.cudagraph_mode", "full_decode_only"], "v0.33.0", []),
        (["-cc.cudagraph_mode", "FULLL"], "v0.33.0", ["SD234"]),
        ([CC, '{"mode": "no_such"}'], "v0.33.0", ["SD234"]),
        ([CC, '{"mode": 3, "cudagraph_mode": null}'], "v0.33.0", []),
        ([CC, '{"custom_ops": ["rms_norm"]}'], "v0.33.0", ["SD236"]),
        ([CC, '{"custom_ops": ["all", "-rms_norm"]}'], "v0.33.0", []),
        ([CC, '{"custom_ops": ["all", "none"]}'], "v0.33.0", ["SD236"]),
        (connector("NoSuch"), "v0.33.0", ["SD234"]),
        (connector("NoSuch", ', "kv_connector_module_path": "team.connectors"'), "v0.33.0", []),
        (connector("P2pNcclConnector"), "v0.33.0", ["SD235"]),
        ([f"{KV}.kv_role", "both"], "v0.33.0", ["SD234"]),
        ([f"{SO}.backend", "no_such"], "v0.33.0", ["SD234"]),
        ([SO, '{"reasoning_parser": "no_such"}'], "v0.33.0", ["SD234"]),
    ],
)
def test_words_are_those_of_the_release(words: list[str], image: str, found: list[str]) -> None:
    assert codes(words, image) == found


def test_the_table_names_flags_and_keys_and_no_flag_twice() -> None:
    for place, words in WORDS.items():
        option, _, key = place.partition(".")
        assert option in SPANS
        assert not key or key in KEYS[option]
        assert place not in CHOICES
        opened = words.opened_by
        assert not opened or opened in (SPANS if opened.startswith("--") else KEYS[option])
