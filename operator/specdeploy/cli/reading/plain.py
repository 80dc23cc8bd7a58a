"""The same strictness for YAML files that hold no SpecDeployment: scenarios, and catalogues of one's own."""

import yaml

from .nodes import trees
from .problems import Broken, in_plain_words
from .values import Values


def mistake(text: str) -> str | None:
    """The first thing that makes a text no plain YAML, None where there is none.

    `4:1: a tab; YAML is indented with spaces; use spaces`
    """
    values = Values()
    try:
        for number, root in enumerate(trees(text)):
            if number:
                return f"{root.line}:{root.column}: a second document begins; keep one in the file"
            values.of(root)
    except Broken as broken:
        return _said(broken)
    return _said(values.problems[0]) if values.problems else None


def said_of(error: yaml.YAMLError, text: str) -> str:
    """The same of what only a reader finds, such as a tag of nobody's."""
    return _said(in_plain_words(error, text))


def _said(broken: Broken) -> str:
    return f"{broken.line}:{broken.column}: {broken.reason}; {broken.fix}"
