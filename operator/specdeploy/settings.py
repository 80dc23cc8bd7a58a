"""The operator's settings, from the environment (the chart sets it). A wrong one is one clear line."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.fields import FieldInfo

from specdeploy.engine.catalogue.load import NONE_OWN, CatalogueError, Own, read_entries

PREFIX = "SPECDEPLOY_"
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class SettingsError(ValueError):
    """An environment variable has a value that can't be used."""


class Settings(BaseModel):
    """Every knob. The variable's name is the field's in capitals, after `SPECDEPLOY_`."""

    model_config = ConfigDict(frozen=True)

    namespaces: tuple[str, ...] = Field((), description="Namespaces to watch; empty: all.")
    max_trials: Annotated[int, Field(ge=1, le=1000)] = Field(4, description="Trials at once in the cluster.")
    workers: Annotated[int, Field(ge=1, le=64)] = Field(8, description="Passes at once.")
    listen: str = Field("0.0.0.0:8080", description="Where /metrics, /healthz and /readyz answer.")
    log_format: Literal["json", "plain"] = Field("plain", description="Form of log lines.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Least level logged.")
    engine_image: str = Field("", description="Engine image where a spec names none; empty: the built-in.")
    catalog: str = Field("", description="File with entries beside the catalogue's own; empty: none.")

    @field_validator("namespaces", mode="before")
    @classmethod
    def _comma_list(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("namespaces")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        wrong = next((name for name in value if not _NAMESPACE.fullmatch(name)), None)
        if wrong is not None:
            raise ValueError(f"{wrong!r} is no name of a namespace; write names with commas between them")
        return value

    @field_validator("engine_image")
    @classmethod
    def _one_word(cls, value: str) -> str:
        if any(character.isspace() for character in value):
            raise ValueError("write one image reference, without spaces")
        return value

    @field_validator("log_format", "log_level", mode="before")
    @classmethod
    def _lower(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value

    @field_validator("listen")
    @classmethod
    def _host_and_port(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if not host or not port.isdigit() or not 0 <= int(port) <= 65535:
            raise ValueError("write host:port")
        return value

    @property
    def address(self) -> tuple[str, int]:
        """Host and port to listen on."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def load(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings. Raises SettingsError with the variable's name, why, and what it may be."""
    given = {
        name: environment[variable(name)]
        for name in Settings.model_fields
        if environment.get(variable(name), "") != ""
    }
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        field: FieldInfo = Settings.model_fields[name]
        text = f"{variable(name)}={given.get(name)!r}: {first['msg']} ({field.description})"
        raise SettingsError(text) from None


def own_catalogue(settings: Settings) -> Own:
    """The entries of `settings.catalog`. Raises SettingsError: which entry, which field, why."""
    if not settings.catalog:
        return NONE_OWN
    try:
        return Own(read_entries(Path(settings.catalog).read_text(encoding="utf-8"), settings.catalog))
    except (OSError, UnicodeDecodeError, CatalogueError) as error:
        raise SettingsError(f"{variable('catalog')}: {error}") from None


def variable(field: str) -> str:
    """The environment variable of a field."""
    return PREFIX + field.upper()
