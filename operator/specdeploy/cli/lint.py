"""`specdeploy lint`: every rule that needs no cluster, on files, stdin and folders.

Exit code 0: no error (warnings and advice may be there); 1: an error, with `--strict` a warning too; 2: a bad
option, a file that does not exist, no SpecDeployment in any, an engine that can't be asked.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from specdeploy.cli.exits import FAILED, usage

if TYPE_CHECKING:
    from specdeploy.api.rule import Finding, Rule
    from specdeploy.api.spec import Spec
    from specdeploy.cli.checking import Checks, Report
    from specdeploy.cli.progress import Progress
    from specdeploy.cli.reading import Located, Source
    from specdeploy.engine.catalogue.entries import Target
    from specdeploy.engine.versions import Version

    Ask = Callable[[Spec], tuple[Finding, ...]]

_SHOWN = 3

Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE", help="Files, folders with YAML and JSON files, or - for stdin."),
]
VllmVersion = Annotated[
    str | None,
    typer.Option(metavar="VERSION", help="vLLM's version, such as 0.33, where a spec does not tell it."),
]
Catalog = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Entries of your own, beside the catalogue's.")
]
Form = Annotated[
    Literal["table", "json", "yaml", "sarif"], typer.Option("--output", "-o", help="Form of the answer.")
]
Engine = Annotated[bool, typer.Option("--engine", help="Ask an installed vLLM's own parser too.")]
EnginePython = Annotated[
    str,
    typer.Option(
        metavar="PATH", envvar="SPECDEPLOY_ENGINE_PYTHON", help="The Python that has vLLM, for --engine."
    ),
]
Models = Annotated[
    Path | None, typer.Option(metavar="DIR", help="<org>/<name>/config.json of the models, for --engine.")
]
Least = Annotated[
    Literal["error", "warning", "advice"], typer.Option("--severity", help="Show this and what is worse.")
]
Strict = Annotated[bool, typer.Option("--strict", help="Warnings fail, too.")]


def lint(  # noqa: PLR0913, PLR0917  (its options)
    files: Files,
    vllm_version: VllmVersion = None,
    catalog: Catalog = None,
    output: Form = "table",
    engine: Engine = False,
    engine_python: EnginePython = "python3",
    models: Models = None,
    severity: Least = "advice",
    strict: Strict = False,
) -> None:
    """Check SpecDeployments against every rule that needs no cluster: field, reason, fix.

    Exit code 1 on an error, 0 with warnings, 2 where something can't be asked or is not there.
    """
    # Imported here, as in all of this file: other commands start fast without it.
    from specdeploy.api.rule import Severity  # noqa: PLC0415
    from specdeploy.cli.checking import rules_by_code  # noqa: PLC0415

    version, extra = version_of(vllm_version), catalogue_of(catalog)
    with _engine(engine_python, models, extra) if engine else nullcontext((None, ())) as (ask, further):
        report = _report(files, version, extra, ask)
    _answer(report, report.from_severity(Severity(severity)), output, rules_by_code(further))
    if report.count(Severity.ERROR) or (strict and report.count(Severity.WARNING)):
        raise typer.Exit(FAILED)


def _report(files: list[str], version: Version | None, extra: tuple[Target, ...], ask: Ask | None) -> Report:
    from specdeploy.cli.checking import Checks, Report  # noqa: PLC0415
    from specdeploy.cli.progress import Progress  # noqa: PLC0415
    from specdeploy.cli.reading import NoFileError, sources  # noqa: PLC0415

    report, checks, progress = Report(), Checks(version, extra), Progress()
    try:
        for source in sources(files):
            _add(report, source, checks, ask, progress)
    except NoFileError as error:
        usage(str(error))
    finally:
        progress.end()
    if not report.objects and not report.found:
        usage(nothing_in(files))
    return report


def _add(report: Report, source: Source, checks: Checks, ask: Ask | None, progress: Progress) -> None:
    """What one file holds, and what is found in it."""
    from specdeploy.cli.checking import located  # noqa: PLC0415
    from specdeploy.cli.reading import contents  # noqa: PLC0415

    progress.reading(len(source.text))
    held, checked, findings = contents(source), [], []
    for read in held.objects:
        if read.spec is not None:
            found = checks.of(read, read.spec)
            checked.append(found)
            findings.append((read, (*found.findings, *(ask(found.spec) if ask and read.whole else ()))))
        progress.checked()
    report.add(held, located(held, findings), checked)


def nothing_in(files: list[str]) -> str:
    """What to say where no file holds a SpecDeployment: a program before the pipe may have failed."""
    shown = ", ".join("stdin" if file == "-" else file for file in files[:_SHOWN])
    more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
    return f"there is no SpecDeployment in {shown}{more}"


@contextmanager
def _engine(
    python: str, models: Path | None, extra: tuple[Target, ...]
) -> Iterator[tuple[Ask, tuple[Rule, ...]]]:
    """How to ask the engine, and the rules of its findings. One that can't be asked ends the command."""
    from specdeploy.cli.engine_word import RULES, EngineWord, EngineWordError, findings_of  # noqa: PLC0415

    try:
        with EngineWord(python, models) as word:
            yield lambda spec: findings_of(spec, word, extra), RULES
    except EngineWordError as error:
        usage(f"--engine: {error}")


def version_of(text: str | None) -> Version | None:
    """The version that an option names; ends the command where it is none."""
    from specdeploy.engine.versions import parse_version  # noqa: PLC0415

    found = parse_version(text) if text else None
    if text and found is None:
        usage(f"--vllm-version: {text!r} is no version; write one such as 0.33 or 0.33.0")
    return found


def catalogue_of(file: Path | None) -> tuple[Target, ...]:
    """The entries of a file that an option names; ends the command where they can't be read."""
    if file is None:
        return ()
    from specdeploy.cli.catalog import load_file  # noqa: PLC0415

    try:
        return load_file(file)
    except ValueError as error:
        usage(f"--catalog: {error}")


def _answer(report: Report, shown: list[Located], output: str, rules: dict[str, Rule]) -> None:
    from specdeploy.cli.lint_forms import summary  # noqa: PLC0415

    for text in _texts(shown, output, rules):
        typer.echo(text)
    # What programs read is only the findings.
    typer.echo(summary(report), err=output != "table")


def _texts(shown: list[Located], output: str, rules: dict[str, Rule]) -> Iterator[str]:
    from specdeploy.cli import lint_forms  # noqa: PLC0415

    if output == "table":
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        yield from (lint_forms.line(each, colour=colour) for each in shown)
    elif output == "yaml":
        import yaml  # noqa: PLC0415

        found = lint_forms.as_dicts(shown, rules)
        yield yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=1_000_000).rstrip("\n")
    elif output == "sarif":
        from specdeploy import __version__  # noqa: PLC0415
        from specdeploy.cli import sarif  # noqa: PLC0415

        yield json.dumps(sarif.log(shown, rules.values(), __version__), indent=2)
    else:
        yield json.dumps(lint_forms.as_dicts(shown, rules), indent=2)
