"""Scalars of the status: instants, ratios, hashes, words. Bounded, as everything that is stored."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, Field

Ratio = Annotated[str, Field(max_length=16, pattern=r"^[0-9]+\.[0-9]{3}$")]
Hash = Annotated[str, Field(max_length=32)]
Word = Annotated[str, Field(max_length=64)]
Sentence = Annotated[str, Field(max_length=1024)]
Packed = Annotated[str, Field(max_length=2048)]


def instant(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339, whole seconds, UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    """RFC 3339 as seconds since the epoch. Raises ValueError on anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment.timestamp()


def _checked(text: str) -> str:
    seconds(text)
    return text


Instant = Annotated[
    str, Field(max_length=40, json_schema_extra={"format": "date-time"}), AfterValidator(_checked)
]
