"""Puts what rich draws on stdout, without the blanks with which it fills lines up. I/O."""

import re
import sys

from rich.console import Console, RenderableType

# The end of a line: blanks, and what begins and ends colours between them.
_END = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)


def put(console: Console, shown: RenderableType) -> None:
    """Draw for the console's width."""
    with console.capture() as drawn:
        console.print(shown)
    sys.stdout.write(_END.sub(lambda end: end[0].replace(" ", ""), drawn.get()))
    sys.stdout.flush()
