"""Reading the tars that artifacts are stored as. Nothing is unpacked: they hold what an agent wrote. What isn't a
whole, uncompressed tar raises `tarfile.TarError`."""

import io
import tarfile
from typing import NamedTuple


class Member(NamedTuple):
    path: str
    size: int


def list_members(data: bytes) -> list[Member]:
    """The files of an artifact, sorted by path."""
    with _opened(data) as archive:
        return sorted(Member(info.name, info.size) for info in archive if _is_file(info))


def read_member(data: bytes, path: str) -> bytes | None:
    """One file's content, None when there is none of that path."""
    with _opened(data) as archive:
        for info in archive:
            if _is_file(info) and info.name == path:
                source = archive.extractfile(info)
                return source.read() if source else b""
    return None


def _opened(data: bytes) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(data), mode="r:")


def _is_file(info: tarfile.TarInfo) -> bool:
    """A sparse file isn't one: its holes would be made of memory."""
    return info.isfile() and not info.issparse()
