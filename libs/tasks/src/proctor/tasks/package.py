"""Packs tasks and datasets into tar.gz, the same bytes for the same content, and unpacks what others packed."""

import gzip
import os
import tarfile
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple

from proctor.tasks.archive import unpack
from proctor.tasks.dataset import MANIFEST_FILE, parse_dataset_toml
from proctor.tasks.digest import task_digest
from proctor.tasks.errors import TaskInvalid
from proctor.tasks.files import TaskFiles, check_names, link_targets, task_files
from proctor.tasks.folder import find_tasks
from proctor.tasks.ignore import GITIGNORE
from proctor.tasks.limits import DATASET_LIMITS, TASK_LIMITS, Limits
from proctor.tasks.task_toml import CONFIG_FILE

_EXECUTABLE: Final = 0o111


class _Entry(NamedTuple):
    """A member of the archive; `link` is the target of a link to a folder."""

    name: str
    path: Path
    link: str = ""


def pack_task(root: Path, found: TaskFiles | None = None) -> bytes:
    """The files of the task's digest, its folders, its .gitignore (which decides what counts), and links
    between its folders. A link to a file becomes that file. `found`: its files where they are known already.
    Raises TaskInvalid."""
    return _tar(_task_entries(root.resolve(), "", found))


def pack_dataset(root: Path) -> bytes:
    """Every task at or below the folder, dataset.toml and the files it lists."""
    root = root.resolve()
    return _tar([*_dataset_files(root), *_all_tasks(root)])


def unpack_task(data: bytes, dest: Path, *, digest: str | None = None, limits: Limits = TASK_LIMITS) -> None:
    """Unpacks a task into `dest`, which must not be there yet.

    Raises TaskInvalid with the reason, and leaves nothing, when the archive isn't safe, holds no task, or
    (where one is given) has another digest.
    """

    def check(folder: Path) -> None:
        if not (folder / CONFIG_FILE).is_file():
            raise TaskInvalid(f"the package has no {CONFIG_FILE} at its top")
        if digest is not None and (actual := task_digest(folder)) != digest:
            raise TaskInvalid(f"the package's content is {actual}, not {digest}")

    unpack(data, dest, limits, check)


def unpack_dataset(data: bytes, dest: Path, *, limits: Limits = DATASET_LIMITS) -> Path:
    """Unpacks a folder of tasks into `dest`, which must not be there yet, and returns the folder to load:
    `dest`, or the only folder in it, as `tar czf x.tgz folder` makes it."""
    unpack(data, dest, limits)
    inside = [path for path in dest.iterdir() if not path.name.startswith(".")]
    alone = len(inside) == 1 and inside[0].is_dir() and not inside[0].is_symlink()
    return inside[0] if alone and not (inside[0] / CONFIG_FILE).is_file() else dest


def _all_tasks(root: Path) -> Iterator[_Entry]:
    for task in find_tasks(root):
        inside = task.relative_to(root).as_posix() if task != root else root.name
        yield _Entry(inside, task)
        yield from _task_entries(task, f"{inside}/")


def _dataset_files(root: Path) -> Iterator[_Entry]:
    file = root / MANIFEST_FILE
    if file.is_file():
        manifest = parse_dataset_toml(file.read_text(encoding="utf-8"))
        for name in (MANIFEST_FILE, *(entry.path for entry in manifest.files)):
            if not (root / name).is_file():
                raise TaskInvalid(f"{MANIFEST_FILE}: files: {name!r} is not a file beside it")
            yield _Entry(name, root / name)


def _task_entries(root: Path, prefix: str, found: TaskFiles | None = None) -> Iterator[_Entry]:
    found = found or task_files(root)
    check_names(found)
    rules = (GITIGNORE,) if (root / GITIGNORE).is_file() else ()
    links = link_targets(root, found)
    for name in sorted((*rules, *found.folders, *found.links, *found.files)):
        yield _Entry(prefix + name, root / name, links.get(name, ""))


def _tar(entries: Iterable[_Entry]) -> bytes:
    buffer = BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=6, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for entry in entries:
            _add(archive, entry)
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, entry: _Entry) -> None:
    info = tarfile.TarInfo(entry.name)
    if entry.link:
        info.type, info.mode, info.linkname = tarfile.SYMTYPE, 0o777, entry.link
        archive.addfile(info)
    elif entry.path.is_dir():
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(info)
    else:
        with entry.path.open("rb") as content:
            status = os.fstat(content.fileno())
            info.size, info.mode = status.st_size, 0o755 if status.st_mode & _EXECUTABLE else 0o644
            archive.addfile(info, content)
