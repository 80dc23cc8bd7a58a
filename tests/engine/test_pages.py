"""The pages that are printed from the engine's tables are those that are committed."""

from types import ModuleType

import pytest

from tools import amd, methods


@pytest.mark.parametrize("tool", [methods, amd], ids=["methods", "amd"])
def test_the_committed_page_is_what_the_tables_say(tool: ModuleType) -> None:
    assert tool.PAGE.read_text() == tool.page(), f"run PYTHONPATH=operator python -m {tool.__name__}"
