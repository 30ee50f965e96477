"""The files of a task folder: what counts for its digest, and what a package carries."""

import math
import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from proctor.tasks.errors import TaskInvalid
from proctor.tasks.ignore import GITIGNORE, InputFilter, gitignore_rules
from proctor.tasks.limits import Limits
from proctor.tasks.names import path_problem

_SINGLE_FILES: Final = ("task.toml", "instruction.md", "README.md", "trajectory.json")
_FOLDERS: Final = ("environment", "tests", "solution", "steps")


class TaskFiles(NamedTuple):
    """Relative POSIX paths, sorted. A link to a file is a file; a link to a folder isn't followed."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    links: tuple[str, ...]


def task_files(root: Path, limits: Limits | None = None) -> TaskFiles:
    """Everything of a task that counts.

    Raises TaskInvalid for a link that leaves the task or leads to a folder around itself, for a name
    that isn't UTF-8, and for more entries than `limits` has.
    """
    root = root.resolve()
    ignored = gitignore_rules(root)
    files, folders, links = list[str](), list[str](), list[str]()
    most = limits.entries - (root / GITIGNORE).is_file() if limits else math.inf
    for path in _found(root):
        name = _name(path, root)
        linked = path.is_symlink()
        if path.is_dir() and (not linked or "/" not in name):
            kind, text = folders, f"{name}/"
        else:
            kind, text = (links if path.is_dir() else files), name
        if ignored.match_file(text):
            continue
        if linked:
            _check_link(path, root)
        if kind is not files or path.is_file():
            kind.append(name)
        if len(files) + len(folders) + len(links) > most:
            raise TaskInvalid(f"the task has more than {limits and limits.entries} files and folders; leave some out")
    return TaskFiles(tuple(sorted(files)), tuple(sorted(folders)), tuple(sorted(links)))


def check_names(found: TaskFiles) -> None:
    """Raises TaskInvalid for a name that other systems, logs or archives can't hold."""
    for path in (*found.files, *found.folders, *found.links):
        if problem := path_problem(path):
            raise TaskInvalid(f"{path!r}: the name {problem}; rename it")


def check_size(root: Path, found: TaskFiles, limits: Limits) -> None:
    """Raises TaskInvalid when the package of these files would be beyond `limits` when it is unpacked."""
    total = 0
    for name in (*found.files, *((GITIGNORE,) if (root / GITIGNORE).is_file() else ())):
        size = (root / name).stat().st_size
        total += size
        if size > limits.file_bytes:
            raise TaskInvalid(f"{name}: has {size} bytes; a file may have {limits.file_bytes}, make it smaller")
    if total > limits.total_bytes:
        raise TaskInvalid(f"the task's files have {total} bytes; they may have {limits.total_bytes}, make them smaller")
    for name in (*found.files, *found.folders, *found.links):
        if name.count("/") >= limits.depth:
            raise TaskInvalid(f"{name}: is more than {limits.depth} folders deep; move it up")


def link_targets(root: Path, found: TaskFiles) -> dict[str, str]:
    """What each link to a folder points to, relative to where it is; raises TaskInvalid where that doesn't count."""
    return {link: _target(link, root, found) for link in found.links}


def _target(link: str, root: Path, found: TaskFiles) -> str:
    target = (root / link).resolve().relative_to(root).as_posix()
    if target not in found.folders:
        raise TaskInvalid(f"{link}: links to {target!r}, which isn't part of the task; copy it here instead")
    return posixpath.relpath(target, posixpath.dirname(link))


def _found(root: Path) -> Iterator[Path]:
    for name in _SINGLE_FILES:
        path = root / name
        if path.is_dir():
            raise TaskInvalid(f"{name}: is a folder; it must be a file")
        if path.exists():
            yield path
    inputs = InputFilter(root)
    for name in _FOLDERS:
        path = root / name
        if path.exists() and not path.is_dir():
            raise TaskInvalid(f"{name}: is a file; it must be a folder")
        if path.is_dir() and not inputs.excludes(path):
            yield path
            yield from _below(path, inputs)


def _below(folder: Path, inputs: InputFilter) -> Iterator[Path]:
    for path in folder.iterdir():
        if inputs.excludes(path):
            continue
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from _below(path, inputs)


def _name(path: Path, root: Path) -> str:
    name = path.relative_to(root).as_posix()
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TaskInvalid(f"{name!r}: the name isn't UTF-8; rename it") from None
    return name


def _check_link(path: Path, root: Path) -> None:
    target = path.resolve()
    name = path.relative_to(root).as_posix()
    if not target.is_relative_to(root):
        raise TaskInvalid(f"{name}: the link leaves the task folder; replace it with what it points to")
    if target in path.parents:
        raise TaskInvalid(f"{name}: the link points to a folder around itself; remove it")
