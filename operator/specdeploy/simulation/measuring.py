"""Closes windows over the simulated engines as the operator does: which pods are in, and which window
grows.
"""

from collections.abc import Mapping, Sequence

from specdeploy.api.spec import Spec
from specdeploy.api.status import Status
from specdeploy.judge import PodWindow, Window
from specdeploy.judge.assess import FLOOR_DECODE_TOKENS, FLOOR_FIRST_TOKENS
from specdeploy.rollout import Observation
from specdeploy.rollout.scene import arms_of, scene
from specdeploy.rollout.watch import too_short
from specdeploy.simulation.cluster import LivePod
from specdeploy.simulation.pods import restarted, window_of
from specdeploy.simulation.scenario import Traffic

# A pod that was there for less of a window is measured in the next one (metrics.windows does the same).
_SHORTEST_SHARE = 0.5


class Measurer:
    """The windows of one object. `blind_until`: no counters can be read before (seconds since the epoch)."""

    def __init__(self, traffic: Traffic, spec: Spec) -> None:
        self._traffic = traffic
        self._spec = spec
        self.blind_until = 0.0

    def unreadable(self, pods: Sequence[LivePod], now: float) -> Mapping[str, str]:
        """Pod -> why its counters can't be read."""
        if now >= self.blind_until:
            return {}
        return {p.name: "connection timed out" for p in pods if p.ready}

    def close(self, pods: Sequence[LivePod], seen: Observation, status: Status) -> Window | None:
        """The window that ends now; None while it grows, or where nothing is measured. `seen`: the rest of
        what the pass sees."""
        now, length = seen.now, float(self._spec.trial.window_seconds)
        index = int(now // length) - 1
        ready = [p for p in pods if p.ready]
        if not ready:
            return None
        if now < self.blind_until:
            return Window(index, length, {})
        arms: dict[str, tuple[PodWindow, ...]] = {}
        roles = arms_of(status)
        for pod in ready:
            found = self._pod(pod, now, length) if pod.template in roles else None
            if found is not None:
                arms[roles[pod.template]] = (*arms.get(roles[pod.template], ()), found)
        lengths = [p.seconds for arm in arms.values() for p in arm if not p.restarts]
        window = Window(index, max(lengths, default=length), arms)
        if _grows(window, seen, status):
            return None
        measured = {p.pod for arm in arms.values() for p in arm}
        for pod in ready:
            if pod.engine is not None and (pod.name in measured or pod.template not in roles):
                pod.engine.read()
        return window

    def _pod(self, pod: LivePod, now: float, length: float) -> PodWindow | None:
        engine = pod.engine
        if engine is None:
            return None
        age = now - pod.ready_at
        if engine.tainted:
            return restarted(pod.name, length, age)
        if engine.meter.seconds < _SHORTEST_SHARE * length:
            return None
        return window_of(pod.name, engine.meter, self._traffic, finished=engine.finished, age=age)


def _grows(window: Window, seen: Observation, status: Status) -> bool:
    """Whether a window must grow first. Where every single pod had traffic enough there is no need to ask."""
    pods = [pod for arm in window.arms.values() for pod in arm]
    enough = (p.decode_tokens >= FLOOR_DECODE_TOKENS and p.first_tokens >= FLOOR_FIRST_TOKENS for p in pods)
    spec = seen.reading.spec
    if spec is None or (pods and all(enough)):
        return False
    return too_short(scene(seen, status), status, spec, window)
