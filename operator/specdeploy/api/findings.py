"""The tolerant reading of an object: what can be read of it, and a finding for what can't.

`gather` reads every object through here; nothing that a cluster can hold makes it raise.
"""

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from specdeploy.api.names import BASELINE
from specdeploy.api.rule import Finding
from specdeploy.api.spec import MAX_REPLICAS, Drafter, Spec

# Types of the status are imported where one is read: `lint` and `render` read none, and start fast.
if TYPE_CHECKING:
    from specdeploy.api.status import Status

# Errors of pydantic whose words are Python's; the words of all others will do.
_AN_OBJECT = "input should be an object"
_REASONS = {"model_type": _AN_OBJECT, "dict_type": _AN_OBJECT}
_FIXES = {"missing": "add it", "literal_error": "use one of these"}
_OTHERWISE = "correct it"
_LONGEST_NAME = 20


@dataclass(frozen=True, eq=False)
class Reading:
    """A spec as far as it can be read. Equal to itself only: what is derived from it is looked up by it.

    `spec` is None when what serves can't be told; a drafter that can't be read is left out of
    `spec.drafters` and named in `drafters` (by its path where it has no name of its own) with its finding,
    so that the rest goes on. `unknown`: fields that this operator does not know. `replicas` is honoured even
    where nothing else can be read.
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
    listed, findings = _listed(raw.get("drafters"))
    good, broken = _read_drafters(listed)
    try:
        spec = Spec.model_validate({**raw, "drafters": []})
    except ValidationError as error:
        findings += tuple(_finding("spec", e) for e in error.errors())
        return Reading(None, findings, broken, replicas=_replicas(raw.get("replicas")))
    unknown = [*_unknown("spec", {**raw, "drafters": None}, spec)]
    for index, drafter in good.items():
        unknown += _unknown(f"spec.drafters[{index}]", listed[index], drafter)
    spec = spec.model_copy(update={"drafters": list(good.values())})
    return Reading(spec, findings, broken, tuple(unknown))


def _listed(raw: object) -> tuple[Sequence[Any], tuple[Finding, ...]]:
    if raw is None or isinstance(raw, list):
        return raw or [], ()
    return [], (Finding("spec.drafters", f"should be a list (it is {_shown(raw)})", _OTHERWISE),)


def _replicas(raw: object) -> int | None:
    return raw if type(raw) is int and 0 <= raw <= MAX_REPLICAS else None


def _read_drafters(listed: Sequence[Any]) -> tuple[dict[int, Drafter], tuple[tuple[str, Finding], ...]]:
    """The drafters that can be run, by index, and a finding for each of the others."""
    good: dict[int, Drafter] = {}
    broken: list[tuple[str, Finding]] = []
    taken = {BASELINE}
    for index, item in enumerate(listed):
        path = f"spec.drafters[{index}]"
        given = item.get("name") if isinstance(item, Mapping) else None
        name = given if isinstance(given, str) and 0 < len(given) <= _LONGEST_NAME else path
        if name in taken:
            used = f"{name!r} is the name of the arm without a drafter or of a drafter before this one"
            broken.append((path, Finding(f"{path}.name", used, "choose another name")))
            continue
        taken.add(name)
        try:
            good[index] = Drafter.model_validate(item)
        except ValidationError as error:
            broken.append((name, _finding(path, error.errors()[0])))
    return good, tuple(broken)


def _unknown(path: str, raw: Any, known: Spec | Drafter) -> Iterator[str]:
    """Paths of fields in `raw` that the model it was read into does not have, at any depth."""
    return _beyond(path, raw, known.model_dump(by_alias=True))


def _beyond(path: str, raw: Any, known: Any) -> Iterator[str]:
    if isinstance(raw, Mapping) and isinstance(known, Mapping):
        for key, value in raw.items():
            if key in known:
                yield from _beyond(f"{path}.{key}", value, known[key])
            else:
                yield f"{path}.{key}"
    elif isinstance(raw, list) and isinstance(known, list):
        for index, (value, kept) in enumerate(zip(raw, known, strict=False)):
            yield from _beyond(f"{path}[{index}]", value, kept)


def _finding(root: str, error: ErrorDetails) -> Finding:
    path = root + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error["loc"])
    given = error.get("input")
    shown = "" if error["type"] == "missing" else f" (it is {_shown(given)})"
    reason = _REASONS.get(error["type"], error["msg"][0].lower() + error["msg"][1:])
    return Finding(path, reason + shown, _FIXES.get(error["type"], _OTHERWISE))


def _shown(value: object) -> str:
    """A value in a few words, whatever its size and depth."""
    return "an object" if isinstance(value, Mapping) else reprlib.repr(value)


def read_status(raw: object) -> tuple["Status", tuple[str, ...]]:
    """Read `.status` part by part; returns what could be read, and the paths of what could not.

    What is malformed is dropped, never fatal: without `trial` that trial starts again, without `serving` the
    baseline serves. Of a list only the malformed items go, or one bad verdict would lift every quarantine.
    """
    from specdeploy.api.status import Status  # noqa: PLC0415

    if not isinstance(raw, Mapping):
        return Status(), () if raw is None else ("status",)
    kept: dict[str, Any] = {}
    lost: list[str] = []
    for key, value in raw.items():
        bad = _bad_items(key, value)
        lost += [f"status.{key}[{index}]" for index in sorted(bad)]
        good = [item for index, item in enumerate(value) if index not in bad] if bad else value
        if _readable(key, good):
            kept[key] = good
        else:
            lost.append(f"status.{key}")
    return Status.model_validate(kept), tuple(lost)


def _bad_items(key: str, value: object) -> frozenset[int]:
    if not isinstance(value, list):
        return frozenset()
    return frozenset(index for index, item in enumerate(value) if not _readable(key, [item]))


def _readable(key: str, value: object) -> bool:
    from specdeploy.api.status import Status  # noqa: PLC0415

    try:
        Status.model_validate({key: value})
    except ValidationError:
        return False
    return True
