"""What the generated pages under docs/ are made of: tables, and releases in words."""

from collections.abc import Iterable, Sequence

from specdeploy.engine.versions import Span


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, with a line break at its end."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    """What would end the cell, or begin a tag, is shown as it is."""
    parts = text.replace("|", "\\|").split("`")
    # Every other part is code, where nothing begins a tag.
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
    return "`".join(parts)


def code(words: Iterable[str], between: str = " ") -> str:
    """Each word as code."""
    return between.join(f"`{word}`" for word in words)


def releases(span: Span) -> str:
    """A span in words: `from 0.24`, `before 0.33`, `all`."""
    first = f"from {span.since}" if span.since else ""
    last = f"before {span.until}" if span.until else ""
    return " ".join(part for part in (first, last) if part) or "all"


def capital(text: str) -> str:
    """As the beginning of a line; vLLM is written so everywhere, and code as it is."""
    return text if text.startswith(("vLLM", "`")) else text[0].upper() + text[1:]
