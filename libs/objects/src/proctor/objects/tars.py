"""Reading the tars that artifacts are stored as. Nothing is unpacked: they hold what an agent wrote."""

import io
import tarfile
from typing import NamedTuple


class Member(NamedTuple):
    path: str
    size: int


def list_members(data: bytes) -> list[Member]:
    """The files of an artifact, sorted by path."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return sorted(Member(info.name, info.size) for info in archive if info.isfile())


def read_member(data: bytes, path: str) -> bytes | None:
    """One file's content, None when there is none of that path."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            if info.isfile() and info.name == path:
                source = archive.extractfile(info)
                return source.read() if source else b""
    return None
