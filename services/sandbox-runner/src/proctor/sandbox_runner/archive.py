"""Tars of what goes into a sandbox and of what comes out of it."""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path


def folder_tar(*folders: Path) -> bytes:
    """The content of the folders, later ones over earlier ones; owners are left out."""
    entries: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            entries[path.relative_to(folder).as_posix()] = path
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, path in entries.items():
            archive.add(path, name, recursive=False, filter=_anonymous)
    return buffer.getvalue()


def _anonymous(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


def text_tar(name: str, text: str) -> bytes:
    data = text.encode()
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), 0o644
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def merge(parts: Iterable[tuple[str, bytes]]) -> tuple[bytes, int]:
    """One tar of several, each below its prefix, and how many files it has. Only files and folders are kept: what
    comes out of a sandbox is hostile, and links or devices have no place in a store."""
    buffer, files = io.BytesIO(), 0
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for prefix, data in parts:
            for info, content in _members(data):
                info.name = f"{prefix}/{info.name}"
                archive.addfile(_anonymous(info), content)
                files += info.isfile()
    return buffer.getvalue(), files


def _members(data: bytes) -> Iterator[tuple[tarfile.TarInfo, io.BufferedIOBase | None]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            name = info.name.removeprefix("./").strip("/")
            if not name or ".." in name.split("/") or not (info.isfile() or info.isdir()):
                continue
            info.name = name
            yield info, archive.extractfile(info) if info.isfile() else None  # pyright: ignore[reportReturnType]


def read_files(data: bytes, names: Iterable[str], limit: int) -> dict[str, bytes]:
    """The named files of a tar that are at most `limit` bytes."""
    wanted, found = set(names), dict[str, bytes]()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for info in archive:
            name = info.name.removeprefix("./").strip("/")
            if name in wanted and info.isfile() and info.size <= limit:
                source = archive.extractfile(info)
                found[name] = source.read() if source else b""
    return found
