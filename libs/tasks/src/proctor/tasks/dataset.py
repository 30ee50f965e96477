"""dataset.toml, and a dataset on disk: its tasks with their digests, and those it can't use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, ValidationError

from proctor.tasks.digest import dataset_digest, file_digest, task_digest
from proctor.tasks.errors import TaskInvalid, explain
from proctor.tasks.folder import Task, find_tasks, load_task
from proctor.tasks.names import package_name
from proctor.tasks.schema import PackageInfo
from proctor.tasks.table import Table
from proctor.tasks.task_toml import read_toml

MANIFEST_FILE: Final = "dataset.toml"
_DIGEST: Final = re.compile(r"sha256:[a-f0-9]{64}")


def _digest(value: str) -> str:
    if not _DIGEST.fullmatch(value):
        raise ValueError(f"{value!r} must be 'sha256:' and 64 hex digits")
    return value


def _file_name(value: str) -> str:
    if "/" in value or "\\" in value or value in {"", ".", ".."}:
        raise ValueError(f"{value!r} must be the name of a file beside {MANIFEST_FILE}")
    return value


class DatasetTask(Table):
    """A task of a dataset, pinned to its content."""

    name: Annotated[str, AfterValidator(package_name)]
    digest: Annotated[str, AfterValidator(_digest)]


class DatasetFile(Table):
    """A file of the dataset itself; without a digest it is taken as it is."""

    path: Annotated[str, AfterValidator(_file_name)]
    digest: Annotated[str, AfterValidator(lambda value: value and _digest(value))] = ""


class DatasetManifest(Table):
    """dataset.toml, schema 1.0."""

    schema_version: str = "1.0"
    dataset: PackageInfo
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    tasks: tuple[DatasetTask, ...] = ()
    files: tuple[DatasetFile, ...] = ()


@dataclass(frozen=True, slots=True)
class PinnedTask:
    """A task and the digest of its content."""

    task: Task
    digest: str


@dataclass(frozen=True, slots=True)
class RefusedTask:
    """A task that is left out, and why. `path` is relative to the dataset; a task that isn't there has none."""

    name: str
    path: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset as found on disk. One bad task doesn't spoil the others: it is in `refused`."""

    name: str
    version: str | None
    description: str
    tasks: tuple[PinnedTask, ...]
    refused: tuple[RefusedTask, ...]
    digest: str
    manifest: DatasetManifest | None


def parse_dataset_toml(text: str) -> DatasetManifest:
    """Raises TaskInvalid with a line for every problem."""
    table = read_toml(text, MANIFEST_FILE)
    try:
        return DatasetManifest.model_validate(table)
    except ValidationError as error:
        raise TaskInvalid(explain(error, MANIFEST_FILE)) from None


def load_dataset(root: Path) -> Dataset:
    """The dataset in a folder: as dataset.toml says where there is one, else every task below it.

    Raises TaskInvalid when the folder, its manifest, or a file the manifest lists can't be used.
    """
    root = root.resolve()
    file = root / MANIFEST_FILE
    manifest = _read_manifest(file) if file.is_file() else None
    loaded = tuple(_distinct((_load(path, root) for path in find_tasks(root)), root))
    if manifest is None:
        tasks = tuple(item for item in loaded if isinstance(item, PinnedTask))
        refused = tuple(item for item in loaded if isinstance(item, RefusedTask))
        digest = dataset_digest(item.digest for item in tasks)
        return Dataset(root.name, None, "", tasks, refused, digest, None)
    checked = tuple(_pinned(manifest, loaded, root))
    return Dataset(
        name=manifest.dataset.name,
        version=manifest.dataset.version,
        description=manifest.dataset.description,
        tasks=tuple(item for item in checked if isinstance(item, PinnedTask)),
        refused=tuple(item for item in checked if isinstance(item, RefusedTask)),
        digest=manifest_digest(manifest, root),
        manifest=manifest,
    )


def manifest_digest(manifest: DatasetManifest, root: Path) -> str:
    """The digest of what the manifest pins; the files it lists are read and compared."""
    files = {entry.path: _listed_file(root, entry) for entry in manifest.files}
    return dataset_digest((task.digest for task in manifest.tasks), files)


def _read_manifest(file: Path) -> DatasetManifest:
    try:
        return parse_dataset_toml(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise TaskInvalid(f"{MANIFEST_FILE}: not UTF-8 text; save it as UTF-8") from None


def _load(path: Path, root: Path) -> PinnedTask | RefusedTask:
    try:
        task = load_task(path)
        return PinnedTask(task, task_digest(path, task.files))
    except (TaskInvalid, OSError) as error:
        return RefusedTask(path.name, path.relative_to(root).as_posix(), str(error))


def _distinct(items: Iterator[PinnedTask | RefusedTask], root: Path) -> Iterator[PinnedTask | RefusedTask]:
    """The first of two tasks with one name is kept."""
    first: dict[str, Path] = {}
    for item in items:
        if isinstance(item, PinnedTask) and first.setdefault(item.task.name, item.task.path) != item.task.path:
            reason = f"a second task has the name {item.task.name!r}; rename one of them"
            yield RefusedTask(item.task.name, item.task.path.relative_to(root).as_posix(), reason)
        else:
            yield item


def _pinned(
    manifest: DatasetManifest, loaded: tuple[PinnedTask | RefusedTask, ...], root: Path
) -> Iterator[PinnedTask | RefusedTask]:
    """What the manifest lists, in its order, then the folders that can't be read at all."""
    by_name = {item.task.name: item for item in loaded if isinstance(item, PinnedTask)}
    for entry in dict.fromkeys(manifest.tasks):
        found = by_name.get(entry.name)
        if found is None:
            yield RefusedTask(entry.name, None, f"{MANIFEST_FILE} lists it, but no task below has this name")
        elif found.digest != entry.digest:
            reason = f"its content is {found.digest}, {MANIFEST_FILE} pins {entry.digest}; pin it anew or restore it"
            yield RefusedTask(entry.name, found.task.path.relative_to(root).as_posix(), reason)
        else:
            yield found
    yield from (item for item in loaded if isinstance(item, RefusedTask))


def _listed_file(root: Path, entry: DatasetFile) -> str:
    path = root / entry.path
    if path.is_symlink() or not path.is_file():
        raise TaskInvalid(f"{MANIFEST_FILE}: files: {entry.path!r} is not a file beside it")
    actual = file_digest(path)
    if entry.digest and entry.digest != actual:
        raise TaskInvalid(f"{entry.path}: its content is {actual}, {MANIFEST_FILE} pins {entry.digest}")
    return actual
