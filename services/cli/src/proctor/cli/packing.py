"""A folder of tasks as an archive to upload."""

from pathlib import Path

from proctor.cli.documents import named
from proctor.cli.failure import Failure
from proctor.tasks import Dataset, TaskInvalid, load_dataset, pack_dataset


def pack(path: Path) -> tuple[Dataset, bytes]:
    """Raises Failure when there is no task in it that can be used."""
    try:
        dataset = load_dataset(path)
        if not dataset.tasks:
            reasons = tuple(named(task.name, task.reason) for task in dataset.refused)
            raise Failure(f"{path}: no usable task there; a task is a folder with task.toml", details=reasons)
        return dataset, pack_dataset(path)
    except TaskInvalid as error:
        first, *more = str(error).splitlines()
        said = first.removeprefix(f"{path.resolve().name}: ")
        raise Failure(f"{path}: {said}", details=tuple(more)) from None
    except OSError as error:
        raise Failure(f"can't read {error.filename or path}: {error.strerror}") from None


def skipped(path: Path, dataset: Dataset) -> list[str]:
    """Folders beside tasks that are none, relative to `path`: a person may have meant them to be."""
    root = path.resolve()
    tasks = {one.task.path for one in dataset.tasks} | {root / one.path for one in dataset.refused if one.path}
    above = {parent for task in tasks for parent in task.parents if parent.is_relative_to(root)}
    return sorted(
        folder.relative_to(root).as_posix()
        for parent in above
        for folder in parent.iterdir()
        if folder.is_dir() and not folder.name.startswith((".", "__")) and folder not in tasks | above
    )
