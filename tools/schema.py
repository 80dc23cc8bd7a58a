"""Writes operator/specdeploy/api/spec_schema.json: `PYTHONPATH=operator:. python tools/schema.py`.

What `specdeploy.api.admission` checks a spec by; a test fails when the types say something else.
"""

import json

from specdeploy.api.admission import SPEC_SCHEMA
from specdeploy.api.schema import structural
from specdeploy.api.spec import Spec


def text() -> str:
    """The file's text."""
    return json.dumps(structural(Spec), indent=1) + "\n"


if __name__ == "__main__":
    SPEC_SCHEMA.write_text(text(), encoding="utf-8")
