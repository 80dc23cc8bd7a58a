"""Short, stable names for configurations. Used by `revision` and for the folders of compiled kernels."""

import base64
import hashlib
import json
from typing import Any

LENGTH = 10


def short_hash(value: Any) -> str:
    """Ten lower-case base32 characters (50 bits) of a JSON value; the order of map keys does not matter.

    Valid in a label value and in an object's name.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).digest()
    return base64.b32encode(digest).decode().lower()[:LENGTH]
