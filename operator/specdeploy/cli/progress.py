"""A line on a terminal that says how far a long command is; nothing where nobody looks. I/O."""

import sys
import time

# Seconds: before the first word, and between two.
_PATIENCE, _PACE = 1.0, 0.25
# Characters of a file that take about so long to read.
_LONG = 400_000


class Progress:
    """How many SpecDeployments were checked, on stderr where that is a terminal."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PATIENCE
        self._seen = 0
        self._told = False
        self._wanted = sys.stderr.isatty()

    def reading(self, length: int) -> None:
        """A file of so many characters is going to be read."""
        if self._wanted and length > _LONG:
            self._tell()

    def checked(self) -> None:
        """One more was checked."""
        self._seen += 1
        if self._wanted and time.monotonic() >= self._next:
            self._tell()

    def end(self) -> None:
        """Take the line away: the answer follows."""
        if self._told:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()

    def _tell(self) -> None:
        sys.stderr.write(f"\rspecdeploy: {self._seen} SpecDeployments checked ...")
        sys.stderr.flush()
        self._told, self._next = True, time.monotonic() + _PACE
