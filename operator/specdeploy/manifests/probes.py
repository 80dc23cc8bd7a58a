"""Probes of the engine's container.

The engine's port refuses connections until everything is loaded, so `/health` first answering means that it
can serve. It says nothing of a hang: that is found from the engine's counters. Timeouts are long because a
busy engine answers late.
"""

import math
from typing import Any

from specdeploy.api.names import PORT
from specdeploy.api.spec import Spec

# Asks /health; the first time it answers, one short completion compiles what a first request would wait for.
# It is tried once: the mark is set before. /tmp is the container's own: a restarted engine is warmed again.
STARTUP_SCRIPT = """\
import http.client, json, os, sys, urllib.request

name, port, mark = sys.argv[1:]
engine = f"http://127.0.0.1:{port}"
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

def warm_up():
    body = {"model": name, "prompt": "Count: one, two, three,", "max_tokens": 16, "temperature": 0}
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("VLLM_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(f"{engine}/v1/completions", json.dumps(body).encode(), headers)
    direct.open(request, timeout=115).read()

def first_time():
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    except OSError:
        return False
    return True

step = "not ready yet"
try:
    direct.open(f"{engine}/health", timeout=5).read()
    if first_time():
        step = "the warm-up request failed"
        warm_up()
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"{step}: {error}")
"""
MARK = "/tmp/specdeploy-warmed-up"  # noqa: S108  within the engine's own container


def build_probes(spec: Spec) -> dict[str, Any]:
    """`startupProbe`, `readinessProbe` and `livenessProbe` of a core/v1 Container."""
    return {
        "startupProbe": _startup(spec),
        "readinessProbe": _health(period=5, timeout=5, failures=3),
        "livenessProbe": _health(period=20, timeout=10, failures=6),
    }


def _startup(spec: Spec) -> dict[str, Any]:
    budget = spec.engine.startup_seconds
    period = _period(budget)
    return {
        "exec": {"command": ["python3", "-c", STARTUP_SCRIPT, spec.served_name, str(PORT), MARK]},
        "periodSeconds": period,
        "timeoutSeconds": 125,
        "failureThreshold": math.ceil(budget / period),
    }


def _health(*, period: int, timeout: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": "/health", "port": PORT},
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "failureThreshold": failures,
    }


def _period(budget: int) -> int:
    """Seconds between two looks: what is fast to start is found fast, what is slow costs little."""
    if budget <= 120:
        return 2
    return 5 if budget <= 600 else 10
