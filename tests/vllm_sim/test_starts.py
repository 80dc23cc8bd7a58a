"""Command lines: what is accepted, and how refusals end (code 2 for flags, 1 for everything else)."""

import json

import pytest

from vllm_sim import flags, serve
from vllm_sim.arm import build


def spec(**keys) -> list[str]:
    return ["m", "--speculative-config", json.dumps(keys)]


EAGLE3 = {"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}

REFUSED = [
    (["m", "--no-such-flag"], 2, "vllm serve: error: unrecognized arguments: --no-such-flag"),
    (["m", "--port", "http"], 2, "argument --port: invalid int value: 'http'"),
    (
        ["m", "--speculative-config", "{broken"],
        2,
        "argument --speculative-config/-sc: Value {broken cannot be",
    ),
    (["m", "--speculative-config", "3"], 2, "a JSON object is needed"),
    (["m", "--max-model-len", "long"], 2, "--max-model-len"),
    (["m", "-sc.method"], 2, "expected one argument"),
    (
        spec(**EAGLE3, foo=1),
        1,
        "1 validation error for SpeculativeConfig\nfoo\n  Unexpected keyword argument",
    ),
    (
        spec(method="medusa", model="x", num_speculative_tokens=1),
        1,
        "method\n  Input should be 'ngram', 'ngram_gpu'",
    ),
    (spec(method="ngram"), 1, "num_speculative_tokens must be provided with speculative model unless"),
    (
        spec(method="ngram", num_speculative_tokens=3, prompt_lookup_min=5, prompt_lookup_max=2),
        1,
        "prompt_lookup_min=5 must be <= prompt_lookup_max=2",
    ),
    (
        spec(method="ngram", num_speculative_tokens=0),
        1,
        "num_speculative_tokens\n  Input should be greater than 0",
    ),
    (
        spec(method="draft_model", num_speculative_tokens=3),
        1,
        "num_speculative_tokens was provided but without speculative model.",
    ),
    (spec(**EAGLE3, tensor_parallel_size=2), 1, "'tensor_parallel_size' is not a valid argument"),
    ([*spec(**EAGLE3), "--max-num-batched-tokens", "3"], 1, "max_num_batched_tokens=3 must exceed"),
    (spec(**{**EAGLE3, "model": "org/head?q7=1"}), 1, "unknown knob 'q7'"),
    (spec(**{**EAGLE3, "model": "org/head?fail=bad-config"}), 1, "1 validation error for SpeculativeConfig"),
    (spec(**{**EAGLE3, "model": "x?fail=missing-draft"}), 1, "local directory specified: 'x'."),
    (
        spec(**{**EAGLE3, "model": "x?fail=vocabulary"}),
        1,
        "Target and draft model should have the same vocab",
    ),
    (spec(method="mtp", model="x?fail=unsupported-method"), 1, "Unsupported speculative method: 'mtp'"),
    (spec(method="suffix", model="x?fail=missing-package"), 1, "ImportError: Arctic Inference is required"),
    (
        spec(**{**EAGLE3, "model": "x?fail=free-memory"}),
        1,
        "is less than desired GPU memory utilization (0.92",
    ),
]


@pytest.mark.parametrize(("argv", "code", "says"), REFUSED, ids=[says[:40] for _, _, says in REFUSED])
def test_a_bad_start_ends_with_vllms_code_and_says_why(capsys, argv, code, says):
    try:
        ended = serve.main(argv, {"VLLM_SIM_STARTUP_SECONDS": "0"})
    except SystemExit as exit_:
        ended = exit_.code
    lines = [line.split(") ", 1)[-1] for line in capsys.readouterr().err.splitlines()]
    assert ended == code
    assert says in "\n".join(lines)


def test_the_cause_of_a_crash_while_loading_stands_above_a_last_line_that_does_not_tell_it(capsys):
    argv = spec(**{**EAGLE3, "model": "org/head?fail=crash-loading"})
    assert serve.main(argv, {"VLLM_SIM_STARTUP_SECONDS": "0.1"}) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1].endswith(
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    )
    assert any("There is no module or parameter named 'model'" in line for line in lines[:-1])


def test_a_failure_of_the_first_starts_is_over_when_they_are(tmp_path):
    environ = {
        "VLLM_SIM_FAIL": "free-memory",
        "VLLM_SIM_FAIL_STARTS": "2",
        "VLLM_SIM_STATE_DIR": str(tmp_path),
    }
    environ |= {"VLLM_SIM_STARTUP_SECONDS": "0"}
    assert [serve.main(["m"], environ) for _ in range(2)] == [1, 1]
    assert build(flags.parse(["m"]), environ, start=3).knobs.fail == ""
    assert (tmp_path / "starts").read_text() == "2"


@pytest.mark.parametrize(
    ("argv", "name", "value"),
    [
        (["org/m"], "model", "org/m"),
        (["--model", "org/m"], "model", "org/m"),
        (["org/m"], "served_model_name", ["org/m"]),
        (["org/m", "--served-model-name", "a", "b", "--port", "1"], "served_model_name", ["a", "b"]),
        (["m", "--max-model-len", "32k"], "max_model_len", 32000),
        (["m", "--max-model-len", "32K"], "max_model_len", 32768),
        (["m", "--max_num_seqs=7"], "max_num_seqs", 7),
        (["m", "-tp", "4"], "tensor_parallel_size", 4),
        (["m", "--no-enable-prefix-caching"], "enable_prefix_caching", False),
        (["m", "--gpu-memory-utilization", "0.8"], "gpu_memory_utilization", 0.8),
        (["m", "--attention-backend", "ROCM_AITER_FA", "--dtype", "bfloat16"], "dtype", "bfloat16"),
        (["m", "--trust-remote-code", "--enforce-eager", "--load-format", "dummy"], "enforce_eager", True),
        (["m", "--enable-auto-tool-choice", "--tool-call-parser", "hermes"], "tool_call_parser", "hermes"),
        (spec(**EAGLE3), "speculative_config", EAGLE3),
        (["m", f"-sc={json.dumps(EAGLE3)}"], "speculative_config", EAGLE3),
        (
            ["m", "--speculative-config.method", "ngram", "-sc.num_speculative_tokens=3"],
            "speculative_config",
            {"method": "ngram", "num_speculative_tokens": 3},
        ),
        (
            ["m", "--spec-method", "mtp", "--spec-tokens", "2"],
            "speculative_config",
            {"method": "mtp", "num_speculative_tokens": 2},
        ),
    ],
)
def test_flags_are_read_as_vllm_reads_them(argv, name, value):
    assert getattr(flags.parse(argv), name) == value


@pytest.mark.parametrize(
    ("keys", "method", "tokens"),
    [
        (EAGLE3, "eagle3", 3),
        ({"method": "mtp"}, "mtp", 1),
        ({"method": "deepseek_mtp", "num_speculative_tokens": 2}, "mtp", 2),
        ({"model": "org/x-EAGLE3", "num_speculative_tokens": 4}, "eagle3", 4),
        ({"model": "org/small", "num_speculative_tokens": 4}, "draft_model", 4),
        ({"method": "suffix"}, "suffix", 24),
        ({**EAGLE3, "attention_backend": "TRITON_ATTN", "rejection_sample_method": "block"}, "eagle3", 3),
    ],
)
def test_an_arm_drafts_as_its_speculative_config_says(keys, method, tokens):
    drafter = build(flags.parse(spec(**keys)), {}).drafter
    assert drafter is not None
    assert (drafter.method, drafter.tokens) == (method, tokens)


@pytest.mark.parametrize(("argv", "code"), [(["--version"], 0), (["bench"], 2), ([], 2)])
def test_the_command_knows_serve_and_version(capsys, argv, code):
    assert serve.command(argv) == code


@pytest.mark.parametrize(
    ("config", "seats"),
    [
        ({"method": "dflash", "model": "org/head", "num_speculative_tokens": 7}, 256),
        ({"method": "dspark", "num_speculative_tokens": 3}, 300),
        (EAGLE3, 300),
    ],
)
def test_block_drafters_leave_fewer_places(config, seats):
    argv = [*spec(**config), "--max-num-seqs", "300", "--max-num-batched-tokens", "2048"]
    assert build(flags.parse(argv), {}).limits.max_num_seqs == seats
