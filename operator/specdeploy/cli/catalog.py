"""`specdeploy catalog [MODEL]`: the known drafters of a target, or a line for each target.

Exit code 0; 2: the model is not in the catalogue, or a file of one's own that can't be used.
"""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from specdeploy.cli.exits import usage, why

if TYPE_CHECKING:
    from specdeploy.engine.catalogue.entries import Target

_NEAR = 3
# To draw on where the terminal is narrower than a name.
_LEAST_COLUMNS = 40

Model = Annotated[str | None, typer.Argument(help="A target or a draft checkpoint, or a part of its name.")]
Own = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Entries of your own, beside the catalogue's.")
]
Form = Annotated[Literal["table", "json", "yaml"], typer.Option("--output", "-o", help="Form of the answer.")]


def catalog(model: Model = None, catalog: Own = None, output: Form = "table") -> None:
    """The known drafters of a target: tokens to begin with, what was measured, what each needs."""
    # Imported here: the other commands start fast without it.
    from specdeploy.engine.catalogue.load import CatalogueError, targets, with_extra  # noqa: PLC0415

    try:
        own = load_file(catalog) if catalog else ()
    except CatalogueError as error:
        usage(f"--catalog: {error}")
    known = with_extra(targets(), own)
    found = named(known, model) if model else known
    if not found:
        usage(f"the catalogue has no {model}; {_near(known, model or '')}")
    _print(found, output)


def load_file(path: Path) -> tuple[Target, ...]:
    """The entries of a user's own catalogue file, in the form of the package's.

    Raises:
        CatalogueError: it can't be read or is no such file; the text says which entry, which field, and why.
    """
    import yaml  # noqa: PLC0415

    from specdeploy.cli.reading.plain import mistake, said_of  # noqa: PLC0415
    from specdeploy.engine.catalogue.load import CatalogueError, read_entries  # noqa: PLC0415

    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CatalogueError(f"{path}: it is no UTF-8 text") from error
    except (OSError, ValueError) as error:
        raise CatalogueError(f"{path}: {why(error)}") from error
    if wrong := mistake(text):
        raise CatalogueError(f"{path}:{wrong}")
    try:
        return read_entries(text, str(path))
    except CatalogueError as error:
        if isinstance(error.__cause__, yaml.YAMLError):
            raise CatalogueError(f"{path}:{said_of(error.__cause__, text)}") from error
        raise


def named(known: tuple[Target, ...], model: str) -> tuple[Target, ...]:
    """The target of that name; else those with it in their name; else those with such a drafter; else what is
    known of it as another build of a target."""
    wanted = model.lower()
    return (
        tuple(each for each in known if each.model == model)
        or tuple(each for each in known if wanted in each.model.lower())
        or tuple(each for each in known if any(wanted in (d.model or "").lower() for d in each.drafters))
        or _as_build(known, model)
    )


def _as_build(known: tuple[Target, ...], model: str) -> tuple[Target, ...]:
    from specdeploy.engine.catalogue.variants import as_build, original_of  # noqa: PLC0415

    original = original_of(model, known)
    return (as_build(original, model),) if original else ()


def _near(known: tuple[Target, ...], model: str) -> str:
    """Names like it, by the part after the maker's; else where they all are."""
    names = {each.model.rpartition("/")[2].lower(): each.model for each in known}
    near = difflib.get_close_matches(model.rpartition("/")[2].lower(), names, n=_NEAR, cutoff=0.5)
    return f"near: {', '.join(names[each] for each in near)}" if near else "specdeploy catalog lists all"


def _print(found: tuple[Target, ...], output: str) -> None:
    if output == "table":
        from rich.console import Console  # noqa: PLC0415

        from specdeploy.cli import catalog_show, drawing  # noqa: PLC0415

        columns = max(_LEAST_COLUMNS, drawing.columns())
        shown = catalog_show.listing(found, columns) if len(found) > 1 else catalog_show.entry(found[0])
        drawing.put(Console(width=columns), shown)
    elif output == "json":
        typer.echo(json.dumps([_plain(each) for each in found], indent=2, ensure_ascii=False))
    else:
        import yaml  # noqa: PLC0415

        plain = [_plain(each) for each in found]
        typer.echo(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), nl=False)


def _plain(target: Target) -> Any:
    """As in the catalogue's files: what is unknown or empty is left out."""
    import msgspec  # noqa: PLC0415

    return _filled(msgspec.to_builtins(target, str_keys=True))


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _filled(each) for key, each in value.items() if each not in (None, "", [], {}, ())}
    return [_filled(each) for each in value] if isinstance(value, list | tuple) else value
