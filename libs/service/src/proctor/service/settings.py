"""Settings from `PROCTOR_*`, read once at the start of a process."""

import os
import socket
import sys
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, get_args, get_origin

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, SettingsConfigDict

PREFIX: Final = "PROCTOR_"
CANNOT_BE_READ: Final = 2
"""The exit code of a process whose settings are invalid: starting it again changes nothing."""

_BOUNDS: Final = {"ge": "from", "gt": "over", "le": "to", "lt": "under"}


def default_home() -> Path:
    if os.geteuid() == 0:
        return Path("/var/lib/proctor")
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "proctor"


class Settings(BaseSettings):
    """What services share; a service adds its own by subclassing."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    home: Path = Field(default_factory=default_home)
    nats_url: str = "nats://127.0.0.1:4222"
    database_url: str = ""
    installation: str = "default"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["json", "text"] = "json"
    ready_file: Path | None = None

    @cached_property
    def host(self) -> str:
        return socket.gethostname()


def read_settings[S: Settings](kind: type[S]) -> S:
    """The settings of this process. What is invalid is named in one line on stderr, with what is allowed, and the
    process exits 2."""
    try:
        return kind()
    except ValidationError as error:
        problems = "; ".join(_problem(kind, one["loc"], one["input"], one["msg"]) for one in error.errors())
        sys.stderr.write(f"proctor: {problems}\n")
        sys.exit(CANNOT_BE_READ)


def _problem(kind: type[Settings], loc: tuple[int | str, ...], value: object, message: str) -> str:
    key = str(loc[0])
    by_key = {str(field.validation_alias or name): field for name, field in kind.model_fields.items()}
    name = key if key.startswith(PREFIX) else f"{PREFIX}{key.upper()}"
    return f"{name} is {value!r}: {_allowed(by_key.get(key)) or message}"


def _allowed(field: FieldInfo | None) -> str | None:
    """None where the type says too little."""
    if field is not None and get_origin(field.annotation) is Literal:
        return f"it must be one of {', '.join(map(str, get_args(field.annotation)))}"
    if field is not None and field.annotation is int:
        bounds = [
            f"{word} {limit}"
            for one in field.metadata
            for key, word in _BOUNDS.items()
            if (limit := getattr(one, key, None)) is not None
        ]
        return " ".join(["it must be a whole number", *bounds])
    return None
