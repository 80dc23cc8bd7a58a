"""`specdeploy lint` as it is typed: lines, forms for programs, exit codes; never a traceback."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from specdeploy.api.rule import Finding, Rule, Severity
from specdeploy.cli.checking import Report, rules_by_code
from specdeploy.cli.lint_forms import line, printable, summary
from specdeploy.cli.main import app
from specdeploy.cli.reading import Located
from specdeploy.cli.sarif import log

RUN = CliRunner()
ROOT = Path(__file__).parents[2]
HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: gemma}\n"
VOLUMES = """  engine:
    weights: {persistentVolumeClaim: {claimName: models}}
    compileCache: {persistentVolumeClaim: {claimName: cache}}
"""
CLEAN = HEAD + "spec:\n  model: google/gemma-4-26B-A4B-it\n  accelerator: {type: MI300X}\n" + VOLUMES
WARNED = HEAD + "spec:\n  model: google/gemma-4-26B-A4B-it\n"
DRAFTERS = """  drafters:
    - name: ngram
      method: ngram
      numSpeculativeTokens: 3
      options: {prompt_lookup_maximum: 4}
"""
WRONG = CLEAN + DRAFTERS


def lint(tmp_path: Path, text: str, *options: str) -> Result:
    file = tmp_path / "f.yaml"
    file.write_text(text)
    return RUN.invoke(app, ["lint", str(file), *options])


def findings(answer: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(answer.stdout)
    return found


# what is linted -> (text, options, exit code)
EXITS: dict[str, tuple[str, list[str], int]] = {
    "nothing is wrong": (CLEAN, [], 0),
    "nothing is wrong, strictly": (CLEAN, ["--strict"], 0),
    "a warning": (WARNED, [], 0),
    "a warning, strictly": (WARNED, ["--strict"], 1),
    "an error": (WRONG, [], 1),
    "an error in a form for programs": (WRONG, ["-o", "sarif"], 1),
    "no YAML": ("{", [], 1),
    "no SpecDeployment": ("kind: Service\n", [], 2),
    "no SpecDeployment in a form for programs": ("kind: Service\n", ["-o", "json"], 2),
    "nothing": ("", [], 2),
    "a kind of another group": (CLEAN.replace("specdeploy.dev", "specdeploy.io"), [], 1),
    "a plain list of objects": ("- " + CLEAN.replace("\n", "\n  "), [], 1),
    "a version that is none": (CLEAN, ["--vllm-version", "newest"], 2),
    "a form that does not exist": (CLEAN, ["-o", "html"], 2),
    "a catalogue that does not exist": (CLEAN, ["--catalog", "none.yaml"], 2),
    "an engine that is none": (CLEAN, ["--engine", "--engine-python", "/no/such/python"], 2),
}


@pytest.mark.parametrize("case", EXITS)
def test_the_exit_code_says_whether_anything_fails(case: str, tmp_path: Path) -> None:
    text, options, code = EXITS[case]
    answer = lint(tmp_path, text, *options)
    assert answer.exit_code == code
    assert answer.exception is None or isinstance(answer.exception, SystemExit)
    assert "Traceback" not in answer.output


def test_a_finding_is_a_line_that_editors_can_follow(tmp_path: Path) -> None:
    answer = lint(tmp_path, WRONG)
    place, field = rf"{re.escape(str(tmp_path))}/f\.yaml:14:17", r"spec\.drafters\[0\]\.options\.\S+"
    [found] = [each for each in answer.stdout.splitlines() if " error " in each]
    assert re.fullmatch(rf"{place}: error SD4\d\d {field}: .+; .+", found)


def test_the_last_line_counts(tmp_path: Path) -> None:
    last = lint(tmp_path, f"{WRONG}---\nkind: Service\n").stdout.splitlines()[-1]
    assert last.startswith("1 file, 1 SpecDeployment, 1 other document skipped: 1 error, ")
    assert last.endswith("; checked for vLLM 0.33 (default image)")


def test_the_last_line_tells_what_was_not_checked(tmp_path: Path) -> None:
    last = lint(tmp_path, WRONG.replace("model: google/gemma-4-26B-A4B-it", "model: []")).stdout.splitlines()[
        -1
    ]
    assert last.endswith(": 1 error, 0 warnings, 0 advice; 1 not checked for vLLM: correct what is wrong")


def test_one_value_of_another_type_hides_no_finding_on_drafters(tmp_path: Path) -> None:
    found = findings(lint(tmp_path, WRONG.replace("type: MI300X", "type: [MI300X]"), "-o", "json"))
    assert {"spec.accelerator.type", "spec.drafters[0].options.prompt_lookup_maximum"} <= {
        each["field"] for each in found
    }


def test_where_there_is_nothing_to_check_the_files_are_named(tmp_path: Path) -> None:
    answer = RUN.invoke(app, ["lint", "-"], input="")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr == "specdeploy: there is no SpecDeployment in stdin\n"
    (tmp_path / "service.yaml").write_text("kind: Service\n")
    answer = RUN.invoke(app, ["lint", str(tmp_path), *["-"] * 4], input="")
    assert answer.stderr == f"specdeploy: there is no SpecDeployment in {tmp_path}, stdin, stdin and 2 more\n"


def test_findings_are_in_the_order_of_files_and_lines(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(WRONG + "  replica: 1\n")
    (tmp_path / "b.yaml").write_text(WARNED)
    found = findings(RUN.invoke(app, ["lint", str(tmp_path), "-o", "json"]))
    places = [(Path(each["file"]).name, each["line"]) for each in found]
    assert places == sorted(places)
    assert {name for name, _ in places} == {"a.yaml", "b.yaml"}


@pytest.mark.parametrize(
    ("least", "shown"),
    [("error", {"error"}), ("warning", {"error", "warning"}), ("advice", {"error", "warning", "advice"})],
)
def test_less_than_the_severity_that_is_asked_for_is_counted_and_not_shown(
    least: str, shown: set[str], tmp_path: Path
) -> None:
    answer = lint(tmp_path, WARNED + DRAFTERS, "--severity", least, "-o", "json")
    assert {each["severity"] for each in findings(answer)} == shown
    assert "1 error, 2 warnings, " in answer.stderr


def test_stdin_is_a_file(tmp_path: Path) -> None:
    answer = RUN.invoke(app, ["lint", "-", "-o", "json"], input=WRONG)
    assert {each["file"] for each in findings(answer)} == {"stdin"}


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_programs_get_every_part_of_a_finding(form: str, tmp_path: Path) -> None:
    answer = lint(tmp_path, f"---\n{CLEAN}---\n{WARNED}  replicas: '4'\n", "-o", form)
    [found] = [each for each in yaml.safe_load(answer.stdout) if each["severity"] == "error"]
    assert found == {
        "file": str(tmp_path / "f.yaml"),
        "line": 17,
        "column": 3,
        "document": 2,
        "code": "SD003",
        "rule": "quotes",
        "severity": "error",
        "field": "spec.replicas",
        "reason": "should be a whole number, it is the text '4'",
        "fix": "write 4 without quotes",
    }
    assert "1 error" in answer.stderr


# how vLLM's version is told -> (lines of the spec's engine, options, the last words of the summary)
VERSIONS: dict[str, tuple[str, list[str], str]] = {
    "by nothing but a default": ("", [], "0.33 (default image)"),
    "by the option": ("", ["--vllm-version", "0.27"], "0.27 (--vllm-version)"),
    "by the image": ("    image: vllm/vllm-openai-rocm:v0.29.0\n", [], "0.29 (spec.engine.image)"),
    "by the image, whatever the option says": (
        "    image: vllm/vllm-openai-rocm:v0.29.0\n",
        ["--vllm-version", "0.27"],
        "0.29 (spec.engine.image)",
    ),
    "by the spec": (
        "    image: team/engine:7\n    vllmVersion: 0.30.0\n",
        ["--vllm-version", "0.27"],
        "0.30 (spec.engine.vllmVersion)",
    ),
    "by the option for an image that does not tell": (
        "    image: team/engine:7\n",
        ["--vllm-version", "v0.27.1"],
        "0.27.1 (--vllm-version)",
    ),
    "by nothing": ("    image: team/engine:7\n", [], "0.33 (nothing tells: the newest rules)"),
}


@pytest.mark.parametrize("case", VERSIONS)
def test_whose_rules_were_asked_is_said(case: str, tmp_path: Path) -> None:
    lines, options, words = VERSIONS[case]
    answer = lint(tmp_path, CLEAN + lines, *options)
    assert answer.stdout.splitlines()[-1].endswith(f"checked for vLLM {words}")


def test_the_version_that_was_asked_for_decides(tmp_path: Path) -> None:
    dspark = "  drafters: [{name: d, method: dspark, numSpeculativeTokens: 3}]\n"
    codes = [
        {each["code"] for each in findings(lint(tmp_path, CLEAN + dspark, "-o", "json", *options))}
        for options in ([], ["--vllm-version", "0.18"])
    ]
    assert codes[1] - codes[0]


def test_entries_of_ones_own_are_known(tmp_path: Path) -> None:
    entries = tmp_path / "own.yaml"
    entries.write_text("- model: [x]\n")
    answer = lint(tmp_path, CLEAN, "--catalog", str(entries))
    assert answer.exit_code == 2
    assert answer.stderr.startswith(f"specdeploy: --catalog: {entries}: entry 1")


def test_drafters_that_the_api_server_would_refuse_hide_no_other(tmp_path: Path) -> None:
    broken = "    - {name: B, method: ngram, numSpeculativeTokens: 3}\n"
    text = CLEAN + DRAFTERS.replace("drafters:\n", f"drafters:\n{broken}")
    fields = {each["field"] for each in findings(lint(tmp_path, text, "-o", "json"))}
    assert "spec.drafters[0].name" in fields
    assert "spec.drafters[1].options.prompt_lookup_maximum" in fields


RULE = Rule("SD999", "made-up", Severity.WARNING, "A title", "Because.", "nowhere", "", "")
FOUND = Located("dir/a b.yaml", 3, 7, 1, RULE.at("spec.model", "is \x1b[31mred", "paint it"))


def test_no_terminal_obeys_what_is_in_a_file() -> None:
    assert line(FOUND) == r"dir/a b.yaml:3:7: warning SD999 spec.model: is \x1b[31mred; paint it"
    assert "\x1b[31mred" not in line(FOUND, colour=True)
    assert "\x1b[33mwarning" in line(FOUND, colour=True)
    assert printable("模型 é\n\u202e") == r"模型 é\n\u202e"


@pytest.mark.parametrize("form", ["table", "json", "yaml", "sarif"])
def test_names_that_no_encoding_has_are_escaped(form: str, tmp_path: Path) -> None:
    """A file's name may be any bytes, and a terminal may know Latin letters only."""
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    (Path(os.fsdecode(folder)) / "模.yaml").write_text(WRONG.replace("gemma-4", "模型"))
    answer = subprocess.run(
        [sys.executable, "-m", "specdeploy", "lint", os.fsdecode(folder), "-o", form],
        env={**os.environ, "PYTHONPATH": str(ROOT / "operator"), "PYTHONIOENCODING": "latin-1"},
        capture_output=True,
        check=False,
        timeout=240,
    )
    assert answer.returncode == 1
    assert b"Traceback" not in answer.stderr
    assert b"\\u6a21" in answer.stdout or b"%E6%A8%A1" in answer.stdout


def test_the_summary_speaks_of_one_and_of_many() -> None:
    assert summary(Report()) == "0 files, 0 SpecDeployments: 0 errors, 0 warnings, 0 advice"
    report = Report(2, 1, 0, [FOUND], {"0.33 (default image)": 2, "0.27 (--vllm-version)": 1})
    assert summary(report) == (
        "2 files, 1 SpecDeployment: 0 errors, 1 warning, 0 advice; "
        "checked for vLLM 0.33 (default image) x 2, 0.27 (--vllm-version)"
    )


def test_sarif_has_what_code_scanning_asks_for() -> None:
    """The properties that GitHub lists as required, and those that SARIF 2.1.0 requires of the others."""
    whole = Located("x.yaml", 1, 1, None, Finding("", "is no YAML", "correct it", "SD010"))
    answer = log([FOUND, whole], [*rules_by_code().values(), RULE], "0.1.0")
    assert answer["version"] == "2.1.0"
    assert answer["$schema"].endswith("sarif-2.1.0.json")
    [run] = answer["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("specdeploy lint", "0.1.0")
    identifiers = [rule["id"] for rule in driver["rules"]]
    assert len(identifiers) == len(set(identifiers))
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["fullDescription"]["text"] in rule["help"]["markdown"]
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
    for result in run["results"]:
        assert identifiers[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        [place] = result["locations"]
        assert place["physicalLocation"]["region"]["startLine"] >= 1
        assert place["physicalLocation"]["region"]["startColumn"] >= 1
    first, second = run["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "dir/a%20b.yaml"
    assert (first["level"], second["level"]) == ("warning", "error")
    assert second["message"]["text"] == "is no YAML; correct it"


def test_every_finding_of_the_rules_has_its_words() -> None:
    known = rules_by_code()
    assert all(rule.code == code for code, rule in known.items())
    assert all(re.fullmatch(r"SD\d{3}", code) for code in known)
    names = [rule.name for rule in known.values()]
    assert len(names) == len(set(names))


def test_a_folder_without_a_file_is_a_mistake_of_who_types_it(tmp_path: Path) -> None:
    answer = RUN.invoke(app, ["lint", str(tmp_path)])
    assert answer.exit_code == 2
    assert answer.stderr.count("\n") == 1
