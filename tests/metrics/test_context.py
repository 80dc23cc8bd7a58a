"""What `/v1/models` says of the longest context, and for how long it is remembered."""

import pytest

from specdeploy.metrics.context import Contexts, max_model_len


@pytest.mark.parametrize(
    ("body", "length"),
    [
        (b'{"data":[{"max_model_len":4096}]}', 4096),
        (b'{"data":[{"max_model_len":null},{"max_model_len":4096},{"max_model_len":2048}]}', 4096),
        (b'{"data":[{"max_model_len":null}]}', None),
        (b'{"data":[{"max_model_len":0},{"max_model_len":-5}]}', None),
        (b'{"data":[{"max_model_len":Infinity}]}', None),
        (b'{"data":[{"max_model_len":"long"}]}', None),
        (b'{"data":[{"max_model_len":[1]}]}', None),
        (b'{"data":[{"id":"m"}]}', None),
        (b'{"data":[]}', None),
        (b'{"data":5}', None),
        (b'{"data":["m"]}', None),
        (b'{"error":"Unauthorized"}', None),
        (b"[]", None),
        (b"[" * 100_000, None),
        (b'{"data":[{"max_model_len":1' + b"0" * 400 + b"}]}", None),
        (b"\xff", None),
        (b"", None),
    ],
)
def test_the_longest_context_of_the_listed_models_or_nothing(body: bytes, length: float | None) -> None:
    assert max_model_len(body) == length


@pytest.mark.parametrize("start", [5.0, None])
def test_an_answer_is_known_for_its_process_only(start: float | None) -> None:
    contexts = Contexts()
    contexts.remember("a", start, 4096)

    assert contexts.of("a", start) == 4096
    assert contexts.of("a", 6.0) is None
    assert (contexts.knows("a", start), contexts.knows("a", 6.0), contexts.knows("b", start)) == (
        True,
        False,
        False,
    )


def test_an_answer_without_a_length_is_an_answer() -> None:
    contexts = Contexts()
    contexts.remember("a", 5.0, None)

    assert contexts.knows("a", 5.0)
    assert contexts.of("a", 5.0) is None


def test_no_more_pods_than_the_limit_are_remembered_and_the_oldest_go_first() -> None:
    contexts = Contexts(limit=3)
    for uid in ("a", "b", "c", "a", "d"):
        contexts.remember(uid, 5.0, 4096)

    assert [uid for uid in "abcd" if contexts.knows(uid, 5.0)] == ["a", "c", "d"]
