"""Golden files: what is rendered today, in full, for people to read in a review.

SPECDEPLOY_UPDATE_GOLDEN=1 writes them anew. A change of a Deployment's file calls for a new RENDER_VERSION.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "golden"


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, and no references between parts."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def check(name: str, rendered: dict[str, Any]) -> None:
    """Fails when `rendered` is not what the file `name` holds."""
    text = yaml.dump(rendered, Dumper=_Dumper, sort_keys=False, width=100)
    path = FOLDER / name
    if os.environ.get("SPECDEPLOY_UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; SPECDEPLOY_UPDATE_GOLDEN=1 writes it anew"
