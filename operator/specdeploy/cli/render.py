"""`specdeploy render`: the child objects that would be applied, without a cluster.

Exit code 0: all was rendered; 1: an error was found (on stderr; what it concerns is left out, the rest is
rendered); 2: a bad option, or a file that does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from specdeploy.api.names import BASELINE
from specdeploy.cli.exits import FAILED, usage
from specdeploy.cli.lint import Catalog, Files, VllmVersion, catalogue_of, nothing_in, version_of

if TYPE_CHECKING:
    from specdeploy.api.spec import Spec
    from specdeploy.cli.reading import Read
    from specdeploy.cli.rendering import Child
    from specdeploy.engine.catalogue.entries import Target
    from specdeploy.engine.versions import Version

# What is long, such as a JSON argument, stays on its line, to be copied.
_UNFOLDED = 1_000_000

Form = Annotated[Literal["yaml", "json"], typer.Option("--output", "-o", help="Form of the answer.")]
Drafter = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only the Deployment of this drafter, or of baseline.")
]
Command = Annotated[bool, typer.Option("--command", help="Only each arm's `vllm serve` line, for a shell.")]


def render(
    files: Files,
    drafter: Drafter = None,
    command: Command = False,
    output: Form = "yaml",
    vllm_version: VllmVersion = None,
    catalog: Catalog = None,
) -> None:
    """Print the child objects that would be applied at first sight, without a cluster.

    Drafters that can't run are named on stderr and left out.
    """
    told, readable = _readable(files, version_of(vllm_version), catalogue_of(catalog))
    if drafter is not None and not any(drafter in (BASELINE, *spec.names()) for _, spec in readable):
        usage(f"--drafter: no SpecDeployment here has a drafter {drafter!r} that can run")
    if command:
        for line in _commands(readable, drafter):
            typer.echo(line)
    else:
        _print([child for read, spec in readable for child in _children(read, spec, drafter)], output)
    if told:
        raise typer.Exit(FAILED)


def _readable(
    files: list[str], version: Version | None, extra: tuple[Target, ...]
) -> tuple[int, list[tuple[Read, Spec]]]:
    """How many errors were told, and the specs that can be rendered with the drafters that can run."""
    from specdeploy.cli.reading import NoFileError, contents, sources  # noqa: PLC0415

    told, objects, readable = 0, 0, []
    try:
        for source in sources(files):
            held = contents(source)
            told += _tell(held.broken)
            objects += len(held.objects)
            for read in held.objects:
                spec, errors = _checked(read, version, extra)
                told += errors
                readable += [(read, spec)] if spec is not None else []
    except NoFileError as error:
        usage(str(error))
    if not objects and not told:
        usage(nothing_in(files))
    return told, readable


def _checked(read: Read, version: Version | None, extra: tuple[Target, ...]) -> tuple[Spec | None, int]:
    """The spec with the drafters that can run, None if it can't serve as it is; and how many errors."""
    from specdeploy.api.rule import errors  # noqa: PLC0415
    from specdeploy.cli.checking import check  # noqa: PLC0415
    from specdeploy.cli.reading.rules import MISSING_FIELD  # noqa: PLC0415

    told = _tell(read.found)
    if read.spec is None:
        return None, told
    checked = check(read, read.spec, asked=version, extra=extra)
    told += _tell(read.locate_in_spec(finding) for finding in checked.findings)
    if not read.whole:
        return None, told
    if not read.name:
        nameless = MISSING_FIELD.at("metadata.name", "names every child; generateName can't", "write a name")
        return None, told + _tell([read.locate(nameless)])
    if errors(checked.on_spec):
        return None, told
    good = [each for each in read.spec.drafters or [] if each.name not in checked.invalid()]
    return read.spec.model_copy(update={"drafters": good}), told


def _tell(found: Any) -> int:
    """Errors on stderr; how many."""
    from specdeploy.api.rule import Severity  # noqa: PLC0415
    from specdeploy.cli.lint_forms import line  # noqa: PLC0415

    wrong = [each for each in found if each.finding.severity is Severity.ERROR]
    for each in wrong:
        typer.echo(line(each), err=True)
    return len(wrong)


def _children(read: Read, spec: Spec, only: str | None) -> Iterator[Child]:
    from specdeploy.cli.rendering import arms, frame, offline  # noqa: PLC0415
    from specdeploy.manifests.owner import Owner  # noqa: PLC0415

    owner = Owner(read.name, read.namespace or "", "")
    listed = [] if only else [*frame(owner, spec)]
    listed += [child for name, child in arms(owner, spec).items() if only in (None, name)]
    return (offline(child) for child in listed)


def _commands(readable: list[tuple[Read, Spec]], only: str | None) -> Iterator[str]:
    from specdeploy.cli.rendering import command  # noqa: PLC0415

    for read, spec in readable:
        for drafter in (None, *(spec.drafters or [])):
            arm = drafter.name if drafter else BASELINE
            if only in (None, arm):
                yield f"# {read.name} {arm}"
                yield command(spec, drafter)


def _print(listed: list[Child], output: str) -> None:
    if output == "json":
        items = [child.body for child in listed]
        typer.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2))
    elif listed:
        _print_yaml(listed)


def _print_yaml(listed: list[Child]) -> None:
    import yaml  # noqa: PLC0415

    from specdeploy.cli.rendering import NOTE  # noqa: PLC0415

    dumper: Any = type("Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
    dumper.add_representer(str, _written)
    typer.echo(f"# {NOTE}")
    for child in listed:
        text = yaml.dump(child.body, Dumper=dumper, sort_keys=False, allow_unicode=True, width=_UNFOLDED)
        note = f"# {child.note}\n" if child.note else ""
        typer.echo(f"---\n{note}{text}", nl=False)


def _written(dumper: Any, text: str) -> Any:
    """A script stands line by line, as it was written."""
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
