"""A folder of tasks as an archive to upload."""

from pathlib import Path

from proctor.cli.failure import Failure
from proctor.tasks import Dataset, TaskInvalid, load_dataset, pack_dataset


def pack(path: Path) -> tuple[Dataset, bytes]:
    """Raises Failure when there is no task in it that can be used."""
    try:
        dataset = load_dataset(path)
        if not dataset.tasks:
            reasons = tuple(f"{task.name}: {task.reason}" for task in dataset.refused)
            raise Failure(f"{path}: no usable task there; a task is a folder with task.toml", details=reasons)
        return dataset, pack_dataset(path)
    except TaskInvalid as error:
        first, *more = str(error).splitlines()
        raise Failure(f"{path}: {first}", details=tuple(more)) from None
    except OSError as error:
        raise Failure(f"can't read {error.filename or path}: {error.strerror}") from None
