"""A finding: what is wrong with a spec, where, and what to do. And the tolerant reading of an object."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from specdeploy.api.spec import MAX_REPLICAS, Drafter, Spec
from specdeploy.api.status import Status


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: the field's path, why, and the fix."""

    field: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}; {self.fix}"


@dataclass(frozen=True)
class Reading:
    """A spec as far as it can be read.

    `spec` is None when what serves can't be told; a drafter that can't be read is left out of
    `spec.drafters` and named in `drafters` with its findings, so that the rest goes on. `unknown`:
    fields that this operator does not know. `replicas` is honoured even where nothing else can be read.
    """

    spec: Spec | None
    findings: tuple[Finding, ...] = ()
    drafters: tuple[tuple[str, Finding], ...] = ()
    unknown: tuple[str, ...] = ()
    replicas: int | None = None


def read_spec(raw: object) -> Reading:
    """Read `.spec` without ever raising. Admission should have refused what is found here; old objects,
    another CRD or a disabled rule may still bring it."""
    if not isinstance(raw, Mapping):
        return Reading(None, (Finding("spec", "is missing or no object", "write a spec"),))
    body = dict(raw)
    listed = body.pop("drafters", None) or []
    drafters, broken, unknown = _read_drafters(listed if isinstance(listed, list) else [])
    unknown += tuple(f"spec.{key}" for key in _unknown(body, Spec))
    try:
        spec = Spec.model_validate({**body, "drafters": []}).model_copy(update={"drafters": drafters})
    except ValidationError as error:
        replicas = body.get("replicas")
        known = replicas if type(replicas) is int and 0 <= replicas <= MAX_REPLICAS else None
        return Reading(None, tuple(_finding("spec", e) for e in error.errors()), broken, unknown, known)
    return Reading(spec, (), broken, unknown)


def _read_drafters(
    listed: list[Any],
) -> tuple[list[Drafter], tuple[tuple[str, Finding], ...], tuple[str, ...]]:
    good: list[Drafter] = []
    broken: list[tuple[str, Finding]] = []
    unknown: list[str] = []
    for index, item in enumerate(listed):
        path = f"spec.drafters[{index}]"
        name = str(item.get("name") or path)[:20] if isinstance(item, Mapping) else path
        try:
            good.append(Drafter.model_validate(item))
        except ValidationError as error:
            broken.extend((name, _finding(path, e)) for e in error.errors()[:1])
            continue
        unknown.extend(f"{path}.{key}" for key in _unknown(item, Drafter))
    return good, tuple(broken), tuple(unknown)


def _unknown(raw: Mapping[str, Any], model: type[Spec] | type[Drafter]) -> list[str]:
    known = {field.alias for field in model.model_fields.values()}
    return [key for key in raw if key not in known]


def _finding(root: str, error: ErrorDetails) -> Finding:
    path = root + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error["loc"])
    given = error.get("input")
    shown = "" if isinstance(given, Mapping) else f" (it is {given!r})"
    return Finding(path, error["msg"][0].lower() + error["msg"][1:] + shown[:80], "correct this field")


def read_status(raw: object) -> tuple[Status, tuple[str, ...]]:
    """Read `.status` part by part; returns what could be read, and the names of the parts that could not.

    A part that is malformed is dropped, never fatal: without `trial` that trial starts again, without
    `serving` the baseline serves.
    """
    if not isinstance(raw, Mapping):
        return Status(), () if raw is None else ("status",)
    kept: dict[str, Any] = {}
    lost: list[str] = []
    for key, value in raw.items():
        try:
            Status.model_validate({key: value})
        except ValidationError:
            lost.append(f"status.{key}")
            continue
        kept[key] = value
    return Status.model_validate(kept), tuple(lost)
