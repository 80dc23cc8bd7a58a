"""Puts what rich draws on stdout, without the blanks with which it fills lines up. I/O."""

import re
import shutil
import sys

from rich.console import Console, RenderableType

# To draw on where it is no terminal.
_COLUMNS = 100
# The end of a line: blanks, and what begins and ends colours between them.
_END = re.compile(r"(?: |\x1b\[[0-9;]*m)+$", re.MULTILINE)


def columns() -> int:
    """Columns of the terminal; 100 where there is none."""
    return shutil.get_terminal_size((_COLUMNS, 0)).columns


def put(console: Console, shown: RenderableType) -> None:
    """Draw for the console's width."""
    with console.capture() as drawn:
        console.print(shown)
    sys.stdout.write(_END.sub(lambda end: end[0].replace(" ", ""), drawn.get()))
    sys.stdout.flush()
