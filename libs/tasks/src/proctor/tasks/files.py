"""The files of a task folder: what counts for its digest, and what a package carries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from proctor.tasks.errors import TaskInvalid
from proctor.tasks.ignore import InputFilter, gitignore_rules
from proctor.tasks.names import path_problem

_SINGLE_FILES: Final = ("task.toml", "instruction.md", "README.md", "trajectory.json")
_FOLDERS: Final = ("environment", "tests", "solution", "steps")


class TaskFiles(NamedTuple):
    """Relative POSIX paths, sorted. A link to a file is a file; a link to a folder isn't followed."""

    files: tuple[str, ...]
    folders: tuple[str, ...]
    links: tuple[str, ...]


def task_files(root: Path) -> TaskFiles:
    """Everything of a task that counts.

    Raises TaskInvalid for a link that leaves the task or leads to a folder around itself, and for a name
    that isn't UTF-8.
    """
    root = root.resolve()
    ignored = gitignore_rules(root)
    files, folders, links = list[str](), list[str](), list[str]()
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
    return TaskFiles(tuple(sorted(files)), tuple(sorted(folders)), tuple(sorted(links)))


def check_names(found: TaskFiles) -> None:
    """Raises TaskInvalid for a name that other systems, logs or archives can't hold."""
    for path in (*found.files, *found.folders, *found.links):
        if problem := path_problem(path):
            raise TaskInvalid(f"{path!r}: the name {problem}; rename it")


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
