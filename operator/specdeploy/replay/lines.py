"""From the bytes of a file to recorded windows, one line at a time.

First in the flow of replay. The form is `{"trial": "t1", "window": 17, "arms": {"baseline": [pod, ...],
"trial": [pod, ...], "serving": [pod, ...]}}`; a pod has the fields of the judge's PodWindow by their names.
An arm of another name is refused: a misspelt arm would look like one without data. Other keys that nobody
knows are ignored; those of pods can be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import Parameter, signature
from typing import Annotated, Any, BinaryIO, ClassVar, get_type_hints

import msgspec

from specdeploy.judge import BASELINE, SERVING, TRIAL, PodWindow, Window

LONGEST_LINE = 32 * 2**20
"""Bytes. Three arms of 10,000 pods with every field fit in."""
_CHUNK = 2**20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NO_NUMBER = re.compile(rb"[:\[,]\s*-?(NaN|Infinity)")
_ARMS = (BASELINE, TRIAL, SERVING)


class BrokenLine(ValueError):  # noqa: N818
    """A line that cannot be judged; the message says why."""


def _arms_type(*, all_known: bool) -> Any:
    """What the arms are decoded into: pods with the fields of PodWindow in their order, with their types and
    defaults. `all_known`: refuse a pod with other keys."""
    hints = get_type_hints(PodWindow)
    fields: list[Any] = [
        (each.name, hints[each.name])
        if each.default is Parameter.empty
        else (each.name, hints[each.name], each.default)
        for each in signature(PodWindow).parameters.values()
    ]
    pod: Any = msgspec.defstruct("Pod", fields, frozen=True, gc=False, forbid_unknown_fields=all_known)
    arms = [(name, tuple[pod, ...], ()) for name in _ARMS]
    return msgspec.defstruct("Arms", arms, frozen=True, forbid_unknown_fields=True)


_Arms: Any = _arms_type(all_known=True)
_LooseArms: Any = _arms_type(all_known=False)


class Line(msgspec.Struct, frozen=True):
    """One line, decoded. `trial` names the trial; `number` is the value of `window`; `all_known` is False if
    a pod has keys that `unknown_keys` names."""

    all_known: ClassVar[bool] = True
    trial: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    number: Annotated[int, msgspec.Meta(ge=0, lt=2**53)] = msgspec.field(name="window")
    arms: _Arms

    def window(self, seconds: float) -> Window:
        """The window for the judge, without arms that have no pods. Raises BrokenLine if a pod is given
        twice."""
        arms: dict[str, tuple[PodWindow, ...]] = {}
        for name, recorded in zip(_ARMS, msgspec.structs.astuple(self.arms), strict=True):
            if recorded:
                arms[name] = tuple([PodWindow._make(msgspec.structs.astuple(pod)) for pod in recorded])
                if len(recorded) > 1:
                    _refuse_twins(name, arms[name])
        return Window(self.number, seconds, arms)


class _LooseLine(Line, frozen=True):
    """A line with keys of pods that nobody knows."""

    all_known = False
    arms: _LooseArms


_DECODER = msgspec.json.Decoder(Line)
_LOOSE_DECODER = msgspec.json.Decoder(_LooseLine)


def parse(raw: bytes) -> Line:
    """Decodes one line, as `read_lines` gave it. Raises BrokenLine, nothing else."""
    if _is_cut(raw):
        raise BrokenLine(f"longer than {LONGEST_LINE >> 20} MiB")
    try:
        return _decoded(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "; JSON has no NaN or Infinity: use null, or leave the key out"
        raise BrokenLine(f"{error}{hint if _NO_NUMBER.search(raw) else ''}") from None


def unknown_keys(raw: bytes) -> frozenset[str]:
    """The keys of pods that nobody knows, of a line that was decoded."""
    arms: dict[str, list[dict[str, Any]]] = msgspec.json.decode(raw)["arms"]
    return frozenset(key for pods in arms.values() for pod in pods for key in pod) - {*PodWindow._fields}


def read_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """The lines of `stream` that are not blank, with their numbers from 1, as they come.

    A line that is too long is cut, so that it takes no more memory; `parse` refuses it.
    """
    number = 0
    while raw := stream.readline(LONGEST_LINE + 1):
        number += 1
        if _is_cut(raw):
            _skip_rest(stream)
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if raw and not raw.isspace():
            yield number, raw


def _decoded(raw: bytes) -> Line:
    try:
        return _DECODER.decode(raw)
    except msgspec.ValidationError:
        return _LOOSE_DECODER.decode(raw)


def _is_cut(raw: bytes) -> bool:
    return len(raw) > LONGEST_LINE and not raw.endswith(b"\n")


def _skip_rest(stream: BinaryIO) -> None:
    while (chunk := stream.readline(_CHUNK)) and not chunk.endswith(b"\n"):
        pass


def _refuse_twins(arm: str, pods: tuple[PodWindow, ...]) -> None:
    """A pod counted twice would weigh twice in the arm's mean."""
    seen: set[str] = set()
    for pod in pods:
        if pod.pod in seen:
            raise BrokenLine(f"pod {pod.pod!r} is twice in the {arm} arm")
        seen.add(pod.pod)
