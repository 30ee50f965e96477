"""What a task wants kept of a sandbox: `artifacts` entries and `[[verifier.collect]]` commands."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Final, Self

from pydantic import AfterValidator, field_validator, model_validator

from proctor.tasks.table import Table

User = str | int | None

MAIN_SERVICE: Final = "main"
_SERVICE: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_.-]*")
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[/\\]")


def _service(value: str) -> str:
    name = value.strip()
    if not _SERVICE.fullmatch(name):
        raise ValueError(f"{value!r} is not a Compose service name: letters, digits, '-', '_' and '.'")
    return name


def _source(value: str) -> str:
    if ".." in PurePosixPath(value).parts:
        raise ValueError(f"{value!r} must not contain '..'")
    return value


Service = Annotated[str, AfterValidator(_service)]
Source = Annotated[str, AfterValidator(_source)]


class ArtifactConfig(Table):
    source: Source
    destination: str | None = None
    exclude: tuple[str, ...] = ()
    service: Service | None = None

    @field_validator("destination")
    @classmethod
    def _relative(cls, value: str | None) -> str | None:
        if not value:
            return None
        path = PurePosixPath(value)
        if "\\" in value or path.is_absolute() or not path.parts or ".." in path.parts:
            raise ValueError(f"{value!r} must be a relative path with forward slashes and no '..'")
        if value.rstrip("/") == "manifest.json":
            raise ValueError("'manifest.json' is the name of the list of artifacts; choose another")
        return value

    @model_validator(mode="after")
    def _sidecars_have_no_workdir(self) -> Self:
        if self.service not in {None, MAIN_SERVICE} and not _ABSOLUTE.match(self.source):
            raise ValueError(f"source {self.source!r} of service {self.service!r} must be an absolute path")
        return self


Artifacts = tuple[Source | ArtifactConfig, ...]


class CollectConfig(Table):
    command: str
    service: Service = MAIN_SERVICE
    timeout_sec: float = 60.0
    user: User = None
