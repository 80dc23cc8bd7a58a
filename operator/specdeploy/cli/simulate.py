"""`specdeploy simulate`: a whole rollout in virtual time; needs no cluster.

Exit code 0: it ran; 2: a bad option, or a scenario that does not exist or can't be run.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from specdeploy.cli.exits import usage, why, write

if TYPE_CHECKING:
    from specdeploy.simulation.record import Run

_PIPED = 140
_LEAST_SECONDS, _MOST_SECONDS = 600.0, 60 * 86400.0

Which = Annotated[
    str | None,
    typer.Argument(metavar="[SCENARIO]", help="A shipped scenario's name, or a YAML file. None: list them."),
]
Windows = Annotated[bool, typer.Option("--windows", help="With a table of all windows.")]
Form = Annotated[Literal["table", "json", "yaml"], typer.Option("--output", "-o", help="Form of the answer.")]
Plot = Annotated[Path | None, typer.Option(metavar="F.svg", help="Draw the run into this file.")]
Seed = Annotated[int | None, typer.Option(help="Another seed than the scenario's.")]
Duration = Annotated[
    str | None, typer.Option(help="Another duration than the scenario's, such as 36h or 7d.")
]


def simulate(
    scenario: Which = None,
    windows: Windows = False,
    output: Form = "table",
    plot: Plot = None,
    seed: Seed = None,
    duration: Duration = None,
) -> None:
    """A whole rollout in virtual time: the operator's own rollout and judge over simulated engines.

    Without a scenario: the list of those that are shipped.
    """
    # Imported here: the other commands start fast without it.
    from specdeploy.cli import rollout_picture, rollout_show  # noqa: PLC0415
    from specdeploy.simulation import report  # noqa: PLC0415

    if scenario is None:
        listed = _listed()
        _answer(listed, output, lambda: rollout_show.listing(listed))
        return
    run = _run(scenario, seed, duration)
    if plot is not None:
        write(plot, rollout_picture.svg(run), "--plot")
    found = report.as_dict(run, windows=windows)
    _answer(found, output, lambda: rollout_show.whole(run, windows=windows))


def _run(which: str, seed: int | None, lasting: str | None) -> "Run":
    import yaml  # noqa: PLC0415

    from specdeploy.cli.reading.plain import mistake, said_of  # noqa: PLC0415
    from specdeploy.simulation.reading import read_scenario  # noqa: PLC0415
    from specdeploy.simulation.run import Simulation  # noqa: PLC0415

    text, where = _read(which)
    if wrong := mistake(text):
        usage(f"{where}:{wrong}")
    try:
        scenario, spec = read_scenario(text, where)
    except yaml.YAMLError as error:
        usage(f"{where}:{said_of(error, text)}")
    except ValueError as error:
        usage(str(error))
    update: dict[str, Any] = {} if seed is None else {"seed": seed}
    if lasting is not None:
        update["duration"] = _seconds(lasting)
    return Simulation(scenario.model_copy(update=update), spec).run()


def _seconds(lasting: str) -> float:
    from specdeploy.simulation.scenario import duration  # noqa: PLC0415

    try:
        seconds = float(duration(lasting))
    except ValueError as error:
        usage(f"--duration: {error}")
    if not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        usage(f"--duration: {lasting} is not between 10m and 60d")
    return seconds


def _read(which: str) -> tuple[str, str]:
    """The scenario's text and what to call it."""
    from specdeploy.simulation.reading import shipped  # noqa: PLC0415

    file = shipped().get(which)
    if file is not None:
        return file.read_text(encoding="utf-8"), f"{which}.yaml"
    try:
        return Path(which).read_text(encoding="utf-8"), which
    except FileNotFoundError:
        usage(f"{which} is no file and no shipped scenario; shipped are {', '.join(shipped())}")
    except UnicodeDecodeError:
        usage(f"{which} is no text; give a YAML file")
    except (OSError, ValueError) as error:
        usage(f"{which}: {why(error)}")


def _listed() -> list[dict[str, str]]:
    from specdeploy.simulation.reading import read_scenario, shipped  # noqa: PLC0415

    found = (read_scenario(file.read_text(encoding="utf-8"), name)[0] for name, file in shipped().items())
    return [{"name": scenario.name, "description": scenario.description} for scenario in found]


def _answer(found: Any, output: str, table: Callable[[], Any]) -> None:
    import yaml  # noqa: PLC0415
    from rich.console import Console  # noqa: PLC0415

    from specdeploy.cli.drawing import put  # noqa: PLC0415

    if output == "json":
        typer.echo(json.dumps(found, indent=2))
    elif output == "yaml":
        typer.echo(yaml.safe_dump(found, sort_keys=False), nl=False)
    else:
        # What is piped into a file or a pager is not cut to a terminal's width.
        console = Console()
        console.width = max(console.width, 0 if console.is_terminal else _PIPED)
        put(console, table())
