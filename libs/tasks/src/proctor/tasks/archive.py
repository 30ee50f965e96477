"""Opens a tar.gz from anyone: only files, folders and links that stay inside, within limits, or nothing at all."""

import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Buffer, Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, Self, override

from proctor.tasks.errors import TaskInvalid
from proctor.tasks.limits import Limits
from proctor.tasks.names import path_problem

_LARGEST_HEADER: Final = 64 << 10
_HEADERS: Final = frozenset(
    {tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK}
)
_KINDS: Final = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "link",
}
_REFUSED: Final = {
    tarfile.LNKTYPE: "is a hard link; pack the files themselves",
    tarfile.CHRTYPE: "is a device",
    tarfile.BLKTYPE: "is a device",
    tarfile.FIFOTYPE: "is a pipe",
    tarfile.GNUTYPE_SPARSE: "is a sparse file; pack it as a plain file",
}


def unpack(data: bytes, dest: Path, limits: Limits, check: Callable[[Path], None] | None = None) -> None:
    """Unpacks into `dest`, which must not be there yet. `check` sees the files before they are there under that
    name; when anything raises, nothing is left behind."""
    if dest.exists():
        raise FileExistsError(f"{dest} is there already")
    dest.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{dest.name}-", dir=dest.parent))
    try:
        _extract(data, staging, limits)
        if check:
            check(staging)
        staging.chmod(0o755)
        staging.rename(dest)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


class _Bounded(io.RawIOBase):
    """The decompressed bytes, refusing to grow past a limit, however small they were when packed."""

    def __init__(self, data: bytes, limit: int) -> None:
        self._stream = gzip.GzipFile(fileobj=io.BytesIO(data), mode="rb")
        self._limit = limit
        self._read = 0

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer).cast("B")
        block = self._stream.read(len(view))
        self._read += len(block)
        if self._read > self._limit:
            raise TaskInvalid(f"the package unpacks to more than {self._limit} bytes")
        view[: len(block)] = block
        return len(block)


class _Member(tarfile.TarInfo):
    """Judges a header before tarfile acts on it: long names and attributes are read into memory as a whole."""

    @override
    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.size < 0 or (member.type in _HEADERS and member.size > _LARGEST_HEADER):
            raise TaskInvalid(f"the package has a header with an impossible size, {member.size} bytes")
        if member.type in _REFUSED:
            raise TaskInvalid(f"{member.name!r} {_REFUSED[member.type]}")
        return member


def _extract(data: bytes, root: Path, limits: Limits) -> None:
    # Headers, long names and padding are at most 3,584 bytes an entry.
    stream = io.BufferedReader(_Bounded(data, limits.total_bytes + limits.entries * 3584 + (1 << 20)))
    links: dict[str, str] = {}
    try:
        # A stream is read once, front to back; nothing seeks in what has to be decompressed.
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
            for name, kind, member in _checked(archive, limits):
                if kind == "link":
                    links[name] = member.linkname
                else:
                    _write(archive, member, kind, root / name)
    except TaskInvalid:
        raise
    # A hostile header makes tarfile fail in its parsing (ValueError) or in a chain of headers (RecursionError).
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise TaskInvalid(f"not a whole tar.gz archive: {error}") from None
    _link(root, links)


def _checked(archive: tarfile.TarFile, limits: Limits) -> Iterator[tuple[str, str, tarfile.TarInfo]]:
    kinds: dict[str, str] = {}
    total = 0
    for count, member in enumerate(archive, 1):
        total += member.size
        if count > limits.entries:
            raise TaskInvalid(f"the package has more than {limits.entries} entries")
        name = _name(member, limits)
        kind = _KINDS.get(member.type)
        if kind is None or member.issparse():
            raise TaskInvalid(f"{name!r} is neither a file, a folder nor a link")
        if not 0 <= member.size <= limits.file_bytes or total > limits.total_bytes:
            raise TaskInvalid(f"{name!r} is too large: {limits.file_bytes} bytes a file, {limits.total_bytes} in all")
        if not name and kind == "folder":
            continue
        if not name or (name in kinds and not kinds[name] == kind == "folder"):
            raise TaskInvalid(f"{name!r} is in the package twice")
        for parent in PurePosixPath(name).parents:
            if kinds.setdefault(parent.as_posix(), "folder") != "folder":
                raise TaskInvalid(f"{name!r} is below {parent.as_posix()!r}, which isn't a folder")
        kinds[name] = kind
        yield name, kind, member


def _name(member: tarfile.TarInfo, limits: Limits) -> str:
    """The path of a member, '' for the top folder."""
    path = PurePosixPath(member.name)
    if path.is_absolute() or ".." in path.parts:
        raise TaskInvalid(f"{member.name!r} leaves the package")
    if problem := path_problem(member.name):
        raise TaskInvalid(f"{member.name!r}: the name {problem}")
    if len(path.parts) > limits.depth:
        raise TaskInvalid(f"{member.name!r} is more than {limits.depth} folders deep")
    return path.as_posix() if path.parts else ""


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, kind: str, path: Path) -> None:
    if kind == "folder":
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    with path.open("xb") as target:
        if content is not None:
            shutil.copyfileobj(content, target)
        os.fchmod(target.fileno(), 0o755 if member.mode & 0o111 else 0o644)


def _link(root: Path, links: dict[str, str]) -> None:
    """Makes the links when every file is there, so that none is written through one."""
    for name, target in links.items():
        if not target or path_problem(target):
            raise TaskInvalid(f"{name!r} is a link to nothing that can be there: {target!r}")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
    top = root.resolve()
    for name, target in links.items():
        if not (root / name).resolve().is_relative_to(top):
            raise TaskInvalid(f"{name!r} is a link that leaves the package: {target!r}")
