"""How log lines look."""

import json
import logging
import sys

from specdeploy.logs import JsonFormatter


def record(message: str, *args: object, fault: bool = False) -> logging.LogRecord:
    info = None
    if fault:
        try:
            raise ValueError("a bug")
        except ValueError:
            info = sys.exc_info()
    made = logging.LogRecord("specdeploy.apply", logging.WARNING, "apply.py", 1, message, args, info)
    made.created, made.msecs = 1_800_000_000.25, 250.0
    return made


def test_a_line_is_one_json_object_whatever_the_message_holds() -> None:
    text = JsonFormatter().format(record('%s: a "quoted"\nsecond line', "ns/a"))
    assert "\n" not in text
    assert json.loads(text) == {
        "time": "2027-01-15T08:00:00.250Z",
        "level": "warning",
        "logger": "specdeploy.apply",
        "message": 'ns/a: a "quoted"\nsecond line',
    }


def test_a_traceback_is_a_field_of_its_line() -> None:
    line = json.loads(JsonFormatter().format(record("a pass failed", fault=True)))
    assert "ValueError: a bug" in line["traceback"]
