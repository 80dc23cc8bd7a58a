"""The demo, step by step. Every step is something that a person would do by hand."""

import argparse
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from demo import install, traffic
from demo.install import NAME, NAMESPACE, OPERATOR_NAMESPACE
from demo.place import Place, devcluster, down, existing, tools_only
from demo.shell import DemoError, say
from demo.watch import Watcher, protection

LOADS: dict[str, dict[str, Any]] = {
    "sim": {"model": "sim/llama", "concurrency": 32, "max_tokens": 128, "prompts": "varied"},
    "vllm": {"model": "tiny", "concurrency": 8, "max_tokens": 96, "prompts": "structured"},
}
LOSERS = {"sim": "heavy-eagle3", "vllm": "random-eagle3"}
WINNERS = {"sim": "dflash", "vllm": "ngram"}
MOST_WINDOWS = 3  # a disaster must be off traffic by then
PICTURE = Path("demo-out/trials.svg")
SCENARIO = "loses-at-peak"
_SPECDEPLOY = f"{os.path.relpath(sys.executable)} -m specdeploy"


def main() -> int:
    """Exit 0 if the loser was off in time, the winner serves, protected, and no request failed."""
    parser = argparse.ArgumentParser(prog="make demo")
    parser.add_argument("--engine", choices=("sim", "vllm"), default="sim")
    parser.add_argument("--context", default=None)
    parser.add_argument("--down", action="store_true")
    chosen = parser.parse_args()
    try:
        if chosen.down:
            take_down(chosen.context)
            return 0
        return demo(chosen.engine, chosen.context)
    except (DemoError, subprocess.TimeoutExpired) as error:
        say(f"the demo stopped: {error}")
        return 1
    except KeyboardInterrupt:
        say("stopped")
        return 130


def take_down(context: str | None) -> None:
    """The development cluster as a whole; from a cluster of yours only what the demo has put there."""
    if context is None:
        down()
    else:
        install.remove(tools_only(context))


def demo(engine: str, context: str | None) -> int:
    """The whole of it."""
    place = existing(context, vllm=engine == "vllm") if context else devcluster(vllm=engine == "vllm")
    install.prepare(place)
    install.operator(place)
    install.apply(place, install.manifest(place, engine))
    watcher = Watcher(place)
    watcher.until(_answers, seconds=700, what="a ready pod")
    say("the first pods are ready; clients start")
    traffic.start(place, **LOADS[engine])
    watcher.until(_judged, seconds=2200, what="a verdict on every drafter")
    summary = traffic.stop(place)
    return _report(place, engine, watcher.seen, summary)


def _answers(status: dict[str, Any]) -> bool:
    return bool((status.get("capacity") or {}).get("ready"))


def _judged(status: dict[str, Any]) -> bool:
    return len(status.get("verdicts") or []) >= 2 and not status.get("trial")


def _report(place: Place, engine: str, seen: dict[str, Any], summary: dict[str, Any]) -> int:
    PICTURE.parent.mkdir(exist_ok=True)
    for words in (["explain", NAME], ["plot", NAME, "-o", str(PICTURE)]):
        say("$ specdeploy " + " ".join(words) + f" -n {NAMESPACE}")
        _specdeploy(place, *words, "-n", NAMESPACE)
    say(
        f"clients: {summary['requests']} requests, {summary['failed']} failed, "
        f"{summary['tokens_per_second']:.0f} tokens/s; a new connection for each"
    )
    verdicts = {v["drafter"]: v for v in seen["status"]["verdicts"]}
    outcomes = {name: verdict["outcome"] for name, verdict in verdicts.items()}
    lost = verdicts.get(LOSERS[engine], {})
    compared, lasted = len(lost.get("recent") or []), windows_until_verdict(lost, seen["spec"])
    say(
        f"{LOSERS[engine]} was off traffic after {compared} windows that compared it with the baseline, "
        f"{lasted:.1f} times the length of a window after its measurement began"
    )
    good = (
        outcomes.get(LOSERS[engine]) in ("Disaster", "Slower")
        and outcomes.get(WINNERS[engine]) == "Promoted"
        and seen["status"]["serving"]["name"] == WINNERS[engine]
        and protection(seen["status"]).get("status") == "True"
        and summary["failed"] == 0
        and 1 <= compared <= MOST_WINDOWS  # not by the clock: a busy machine skips windows
    )
    _look_further(place, engine)
    say("as it should be" if good else f"NOT as it should be: {outcomes}, {summary['failures']}")
    return 0 if good else 1


def windows_until_verdict(verdict: dict[str, Any], spec: dict[str, Any]) -> float:
    """Lengths of a window from the beginning of measurement (both arms measured) to the verdict; 0 if it
    never began."""
    if not verdict.get("firstWindowTime"):
        return 0.0
    begun, ended = (datetime.fromisoformat(verdict[key]) for key in ("firstWindowTime", "time"))
    return (ended - begun).total_seconds() / float(spec["trial"]["windowSeconds"])


def _specdeploy(place: Place, *words: str) -> None:
    command = [sys.executable, "-m", "specdeploy", *words]
    done = subprocess.run(command, env={**os.environ, **place.env, "COLUMNS": "150"}, check=False)
    if done.returncode != 0:
        raise DemoError(f"specdeploy {words[0]} failed")


def _look_further(place: Place, engine: str) -> None:
    say("look further:")
    if place.context is None:
        say(f"    export KUBECONFIG={place.env['KUBECONFIG']}")
        say(f"    export PATH={place.env['PATH'].split(os.pathsep)[0]}:$PATH PYTHONPATH=operator")
    for command, what in (
        (f"kubectl get sd,deploy,pods -n {NAMESPACE}", ""),
        (f"kubectl describe sd {NAME} -n {NAMESPACE}", ""),
        (f"kubectl logs -n {OPERATOR_NAMESPACE} deploy/{install.RELEASE}", ""),
        (f"{_SPECDEPLOY} explain {NAME} -n {NAMESPACE}", "why it is as it is, with the numbers"),
        (f"{_SPECDEPLOY} plot {NAME} -n {NAMESPACE} -o trials.svg", "its trials as a picture"),
        (f"{_SPECDEPLOY} simulate {SCENARIO}", "a rollout of days, in seconds"),
        (f"{_SPECDEPLOY} replay windows.jsonl", "judges windows that were recorded"),
    ):
        say(f"    {command:<78}  # {what}" if what else f"    {command}")
    if engine == "sim":
        _tell_how_to_spoil_it()
    gone = f"make demo-down CONTEXT={place.context}" if place.context else "make demo-down"
    say(f"the picture is {PICTURE}; `{gone}` removes all the rest")


def _tell_how_to_spoil_it() -> None:
    """What to type to see the guard at work. Clients that have finished are started again for it."""
    winner = f"-l specdeploy.dev/drafter={WINNERS['sim']}"
    say("to see the guard take off what has become slow, start clients and let it guess badly:")
    say(f"    kubectl replace --force -n {NAMESPACE} -f {traffic.MANIFEST}")
    say(
        f"    for pod in $(kubectl get pods -n {NAMESPACE} {winner} -o name); do "
        f"kubectl exec -n {NAMESPACE} $pod -- vllm set q1=0.2 q=0.2; done"
    )
    say(f"    kubectl get sd {NAME} -n {NAMESPACE} -w")


if __name__ == "__main__":
    sys.exit(main())
