"""Records metrics pages of the real engine after a short load, for the tests of the parser.

    python -m tests.vllm.record        (in the root of the repository; writes tests/data/vllm_metrics/*.txt)

Kept are the lines about `vllm:` series, as the engine wrote them. To be run again when its version moves.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.vllm.load import drive
from tests.vllm.server import drafters, running
from tools.vllm.environment import ensure

PAGES = Path(__file__).resolve().parents[1] / "data" / "vllm_metrics"


def main() -> None:
    environment = ensure()
    engines = {"baseline": (), **drafters(environment)}
    PAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, args in engines.items():
            with running(environment, Path(folder), name, args) as server:
                server.wait_ready()
                drive([server], seconds=8)
                (PAGES / f"{name}.txt").write_text(vllm_lines(server.metrics_page()))


def vllm_lines(page: str) -> str:
    return "".join(line + "\n" for line in page.splitlines() if "vllm:" in line)


if __name__ == "__main__":
    main()
