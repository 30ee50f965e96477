"""The benchmarks that ship with Proctor."""

from importlib import resources
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

from proctor.contracts.events import BenchmarkAdded
from proctor.contracts.events.benchmark import BundledSource
from proctor.contracts.manifest import TaskSet
from proctor.tasks import TaskInvalid, parse_dataset_toml
from proctor.tasks.errors import explain
from proctor.tasks.task_toml import read_toml

BUNDLED: Final = ("first-steps",)
SETS_FILE: Final = "sets.toml"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class PublishedSet(_Model):
    name: str
    description: str | None = None
    recommended: bool = False
    tasks: tuple[str, ...]


class Published(_Model):
    """What is published about a benchmark beyond its dataset.toml."""

    default_harness: str | None = None
    pass_threshold: float = 1.0
    task_sets: tuple[PublishedSet, ...] = ()


def folder(name: str) -> Path:
    return Path(str(resources.files("proctor.registry_sync") / "catalogue" / name))


def published(root: Path) -> Published:
    """The dataset's sets.toml; without one, no task sets and the defaults. Raises `TaskInvalid`."""
    file = root / SETS_FILE
    if not file.is_file():
        return Published()
    try:
        return Published.model_validate(read_toml(file.read_text(encoding="utf-8"), SETS_FILE))
    except UnicodeDecodeError:
        raise TaskInvalid(f"{SETS_FILE}: not UTF-8 text; save it as UTF-8") from None
    except ValidationError as error:
        raise TaskInvalid(explain(error, SETS_FILE)) from None


def task_sets(root: Path) -> tuple[TaskSet, ...]:
    return tuple(
        TaskSet(name=one.name, description=one.description, recommended=one.recommended, task_names=one.tasks)
        for one in published(root).task_sets
    )


def announcement(name: str) -> BenchmarkAdded:
    """The event that puts a bundled benchmark into every workspace."""
    root = folder(name)
    about = published(root)
    dataset = parse_dataset_toml((root / "dataset.toml").read_text()).dataset
    return BenchmarkAdded(
        benchmark=name,
        key=name,
        name=name,
        description=dataset.description or None,
        source=BundledSource(name=name),
        managed=True,
        default_harness=about.default_harness,
        pass_threshold=str(about.pass_threshold),
        added_by="proctor",
    )
