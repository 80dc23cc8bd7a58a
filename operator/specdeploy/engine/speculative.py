"""vLLM's speculative config of a drafter, as `arguments` passes it; `rules` know what can be wrong in it."""

from typing import Any

from specdeploy.api.spec import Drafter

from .options import FIELDS


def speculative_config(drafter: Drafter) -> dict[str, Any]:
    """The value of `--speculative-config`, keys in a fixed order.

    `method` is always written: left out, vLLM guesses it from the checkpoint's path.
    """
    fields = {key: getattr(drafter, key) for key in FIELDS}
    return {
        **{key: value for key, value in fields.items() if value is not None},
        **dict(sorted((drafter.options or {}).items())),
    }
