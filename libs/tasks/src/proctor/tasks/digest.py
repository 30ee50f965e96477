"""Content digests: equal bytes under equal names have equal digests, on every machine.

The task's and the dataset's are Harbor's own, so that a digest can be compared with a published one.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from proctor.tasks.files import TaskFiles, task_files
from proctor.tasks.folder import Task

_PREFIX: Final = "sha256:"
_EXECUTABLE: Final = 0o111


def task_digest(root: Path, found: TaskFiles | None = None) -> str:
    """`sha256:` and 64 hex digits over every file that counts, its path and its bytes. `found`: the task's files
    where they are known already."""
    root = root.resolve()
    outer = hashlib.sha256()
    for name in (found or task_files(root)).files:
        outer.update(f"{name}\0{_file_digest(root / name)}\n".encode())
    return _PREFIX + outer.hexdigest()


def image_digest(root: Path, folder: str, docker_image: str | None, found: TaskFiles | None = None) -> str:
    """Equal for two environments that build or pull the same image: the folder's files with their
    executable bits and links, and the image's name. `folder` is relative to the task, such as `environment`."""
    root = root.resolve()
    outer = hashlib.sha256(f"{docker_image or ''}\n".encode())
    for line in _image_lines(root, f"{folder}/", found or task_files(root)):
        outer.update(f"{line}\n".encode())
    return _PREFIX + outer.hexdigest()


def environment_digest(task: Task) -> str:
    """The digest of the image the agent's sandbox is made from; equal digests may share it."""
    return image_digest(task.path, "environment", task.config.environment.docker_image, task.files)


def dataset_digest(task_digests: Iterable[str], files: Mapping[str, str] | None = None) -> str:
    """From the digests of the tasks, in any order, and of the dataset's own files by name."""
    text = ",".join(sorted(digest.removeprefix(_PREFIX) for digest in task_digests))
    if files:
        text += ";" + ",".join(sorted(f"{name}:{digest.removeprefix(_PREFIX)}" for name, digest in files.items()))
    return _PREFIX + hashlib.sha256(text.encode()).hexdigest()


def file_digest(path: Path) -> str:
    """`sha256:` and 64 hex digits over a file's bytes."""
    return _PREFIX + _file_digest(path)


def _file_digest(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _image_lines(root: Path, folder: str, found: TaskFiles) -> Iterable[str]:
    for name in found.files:
        if name.startswith(folder):
            mode = "x" if (root / name).stat().st_mode & _EXECUTABLE else "-"
            yield f"{name.removeprefix(folder)}\0{mode}\0{_file_digest(root / name)}"
    for name in found.links:
        if name.startswith(folder):
            yield f"{name.removeprefix(folder)}\0link\0{(root / name).readlink().as_posix()}"
