"""The page on versions, and the metrics that the operator counts on in each of them."""

from __future__ import annotations

import pytest

from specdeploy.engine.tables import metrics as tables_metrics
from specdeploy.engine.versions import NEWEST, OLDEST, Version
from specdeploy.metrics import exposition
from tools.versions import PAGE, page

READ = (
    *exposition.REQUIRED,
    *exposition.OPTIONAL,
    *exposition.SPECULATION,
    exposition.POSITIONS,
    exposition.CACHE_CONFIG,
)


def test_the_page_is_the_one_that_the_tables_give() -> None:
    assert PAGE.read_text() == page(), "run `PYTHONPATH=operator:. python tools/versions.py`"


@pytest.mark.parametrize("series", READ)
def test_every_release_that_can_be_used_has_the_series_that_are_read(series: str) -> None:
    name = series
    for suffix in ("_total", "_sum", "_count"):
        name = name.removesuffix(suffix)
    for minor in range(OLDEST.minor, NEWEST.minor + 1):
        assert tables_metrics.SPANS[name].holds(Version(0, minor)), minor
