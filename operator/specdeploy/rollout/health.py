"""Why an engine does not run: read from its pod, in the words of whoever knows best."""

from collections.abc import Sequence
from dataclasses import dataclass

from specdeploy.api.reasons import VerdictReason
from specdeploy.api.status import instant
from specdeploy.rollout.observation import Pod
from specdeploy.rollout.stalls import lasts

# Container states in which no engine ever starts. All arms have the same image, mounts and secrets: whatever
# this is, it is not the drafter.
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
# vLLM's refusal of a GPU whose last user is still letting go of its memory.
_FREE_MEMORY = "Free memory on device"
_LONGEST_CAUSE = 300
# Engines that exit this often, soon after they have come up, crash again and again; a crash alone is the
# kubelet's work.
_CRASH_LOOP = 3
_LOOPING = "CrashLoopBackOff"
# What an engine lives at least, beyond its budget to load, to be one that crashes now and then. In seconds.
_SHORT_LIFE = 3600.0


@dataclass(frozen=True)
class Ailment:
    """What is wrong with an engine: one word, and a sentence with its last words. `of_engine`: the engine
    itself failed, so its configuration may be at fault; else it could not even be started."""

    reason: str
    message: str
    of_engine: bool = True

    @property
    def is_stall(self) -> bool:
        """It runs and stands still: its pod is still up, and all of its speed is lost."""
        return self.reason == VerdictReason.STALLED


def ailment(pods: Sequence[Pod], now: float, startup_seconds: int) -> Ailment | None:
    """The first thing that keeps one of these pods from serving for good; None while there is hope.

    A pod that was drained, evicted or deleted is no ailment: it is replaced. A pod's first refusal of a GPU
    whose old user is still draining is forgiven: the kubelet starts it again.
    """
    for pod in pods:
        found = _stalled(pod) or _crashed(pod) or _hopeless(pod) or _late(pod, now, startup_seconds)
        if found:
            return found
    return None


def common_ailment(pods: Sequence[Pod], now: float, startup_seconds: int) -> Ailment | None:
    """What fails an arm: half of its pods crash again and again now or stand still, and never only one of
    several (that may be its node or its GPU). None: nothing does."""
    failing = [p for p in pods if lasts(p) or _loops(p, startup_seconds)]
    if not failing or len(failing) < common(len(pods)):
        return None
    found = ailment(failing, now, startup_seconds)
    return found if found is not None and found.of_engine else None


def common(pods: int) -> int:
    """How many of an arm's pods must fail to make it the arm's fault: half, and never one of several."""
    return max(min(2, pods), (pods + 1) // 2)


def _loops(pod: Pod, startup_seconds: int) -> bool:
    """Whether it waits after a crash, or loads again after a short life: an engine that loads for longer than
    the kubelet waits is hardly ever seen waiting. Restarts alone count over a pod's whole life."""
    if pod.ready or pod.started or pod.exit is None or pod.restarts < _CRASH_LOOP:
        return False
    if pod.waiting is not None:
        return pod.waiting[0] == _LOOPING
    return pod.exit.ran is None or pod.exit.ran < startup_seconds + _SHORT_LIFE


def _crashed(pod: Pod) -> Ailment | None:
    if pod.exit is None or (pod.restarts <= 1 and _FREE_MEMORY in pod.exit.message):
        return None
    words = cause(pod.exit.message)
    tail = f': "{words}"' if words else ""
    if pod.exit.reason == "OOMKilled":
        return Ailment("OOMKilled", f"its engine was killed for memory (pod {pod.name}){tail}")
    if pod.exit.code == 0:
        return Ailment("EngineDied", f"its engine died, the server left with code 0 (pod {pod.name}){tail}")
    reason = "BadConfig" if pod.exit.code == 2 else "Crashed"
    return Ailment(reason, f"its engine exited with code {pod.exit.code} (pod {pod.name}){tail}")


def _stalled(pod: Pod) -> Ailment | None:
    if pod.silence is None:
        return None
    since = instant(pod.silence.since)
    what = "left a request for one token unanswered" if pod.silence.asked else "held requests without a token"
    text = f"its engine stands still: it has {what} since {since} (pod {pod.name})"
    return Ailment(VerdictReason.STALLED.value, text)


def _hopeless(pod: Pod) -> Ailment | None:
    if pod.waiting is None or pod.waiting[0] not in _HOPELESS:
        return None
    reason, message = pod.waiting
    text = f"a container can't start (pod {pod.name}): {reason}: {message[:_LONGEST_CAUSE]}"
    return Ailment(reason, text, of_engine=False)


def _late(pod: Pod, now: float, startup_seconds: int) -> Ailment | None:
    """Loading a model is the engine's time; volumes, images and init containers before it are not."""
    if pod.ready or pod.started or pod.node is None:
        return None
    if now - (pod.running_since or pod.created) <= startup_seconds:
        return None
    if pod.running_since is not None:
        text = f"its engine was not ready within engine.startupSeconds, {startup_seconds} s (pod {pod.name})"
        return Ailment("NeverReady", text)
    why = ": ".join(part for part in pod.waiting or () if part) or "nothing is told of why"
    text = f"its container did not run within {startup_seconds} s of its pod's creation (pod {pod.name}): "
    return Ailment("NeverStarted", text + why[:_LONGEST_CAUSE], of_engine=False)


def cause(message: str) -> str:
    """The line of a termination message that says most, shortened; "" for an empty message."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    useful = [line for line in lines if not any(phrase in line for phrase in _EMPTY_PHRASES)]
    chosen = _marked(useful) or (useful or lines or [""])[-1]
    return chosen if len(chosen) <= _LONGEST_CAUSE else chosen[:_LONGEST_CAUSE] + "..."


def _marked(lines: Sequence[str]) -> str:
    """The last line that names a cause; pydantic spreads its cause over the two lines that follow."""
    marked = [i for i, line in enumerate(lines) if any(mark in line for mark in _CAUSES)]
    if not marked:
        return ""
    last = marked[-1]
    return " ".join(lines[last : last + 3]) if "validation error" in lines[last] else lines[last]
