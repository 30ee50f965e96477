"""Files of an attempt, out of the tar objects that its phases left."""

import asyncio
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, BinaryIO, Final, NamedTuple, cast

from proctor.objects import ObjectMissing, Objects
from proctor.service.errors import NotFound

IN_MEMORY_BYTES: Final = 8 * 1024 * 1024
PHASES: Final = {"agent": "agent_artifacts", "verifier": "verifier_artifacts"}


type Reader[Found] = Callable[[BinaryIO], Found]


class Listed(NamedTuple):
    phase: str
    path: str
    size: int


def phases(row: Mapping[str, Any]) -> dict[str, str]:
    """Phase -> object of a result: `agent`, `verifier`, and from the second step on `agent-2`, `verifier-2` ..."""
    return {
        phase if step == 1 else f"{phase}-{step}": name
        for phase, column in PHASES.items()
        for step, name in enumerate(cast("Sequence[str]", row[column]), start=1)
    }


async def listing(objects: Objects, names: Mapping[str, str]) -> list[Listed]:
    return [
        Listed(phase, path, size) for phase, name in names.items() for path, size in await _read(objects, name, _list)
    ]


async def content(objects: Objects, name: str, path: str) -> bytes:
    """One file's bytes. Raises `NotFound`."""
    found = await _read(objects, name, lambda file: _extract(file, path))
    if found is None:
        raise NotFound(f"there is no file {path!r} in this phase")
    return found


def media_type(data: bytes) -> str:
    """Only ever one that a browser doesn't run."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "application/octet-stream" if "\0" in text else "text/plain"


async def _read[Found](objects: Objects, name: str, read: Reader[Found]) -> Found:
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as spool:
        file = cast("BinaryIO", spool)
        try:
            await objects.get_into(name, file)
        except ObjectMissing as error:
            raise NotFound("these artifacts are no longer stored") from error
        return await asyncio.to_thread(read, file)


def _list(file: BinaryIO) -> list[tuple[str, int]]:
    with tarfile.open(fileobj=file) as archive:
        return [(_path(member), member.size) for member in archive if member.isreg()]


def _extract(file: BinaryIO, path: str) -> bytes | None:
    """The last member of that path, as unpacking would leave it."""
    with tarfile.open(fileobj=file) as archive:
        found = [member for member in archive if member.isreg() and _path(member) == path]
        stream = archive.extractfile(found[-1]) if found else None
        return stream.read() if stream else None


def _path(member: tarfile.TarInfo) -> str:
    """Bytes that aren't UTF-8 show as U+FFFD, as they arrive when a path is asked for."""
    name = member.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return str(PurePosixPath(name.replace("\0", "\N{REPLACEMENT CHARACTER}")))
