"""`python -m vllm_sim set q1=0.2 q=0.2`: change the knobs of a running server, from inside its container.

`kubectl exec POD -- vllm set q1=0.2` does it from a test: no port need be forwarded. Without a pair it shows
the knobs in force. The exit code is 0, or 1 if the server refused or could not be reached.
"""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence

_TIMEOUT_SECONDS = 10.0


def command(argv: Sequence[str]) -> int:
    """`argv` is what follows `set`."""
    parser = argparse.ArgumentParser(prog="vllm set", description="Change knobs of a running server.")
    parser.add_argument("pairs", nargs="*", metavar="name=value")
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    args = parser.parse_args(argv)
    if wrong := [pair for pair in args.pairs if "=" not in pair]:
        parser.error(f"{wrong[0]!r} is not of the form name=value")
    values = dict(pair.split("=", 1) for pair in args.pairs)
    body = json.dumps(values).encode() if values else None
    request = urllib.request.Request(f"{args.url}/sim/knobs", data=body)
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
            print(response.read().decode())
    except urllib.error.HTTPError as error:
        print(error.read().decode(), file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{args.url}: {error}", file=sys.stderr)
        return 1
    return 0
