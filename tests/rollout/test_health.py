import pytest

from specdeploy.rollout.health import ailment, cause
from specdeploy.rollout.observation import Exit, Pod

NOW = 10_000.0
CORE = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
REFUSAL = (
    "(EngineCore pid=42) ERROR [core.py:900] ValueError: Free memory on device cuda:0 (11.6/192.0 GiB) on "
    "startup is less than desired GPU memory utilization (0.9, 172.8 GiB).\n" + CORE
)
UNKNOWN_KEY = (
    "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
    "foo\n"
    "  Unexpected keyword argument [type=unexpected_keyword_argument, input_value=1, input_type=int]\n"
    "    For further information visit https://errors.pydantic.dev/2.12/v/unexpected_keyword_argument\n"
)


def pod(**known: object) -> Pod:
    base = {"name": "p1", "uid": "u1", "template": "t", "created": NOW - 100, "node": "n1"}
    return Pod(**{**base, **known})  # type: ignore[arg-type]


def ended(code: int, message: str = "", reason: str = "Error", **known: object) -> Pod:
    return pod(exit=Exit(code, reason, message), **{"restarts": 1, **known})


@pytest.mark.parametrize(
    ("seen", "reason", "words"),
    [
        (
            ended(2, "vllm serve: error: unrecognized arguments: --no-such-flag"),
            "BadConfig",
            "--no-such-flag",
        ),
        (ended(1, UNKNOWN_KEY), "Crashed", "foo Unexpected keyword argument"),
        (ended(0, "EngineDeadError: EngineCore encountered an issue."), "EngineDied", "code 0"),
        (ended(137, "", "OOMKilled"), "OOMKilled", "killed for memory"),
        (ended(137, ""), "Crashed", "code 137"),
        (ended(1, REFUSAL, restarts=2), "Crashed", "Free memory on device"),
        (ended(1, "ValueError: gone wrong", ready=True), "Crashed", "gone wrong"),
        (pod(running_since=NOW - 601), "NeverReady", "600 s"),
        (pod(created=NOW - 601, waiting=("ContainerCreating", "no mount")), "NeverStarted", "g: no mount"),
        (pod(created=NOW - 601), "NeverStarted", "nothing is told of why"),
        (pod(waiting=("ImagePullBackOff", "no such image")), "ImagePullBackOff", "no such image"),
    ],
)
def test_what_keeps_an_engine_from_serving_is_named_with_its_last_words(
    seen: Pod, reason: str, words: str
) -> None:
    found = ailment([pod(), seen], NOW, 600)
    assert found is not None
    assert found.reason == reason
    assert words in found.message


@pytest.mark.parametrize(
    "seen",
    [
        pod(),
        pod(ready=True, started=True, created=0.0),
        pod(started=True, created=0.0),
        pod(node=None, created=0.0, unschedulable="no room"),
        pod(waiting=("ContainerCreating", "")),
        pod(created=0.0, running_since=NOW - 599),
        pod(waiting=("PodInitializing", "")),
        ended(1, REFUSAL, restarts=0),
        ended(1, REFUSAL, restarts=1),
        ended(1, REFUSAL, restarts=1, ready=True),
    ],
    ids=[
        "young",
        "up",
        "was-up",
        "unplaced",
        "creating",
        "late-in-creation",
        "initialising",
        "refused",
        "again",
        "in-the-end",
    ],
)
def test_there_is_hope(seen: Pod) -> None:
    assert ailment([seen], NOW, 600) is None


@pytest.mark.parametrize(
    ("reason", "of_engine"),
    [
        ("ImagePullBackOff", False),
        ("CreateContainerConfigError", False),
        ("InvalidImageName", False),
        ("ContainerCreating", False),
        ("PodInitializing", False),
    ],
)
def test_a_container_that_cannot_be_started_says_nothing_of_its_engine(reason: str, of_engine: bool) -> None:
    found = ailment([pod(created=NOW - 601, waiting=(reason, ""))], NOW, 600)
    assert found is not None
    assert found.of_engine is of_engine


def test_the_words_do_not_change_from_pass_to_pass() -> None:
    late = [pod(running_since=1.0)]
    assert ailment(late, NOW, 600) == ailment(late, NOW + 77, 600)


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", ""),
        ("\n \n", ""),
        ("one\ntwo\n", "two"),
        (REFUSAL, REFUSAL.splitlines()[0]),
        (
            "ValueError: Invalid repository ID or local directory specified: '/models/none'.\n",
            "ValueError: Invalid repository ID or local directory specified: '/models/none'.",
        ),
        (
            "Traceback (most recent call last):\nNotImplementedError: Unsupported speculative method: 'mtp'\n"
            + CORE,
            "NotImplementedError: Unsupported speculative method: 'mtp'",
        ),
        (
            "ValueError: There is no module or parameter named 'model' in Qwen3Eagle3Model\n" + CORE,
            "ValueError: There is no module or parameter named 'model' in Qwen3Eagle3Model",
        ),
        (
            "ImportError: Arctic Inference is required for suffix decoding.\n[rank0] shutting down\n",
            "ImportError: Arctic Inference is required for suffix decoding.",
        ),
        (
            "pydantic_core._pydantic_core.ValidationError: 1 validation error for SpeculativeConfig\n"
            "  Value error, prompt_lookup_min=5 must be <= prompt_lookup_max=2 [type=value_error]\n"
            "    For further information visit https://errors.pydantic.dev/2.12/v/value_error\n",
            "Value error, prompt_lookup_min=5 must be <= prompt_lookup_max=2 [type=value_error]",
        ),
        (
            "RuntimeError: Engine core initialization failed. See root cause above.",
            "RuntimeError: Engine core initialization failed. See root cause above.",
        ),
        ("Error: " + "x" * 5000, "Error: " + "x" * 293 + "..."),
    ],
)
def test_the_line_that_says_most_is_quoted(message: str, line: str) -> None:
    assert cause(message) == line
