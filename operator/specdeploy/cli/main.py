"""`specdeploy`, and `kubectl specdeploy`: errors are one line on stderr and a non-zero exit."""

import atexit
import gc
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from specdeploy.api.names import ANNOTATION_ABORT, ANNOTATION_PAUSED, ANNOTATION_RETRY
from specdeploy.cli import exits
from specdeploy.cli.catalog import catalog
from specdeploy.cli.lint import lint
from specdeploy.cli.render import render
from specdeploy.cli.replay import replay
from specdeploy.cli.simulate import simulate

# What a command needs is imported where it runs: `lint` and `render` answer in a blink only without the
# Kubernetes client, the judge and the rest.
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Serve vLLM with the drafter that has proven itself on your own live traffic.",
)

Name = Annotated[str, typer.Argument(help="Name of the SpecDeployment.")]
Drafter = Annotated[str | None, typer.Argument(help="Only this drafter.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Default: the kubeconfig's.")]
Form = Annotated[Literal["table", "json", "yaml"], typer.Option("--output", "-o", help="Form of the answer.")]


def _version(asked: bool) -> None:
    if asked:
        from specdeploy import __version__  # noqa: PLC0415

        typer.echo(f"specdeploy {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_version, is_eager=True, help="Print the version, and nothing else."),
]


@app.callback()
def specdeploy(version: Version = False) -> None:
    """Options that belong to no command."""


@app.command()
def run() -> None:
    """The operator. Its settings are SPECDEPLOY_* variables."""
    with reported():
        import asyncio  # noqa: PLC0415

        from specdeploy import app as operator_app  # noqa: PLC0415
        from specdeploy.logs import set_up  # noqa: PLC0415
        from specdeploy.settings import load  # noqa: PLC0415

        settings = load()
        set_up(settings.log_format, settings.log_level)
        asyncio.run(operator_app.run(settings))


@app.command()
def crd() -> None:
    """Print the CustomResourceDefinition."""
    from specdeploy.api.crd import as_yaml  # noqa: PLC0415

    sys.stdout.write(as_yaml())


Everywhere = Annotated[bool, typer.Option("--all-namespaces", "-A", help="In all namespaces.")]


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(help="Only this one.")] = None,
    namespace: Namespace = "",
    everywhere: Everywhere = False,
    output: Form = "table",
) -> None:
    """One look at the SpecDeployments of a namespace, or at one."""
    with reported():
        from specdeploy.cli import ask  # noqa: PLC0415

        space = "" if everywhere and not name else namespace or ask.current_namespace()
        found = [ask.read_one(space, name)] if name else ask.read_all(space)
    _print(found, output, lambda _: _show().listing(found))


@app.command()
def explain(name: Name, namespace: Namespace = "", output: Form = "table") -> None:
    """Why it is as it is: the trial with its interval, every verdict, the numbers."""
    with reported():
        found = _one(name, namespace)
    _print(found, output, lambda columns: _show().explanation(found, columns))


@app.command()
def plot(name: Name, output: Annotated[Path, typer.Option("--output", "-o", help="File, .svg.")],
         namespace: Namespace = "") -> None:  # fmt: skip
    """The trials' windows, intervals and verdicts as a picture (SVG)."""
    with reported():
        from specdeploy.api.findings import read_status  # noqa: PLC0415
        from specdeploy.cli import plot as pictures  # noqa: PLC0415

        found = _one(name, namespace)
        shown = pictures.panels(read_status(found.get("status"))[0])
    if not shown:
        exits.fail(f"{name}: no trial has measured a window yet")
    exits.write(output, pictures.svg(f"{name}: speed relative to the baseline", shown), "--output")
    typer.echo(f"wrote {output}")


@app.command()
def abort(name: Name, drafter: Drafter = None, namespace: Namespace = "") -> None:
    """End the trial that runs, or take back a promotion under way; not tried again until you say retry."""
    _verb(ANNOTATION_ABORT, name, drafter, namespace)


@app.command()
def retry(name: Name, drafter: Drafter = None, namespace: Namespace = "") -> None:
    """Let a drafter (or all) be tried again."""
    _verb(ANNOTATION_RETRY, name, drafter, namespace)


@app.command()
def pause(name: Name, namespace: Namespace = "") -> None:
    """No trial starts, nothing is promoted; rollback stays on."""
    _annotate(name, namespace, {ANNOTATION_PAUSED: "true"}, "paused")


@app.command()
def resume(name: Name, namespace: Namespace = "") -> None:
    """End a pause."""
    _annotate(name, namespace, {ANNOTATION_PAUSED: None}, "resumed")


app.command()(lint)
app.command()(render)
app.command()(catalog)
app.command()(replay)
app.command()(simulate)


def _verb(annotation: str, name: str, drafter: str | None, namespace: str) -> None:
    value = order_value(datetime.now(UTC), drafter)
    _annotate(name, namespace, {annotation: value}, f"asked for {annotation.rpartition('/')[2]} {value}")


def order_value(moment: datetime, drafter: str | None) -> str:
    """An order as its annotation says it, to the microsecond: two in one second differ. `moment`: in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ") + (f"/{drafter}" if drafter else "")


def _annotate(name: str, namespace: str, annotations: dict[str, str | None], said: str) -> None:
    with reported():
        from specdeploy.cli import ask  # noqa: PLC0415

        ask.annotate(namespace or ask.current_namespace(), name, annotations)
    typer.echo(f"{name}: {said}")


def _one(name: str, namespace: str) -> dict[str, Any]:
    from specdeploy.cli import ask  # noqa: PLC0415

    return ask.read_one(namespace or ask.current_namespace(), name)


def _show() -> Any:
    from specdeploy.cli import show  # noqa: PLC0415

    return show


def _print(found: Any, output: str, table: Callable[[int], Any]) -> None:
    import yaml  # noqa: PLC0415

    if output == "json":
        typer.echo(json.dumps(found, indent=2))
    elif output == "yaml":
        typer.echo(yaml.safe_dump(found, sort_keys=False), nl=False)
    else:
        from specdeploy.cli import drawing  # noqa: PLC0415

        columns = drawing.columns()
        shown = table(columns)
        drawing.put(_show().console_for(shown, columns), shown)


@contextmanager
def reported() -> Iterator[None]:
    """Whatever a user can cause ends as one line: exit code 1 where the cluster says no, 2 where it or its
    object can't be asked."""
    from specdeploy.cluster import ClusterError, NotFound, Unavailable  # noqa: PLC0415
    from specdeploy.preflight import PreflightError  # noqa: PLC0415

    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        exits.usage(exits.why(error))
    except (NotFound, Unavailable, ValueError) as error:
        exits.usage(str(error))
    except (PreflightError, ClusterError) as error:
        exits.fail(str(error))


def main() -> None:
    """The console script. What a terminal's encoding lacks is escaped."""
    exits.open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # Python looks for garbage once more as it ends, a tenth of what `render` takes; the process goes anyway.
    atexit.register(gc.freeze)
    with exits.answering():
        app()
