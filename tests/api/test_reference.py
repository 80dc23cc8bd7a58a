"""docs/reference.md is what the types say."""

from specdeploy.api.crd import object_schema
from specdeploy.api.names import ANNOTATIONS
from specdeploy.api.reasons import Outcome
from specdeploy.telemetry import Telemetry
from tools.reference import PAGE, page


def test_the_committed_reference_is_what_the_types_say() -> None:
    assert PAGE.read_text() == page(), "run `PYTHONPATH=operator:. python tools/reference.py`"


def test_the_reference_names_every_field_rule_word_and_annotation() -> None:
    text = page()
    for part in ("spec", "status"):
        for field in object_schema()["properties"][part]["properties"]:
            assert f"| `{part}.{field}` |" in text
    assert "`spec.engine.weights.persistentVolumeClaim.claimName`" in text
    assert "`spec.drafters[].numSpeculativeTokens`" in text
    assert "must hold at least 40 windows" in text
    for word in (*Outcome, *ANNOTATIONS):
        assert f"| `{word}` |" in text


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    cells = 0
    for line in page().splitlines():
        if not line.startswith("| "):
            cells = 0
            continue
        found = line.replace("\\|", "").count("|")
        assert cells in (0, found), line
        cells = found


def test_the_reference_names_every_metric_that_the_operator_exports() -> None:
    families = {family.name for family in Telemetry().registry.collect()}
    rows = [line for line in page().splitlines() if line.startswith("| `specdeploy_")]
    named = {row.split("`")[1] for row in rows}
    assert "specdeploy_verdicts_total" in named
    assert {name.removesuffix("_total") for name in named} == families
    assert any("`namespace` `specdeployment` `arm`" in row for row in rows)
