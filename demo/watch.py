"""Shows what happens: the line that `kubectl get sd` prints, whenever it changes; between the lines, Events,
and how what serves is protected."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from demo.install import NAME, NAMESPACE
from demo.place import Place
from demo.shell import DemoError, say

_HEADER = "READY   SERVING        TRIAL                           SPEEDUP             REASON"


@dataclass
class Watcher:
    """Polls every two seconds. `seen` is the newest object; `rows` every line shown."""

    place: Place
    seen: dict[str, Any] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    _told: set[str] = field(default_factory=set)
    _protection: str = ""

    def until(self, done: Callable[[dict[str, Any]], bool], *, seconds: float, what: str) -> dict[str, Any]:
        """Show until the status satisfies `done`. DemoError if it does not in time."""
        say(_HEADER)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._look()
            if done(self.seen.get("status") or {}):
                return self.seen
            time.sleep(2)
        message = (self.seen.get("status") or {}).get("message", "no status")
        raise DemoError(f"{what} did not happen in {seconds:.0f} s; the last words were: {message}")

    def _look(self) -> None:
        self.seen = json.loads(self.place.kubectl("get", "sd", NAME, "-n", NAMESPACE, "-o", "json"))
        status = self.seen.get("status") or {}
        row = line_of(status)
        self._tell_events()
        self._tell_protection(status)
        if not self.rows or self.rows[-1] != row:
            self.rows.append(row)
            say(row)

    def _tell_events(self) -> None:
        answer = self.place.kubectl(
            "get", "events", "-n", NAMESPACE, "-o", "json",
            "--field-selector", "involvedObject.kind=SpecDeployment",
        )  # fmt: skip
        for event in json.loads(answer)["items"]:
            uid = event["metadata"]["uid"]
            if uid not in self._told:
                self._told.add(uid)
                mark = "!" if event["type"] == "Warning" else "*"
                say(f"  {mark} {event['reason']}: {event['message']}")

    def _tell_protection(self, status: dict[str, Any]) -> None:
        found = protection(status)
        if found and found["reason"] != self._protection:
            self._protection = found["reason"]
            say(f"  = Protected is {found['status']} ({found['reason']}): {found['message']}")


def protection(status: dict[str, Any]) -> dict[str, Any]:
    """The condition Protected; empty if it is not set."""
    return next((c for c in status.get("conditions") or [] if c["type"] == "Protected"), {})


def line_of(status: dict[str, Any]) -> str:
    """The columns of `kubectl get sd`."""
    conditions = {c["type"]: c for c in status.get("conditions") or []}
    cells = (
        ((status.get("capacity") or {}).get("summary", ""), 7),
        ((status.get("serving") or {}).get("name", ""), 14),
        ((status.get("trial") or {}).get("summary", ""), 31),
        ((status.get("serving") or {}).get("summary", ""), 19),
        (conditions.get("Ready", {}).get("reason", ""), 12),
    )
    return " ".join(f"{text:<{width}}" for text, width in cells).rstrip()
