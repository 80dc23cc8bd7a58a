"""Reads the catalogue: all files for `catalog`, for a lookup only those that name what is asked for."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import msgspec
import yaml

from .entries import Target
from .problems import problems
from .variants import build_of

# libyaml's reader is some ten times as fast; where it is missing, the plain one reads the same.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, eq=False)
class Own:
    """A user's own entries, beside the catalogue's. The same only as itself: caches are keyed by it."""

    targets: tuple[Target, ...] = ()


NONE_OWN = Own()


class CatalogueError(ValueError):
    """A catalogue file that can't be used; the text says which entry, which field, and why."""


def targets() -> tuple[Target, ...]:
    """Every target of the catalogue, in the order of the files."""
    return tuple(target for name in _texts() for target in _file(name))


@lru_cache(maxsize=1024)
def about(names: frozenset[str]) -> tuple[Target, ...]:
    """The targets of each file that mentions one of `names`, models or draft checkpoints, or another build
    of one."""
    index = _index()
    mention = {name for each in names for name in index.get(build_of(each).model, ())}
    return tuple(target for name in _texts() if name in mention for target in _file(name))


def read_entries(text: str, name: str) -> tuple[Target, ...]:
    """The targets of a catalogue file's text. `name`: what to call the file in errors.

    Raises:
        CatalogueError: it is no YAML, or an entry does not have the form of `entries`.
    """
    try:
        entries = yaml.load(text, Loader=_Loader)  # noqa: S506 (both loaders are safe ones)
    except yaml.YAMLError as error:
        raise CatalogueError(f"{name}: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list):
        raise CatalogueError(f"{name}: it is no list of targets; begin each with '- model: '")
    return tuple(_entry(entry, f"{name}: entry {index}") for index, entry in enumerate(entries, 1))


def with_extra(known: Iterable[Target], extra: tuple[Target, ...]) -> tuple[Target, ...]:
    """The catalogue with a user's own entries: what one says of a target that is known goes before what is
    known of it, and its drafters come first."""
    own = {target.model: target for target in extra}
    merged = [_merged(own.pop(target.model, None), target) for target in known]
    return (*own.values(), *merged)


def _merged(own: Target | None, known: Target) -> Target:
    if own is None:
        return known
    fields = own.__struct_fields__
    said = {field: value for field in fields if (value := getattr(own, field)) not in (None, ())}
    named = {(each.method, each.model) for each in own.drafters}
    rest = (each for each in known.drafters if (each.method, each.model) not in named)
    return msgspec.structs.replace(known, **{**said, "drafters": (*own.drafters, *rest)})


def _entry(entry: object, place: str) -> Target:
    model = entry.get("model") if isinstance(entry, dict) else None
    try:
        return msgspec.convert(entry, Target)
    except msgspec.ValidationError as error:
        called = f" ({model})" if isinstance(model, str) else ""
        raise CatalogueError(f"{place}{called}: {'; '.join(problems(entry, Target))}") from error


@cache
def _texts() -> dict[str, str]:
    folder = files(__package__) / "data"
    found = sorted((each for each in folder.iterdir() if each.name.endswith(".yaml")), key=lambda e: e.name)
    return {each.name: each.read_text(encoding="utf-8") for each in found}


@cache
def _index() -> dict[str, frozenset[str]]:
    """The files that mention a model, by its name without owner and precision; no file is parsed for it."""
    index: dict[str, frozenset[str]] = {}
    for name, text in _texts().items():
        for model in {build_of(each).model for each in re.findall(r"model: (\S+)\n", text)}:
            index[model] = index.get(model, frozenset()) | {name}
    return index


@cache
def _file(name: str) -> tuple[Target, ...]:
    return read_entries(_texts()[name], name)
