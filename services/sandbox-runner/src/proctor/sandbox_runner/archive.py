"""Tars of what goes into a sandbox and of what comes out of it."""

import io
import posixpath
import tarfile
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

_LATEST: Final = 8**11
_UNREADABLE: Final = (tarfile.TarError, ValueError, OverflowError, EOFError, OSError, RecursionError)


class Merged(NamedTuple):
    """`whole`: every part could be read to its end."""

    data: bytes
    files: int
    whole: bool


@dataclass(slots=True)
class _Member:
    """`content` is that of a file, `target` that of a symbolic link; a folder has neither."""

    name: str
    mode: int
    mtime: float
    content: bytes | None = None
    target: str | None = None

    def header(self, prefix: str) -> tarfile.TarInfo:
        info = tarfile.TarInfo(f"{prefix}/{self.name}".strip("/"))
        info.mode = (self.mode & 0o777) | 0o600
        info.mtime = int(self.mtime) if 0 <= self.mtime < _LATEST else 0
        if self.target is not None:
            info.type, info.linkname = tarfile.SYMTYPE, self.target
        elif self.content is None:
            info.type, info.mode = tarfile.DIRTYPE, info.mode | 0o700
        else:
            info.size = len(self.content)
        return info


def folder_tar(*folders: Path) -> bytes:
    """The content of the folders, later ones over earlier ones. It is root's, and every `*.sh` is executable."""
    entries: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            entries[path.relative_to(folder).as_posix()] = path
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in entries.items():
            archive.add(path, name, recursive=False, filter=_of_root)
    return buffer.getvalue()


def _of_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    if info.name.endswith(".sh"):
        info.mode |= 0o111
    return info


def file_tar(name: str, data: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def merge(parts: Iterable[tuple[str, bytes]], *, links: bool = False) -> Merged:
    """One tar of several, each below its prefix. What comes out of a sandbox is hostile: its members are made anew,
    the first of a name counts, and only files and folders are kept. `links` keeps symbolic links as well, those that
    stay inside their part: any other could show a verifier its own secrets as the agent's work."""
    buffer, names, files, whole = io.BytesIO(), set[str](), 0, True
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for prefix, data in parts:
            try:
                for member in _members(data, links=links):
                    header = member.header(prefix)
                    if header.name not in names:
                        names.add(header.name)
                        archive.addfile(header, io.BytesIO(member.content or b""))
                        files += member.content is not None
            except _UNREADABLE:
                whole = False
    return Merged(buffer.getvalue(), files, whole)


def is_file(data: bytes, name: str) -> bool:
    """Whether a tar holds one file of that name and nothing else; that of a folder begins with the folder itself."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = list(islice(archive, 2))
    except _UNREADABLE:
        return False
    return len(members) == 1 and members[0].isfile() and _inside(members[0].name) == name


def read_files(data: bytes, names: Container[str], limit: int) -> dict[str, bytes]:
    """The named files of a tar of ours that are at most `limit` bytes."""
    files = ((member.name, member.content) for member in _members(data) if member.name in names)
    return {name: content for name, content in files if content is not None and len(content) <= limit}


def _members(data: bytes, *, links: bool = False) -> Iterator[_Member]:
    """Raises one of `_UNREADABLE`, also for a sparse file: a few bytes of tar may stand for terabytes, and so may a
    compressed tar, which is not even tried."""
    linked = set[str]()
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for info in archive:
            name = _inside(info.name)
            if info.issparse() or info.size < 0:  # after a negative size the same members would come again for ever
                raise tarfile.ReadError(f"{info.name} is sparse or has no size")
            if not name or any(parent in linked for parent in _parents(name)):
                continue
            if info.isdir():
                yield _Member(name, info.mode, info.mtime)
            elif info.isfile():
                source = archive.extractfile(info)
                yield _Member(name, info.mode, info.mtime, content=source.read() if source else b"")
            elif links and info.issym() and _stays(name, info.linkname):
                linked.add(name)
                yield _Member(name, info.mode, info.mtime, target=info.linkname)


def _inside(name: str) -> str:
    """The name without what leads out of a folder; empty when it is the folder itself or does lead out."""
    parts = [part for part in name.split("/") if part not in {"", "."}]
    return "" if ".." in parts else "/".join(parts)


def _parents(name: str) -> Iterator[str]:
    while name := posixpath.dirname(name):
        yield name


def _stays(name: str, target: str) -> bool:
    """Whether a link leads nowhere out of its tar. A `..` after a name could climb out by another link."""
    climb = [part for part in target.split("/") if part not in {"", "."}]
    while climb and climb[0] == "..":
        climb.pop(0)
    place = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return not target.startswith("/") and ".." not in climb and not place.startswith("..")
