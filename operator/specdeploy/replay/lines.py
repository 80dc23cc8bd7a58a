"""From the bytes of a file to recorded windows, one line at a time.

First in the flow of replay. The form is `{"trial": "t1", "window": 17, "arms": {"baseline": [pod, ...],
"trial": [pod, ...], "serving": [pod, ...]}}`; a pod has the fields of the judge's PodWindow by their names.
Keys that nobody knows are ignored. Decoding is typed, and is most of what a line costs beside the judge.
"""

from __future__ import annotations

from collections.abc import Iterator
from inspect import Parameter, signature
from typing import Annotated, Any, BinaryIO, get_type_hints

import msgspec

from specdeploy.judge import BASELINE, SERVING, TRIAL, PodWindow, Window

LONGEST_LINE = 32 * 2**20
"""Bytes. Three arms of 10,000 pods with every field fit in."""
_CHUNK = 2**20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ARMS = (BASELINE, TRIAL, SERVING)


class BrokenLine(ValueError):  # noqa: N818
    """A line that cannot be judged; the message says why."""


def _pod_type() -> Any:
    """What a pod is decoded into: the fields of PodWindow, with their types and defaults."""
    hints = get_type_hints(PodWindow)
    fields: list[Any] = [
        (each.name, hints[each.name])
        if each.default is Parameter.empty
        else (each.name, hints[each.name], each.default)
        for each in signature(PodWindow).parameters.values()
    ]
    return msgspec.defstruct("Pod", fields, frozen=True, gc=False)


_PODS: Any = tuple[_pod_type(), ...]  # type: ignore[misc]
_Arms: Any = msgspec.defstruct("Arms", [(name, _PODS, ()) for name in _ARMS], frozen=True)


class Line(msgspec.Struct, frozen=True):
    """One line, decoded. `trial` names the trial; `number` is the value of `window`."""

    trial: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    number: Annotated[int, msgspec.Meta(ge=0, lt=2**53)] = msgspec.field(name="window")
    arms: _Arms

    def window(self, seconds: float) -> Window:
        """The window for the judge, without arms that have no pods. Raises BrokenLine if a pod is given
        twice."""
        arms = {}
        for name in _ARMS:
            recorded = getattr(self.arms, name)
            if recorded:
                arms[name] = tuple([PodWindow(*msgspec.structs.astuple(pod)) for pod in recorded])
                if len(recorded) > 1:
                    _refuse_twins(name, arms[name])
        return Window(self.number, seconds, arms)


_DECODER = msgspec.json.Decoder(Line)


def parse(raw: bytes) -> Line:
    """Decodes one line, as `read_lines` gave it. Raises BrokenLine, nothing else."""
    if _is_cut(raw):
        raise BrokenLine(f"longer than {LONGEST_LINE >> 20} MiB")
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenLine(str(error)) from None


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
