"""`specdeploy`, and `kubectl specdeploy`: errors are one line on stderr and a non-zero exit."""

import asyncio
import logging
import sys
from typing import NoReturn

import typer

from specdeploy.api.crd import as_yaml

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Serve vLLM with the drafter that has proven itself on your own live traffic.",
)


@app.command()
def run() -> None:
    """The operator. Its settings are SPECDEPLOY_* variables."""
    from specdeploy import app as operator_app  # noqa: PLC0415 - the CLI starts fast without it
    from specdeploy.cluster import ClusterError  # noqa: PLC0415
    from specdeploy.logs import set_up  # noqa: PLC0415
    from specdeploy.preflight import PreflightError  # noqa: PLC0415
    from specdeploy.settings import SettingsError, load  # noqa: PLC0415

    try:
        settings = load()
        set_up(settings.log_format, settings.log_level)
        asyncio.run(operator_app.run(settings))
    except (SettingsError, PreflightError, ClusterError, OSError) as error:
        fail(str(error))


@app.command()
def crd() -> None:
    """Print the CustomResourceDefinition."""
    sys.stdout.write(as_yaml())


@app.callback()
def _group() -> None:
    """Keep `run` a command even while there are few."""


def fail(message: str) -> NoReturn:
    """One line, exit 1."""
    typer.echo(f"specdeploy: {message}", err=True)
    raise typer.Exit(1)


def main() -> None:
    """The console script."""
    logging.captureWarnings(True)
    app()
