"""Probes of the engine's container.

The engine's port refuses connections until everything is loaded, so `/health` first answering means that it
can serve. It says nothing of a hang: that is found from the engine's counters. Timeouts are long because a
busy engine answers late.
"""

import json
import math
from typing import Any

from specdeploy.api.answer_line import LONGEST_LINE, LONGEST_PIECE, MARKER
from specdeploy.api.names import PORT
from specdeploy.api.spec import Spec
from specdeploy.engine.questions import ANSWER_TOKENS, QUESTION_SET, QUESTIONS

# Asks /health; the first time it answers, one short completion compiles what a first request would wait for.
# Then the fixed questions of the guard of output agreement are asked, while nothing else runs, and the
# answers are written to the log of the container: its first process and this one are the same user's. An
# engine that can't be asked them is ready all the same.
# It is tried once: the mark is set before. /tmp is the container's own: a restarted engine is warmed again.
STARTUP_SCRIPT = """\
import http.client, json, os, sys, time, urllib.request

name, port, mark, log, asked = sys.argv[1:]
asked = json.loads(asked)
engine = f"http://127.0.0.1:{port}"
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
end = time.monotonic() + 115

def complete(prompt, **more):
    body = {"model": name, "prompt": prompt, "temperature": 0, **more}
    headers = {"Content-Type": "application/json"}
    if key := os.environ.get("VLLM_API_KEY"):
        headers["Authorization"] = f"Bearer {key}"
    request = urllib.request.Request(f"{engine}/v1/completions", json.dumps(body).encode(), headers)
    return direct.open(request, timeout=max(1, end - time.monotonic())).read()

def gap(choices):
    first, second = sorted(choices.values(), reverse=True)[:2]
    return round(first - second, 1)

def answer(question, prompt):
    body = complete(prompt, max_tokens=asked["tokens"], ignore_eos=True, logprobs=2)
    found = json.loads(body)["choices"][0]["logprobs"]
    tokens = [token[:asked["piece"]] for token in found["tokens"]]
    gaps = [gap(choices) if len(choices) > 1 else 0 for choices in found["top_logprobs"]]
    record = {"set": asked["set"], "question": question, "tokens": tokens, "gaps": gaps}
    line = (asked["marker"] + json.dumps(record)).encode()[:asked["line"] - 1]
    with open(log, "ab", buffering=0) as out:
        out.write(line + b"\\n")

def answer_all():
    try:
        for question, prompt in asked["questions"].items():
            answer(question, prompt)
    except (OSError, http.client.HTTPException, ValueError, TypeError, LookupError, AttributeError):
        return

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
        complete("Count: one, two, three,", max_tokens=16)
        answer_all()
except (OSError, http.client.HTTPException) as error:
    sys.exit(f"{step}: {error}")
"""
MARK = "/tmp/specdeploy-warmed-up"  # noqa: S108  within the engine's own container
LOG = "/proc/1/fd/1"


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
        "exec": {"command": ["python3", "-c", STARTUP_SCRIPT, *_arguments(spec)]},
        "periodSeconds": period,
        "timeoutSeconds": 125,
        "failureThreshold": math.ceil(budget / period),
    }


def _arguments(spec: Spec) -> list[str]:
    asked = {
        "set": QUESTION_SET,
        "marker": MARKER,
        "line": LONGEST_LINE,
        "piece": LONGEST_PIECE,
        "tokens": ANSWER_TOKENS,
        "questions": QUESTIONS,
    }
    return [spec.served_name, str(PORT), MARK, LOG, json.dumps(asked)]


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
