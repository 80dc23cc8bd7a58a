"""The speculative config of a drafter, as it is passed to vLLM."""

from __future__ import annotations

import json

import pytest

from specdeploy.api.spec import Drafter
from specdeploy.engine.speculative import speculative_config
from tests.engine.specs import drafter


@pytest.mark.parametrize(
    ("one", "config"),
    [
        (
            drafter("eagle3", model="org/e3", revision="abc", attentionBackend="TRITON_ATTN"),
            '{"method": "eagle3", "model": "org/e3", "num_speculative_tokens": 4, "revision": "abc", '
            '"attention_backend": "TRITON_ATTN"}',
        ),
        (drafter("eagle"), '{"method": "eagle", "model": "org/draft", "num_speculative_tokens": 4}'),
        (drafter("dflash"), '{"method": "dflash", "model": "org/draft", "num_speculative_tokens": 4}'),
        (
            drafter("draft_model"),
            '{"method": "draft_model", "model": "org/draft", "num_speculative_tokens": 4}',
        ),
        (drafter("mtp"), '{"method": "mtp", "num_speculative_tokens": 4}'),
        (
            drafter("mtp", model="org/assistant"),
            '{"method": "mtp", "model": "org/assistant", "num_speculative_tokens": 4}',
        ),
        (drafter("dspark"), '{"method": "dspark", "num_speculative_tokens": 4}'),
        (drafter("suffix"), '{"method": "suffix", "num_speculative_tokens": 4}'),
        (
            drafter("ngram", options={"prompt_lookup_min": 2, "prompt_lookup_max": 4}),
            '{"method": "ngram", "num_speculative_tokens": 4, '
            '"prompt_lookup_max": 4, "prompt_lookup_min": 2}',
        ),
        (
            drafter("eagle3", allowLossy=True, options={"rejection_sample_method": "fly"}),
            '{"method": "eagle3", "model": "org/draft", "num_speculative_tokens": 4, '
            '"rejection_sample_method": "fly"}',
        ),
    ],
    ids=lambda value: value.method if isinstance(value, Drafter) else "",
)
def test_the_config_has_the_method_and_a_fixed_order_of_keys(one: Drafter, config: str) -> None:
    assert json.dumps(speculative_config(one)) == config


def test_a_drafter_that_allows_nothing_lossy_is_stored_as_before() -> None:
    assert "allowLossy" not in drafter("eagle3").wire()
