"""`proctor benchmark validate`: what `add` would say, without a platform."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.display.benchmark import counted, task_table
from proctor.cli.documents import Json
from proctor.cli.failure import Exit, Failure
from proctor.cli.output import JsonOption, notice, print_json, say, show

if TYPE_CHECKING:
    from proctor.tasks import Dataset

PathArgument = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, help="A folder of Harbor tasks, or one task.")
]


def validate(path: PathArgument, as_json: JsonOption = False) -> None:
    """Check a folder of tasks here, without a platform; exit 1 when a task can't be used."""
    dataset, problems = _checked(path)
    document = _document(path, dataset, problems)
    if as_json:
        print_json(document)
    else:
        _show(path, document)
    if problems:
        raise typer.Exit(Exit.UNMET)


def _checked(path: Path) -> tuple["Dataset | None", list[Json]]:
    from proctor.cli.packing import skipped  # noqa: PLC0415 - slow, for this command alone
    from proctor.tasks import TaskInvalid, load_dataset, pack_dataset  # noqa: PLC0415

    try:
        dataset = load_dataset(path)
        pack_dataset(path)
    except TaskInvalid as error:
        return None, [_problem(None, "", line) for line in str(error).splitlines()]
    except OSError as error:
        raise Failure(f"can't read {error.filename or path}: {error.strerror}") from None
    if folders := skipped(path, dataset):
        notice(f"skipped, no task.toml in it: {', '.join(folders)}")
    refused = [
        _problem(task.name, task.path or "", line) for task in dataset.refused for line in task.reason.splitlines()
    ]
    return dataset, refused


def _problem(task: str | None, place: str, line: str) -> Json:
    """`task-a/task.toml: agent.timeout_sec: must be ...; write ...`."""
    joined = f"{place}/{line}" if place not in {"", "."} else line
    return {"task": task, "path": place or None, "message": joined}


def _document(path: Path, dataset: "Dataset | None", problems: list[Json]) -> Json:
    tasks = list(_tasks(dataset)) if dataset else []
    name, version = (dataset.name, dataset.digest) if dataset else (path.resolve().name, None)
    return {"key": name, "version": version, "tasks": tasks, "problems": problems}


def _tasks(dataset: "Dataset") -> Iterator[Json]:
    for pinned in dataset.tasks:
        task = pinned.task
        yield {
            "name": task.name,
            "digest": pinned.digest,
            "category": task.category,
            "difficulty": task.difficulty,
            "agent_timeout": task.config.agent.timeout_sec,
            "needed_variables": list(task.needed_variables),
            "warnings": list(task.warnings),
        }


def _show(path: Path, document: Json) -> None:
    tasks, problems = document["tasks"], document["problems"]
    if tasks:
        show(task_table(tasks))
    for task in tasks:
        for warning in task["warnings"]:
            say(f"warning: {task['name']}: {warning}")
    for problem in problems:
        say(f"problem: {problem['message']}")
    bad = len({problem["task"] for problem in problems if problem["task"]})
    if bad or not problems:
        say(f"{path}: {counted(len(tasks))} can be used" + (f", {bad} can't" if bad else ""))
    else:
        say(f"{path}: can't be used")
