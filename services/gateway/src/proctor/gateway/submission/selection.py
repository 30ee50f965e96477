"""Which tasks a run takes."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from proctor.contracts.config import Tasks
from proctor.contracts.manifest import Manifest, ManifestTask
from proctor.gateway.submission.findings import MOST, closest, duplicates, more
from proctor.service.errors import Issue

_COMPARISONS: Final = 200_000


def select(manifest: Manifest, wanted: Tasks) -> tuple[list[ManifestTask], list[Issue]]:
    """The tasks a run takes: a task set overrides, names and categories together are their union."""
    if wanted.task_set is not None:
        return _task_set(manifest, wanted.task_set)
    if wanted.task_names is None and wanted.categories is None:
        return list(manifest.tasks), [] if manifest.tasks else [Issue("experiment.benchmark", "it has no usable task")]
    names, categories = wanted.task_names or [], wanted.categories or []
    known = {task.name for task in manifest.tasks}
    known_categories = {task.category for task in manifest.tasks if task.category}
    unavailable = {task.name: task.reason for task in manifest.unavailable}
    issues = [
        *duplicates("tasks.task_names", names),
        *duplicates("tasks.categories", categories),
        *_unknown_tasks([name for name in dict.fromkeys(names) if name not in known], known, unavailable),
        *(
            Issue("tasks.categories", f"no task is in the category {name!r}", closest(name, known_categories))
            for name in [name for name in dict.fromkeys(categories) if name not in known_categories][:MOST]
        ),
    ]
    chosen, chosen_categories = set(names), set(categories)
    return [task for task in manifest.tasks if task.name in chosen or task.category in chosen_categories], issues


def _task_set(manifest: Manifest, wanted: str) -> tuple[list[ManifestTask], list[Issue]]:
    for task_set in manifest.task_sets:
        if task_set.name == wanted:
            members = set(task_set.task_names)
            return [task for task in manifest.tasks if task.name in members], []
    names = [task_set.name for task_set in manifest.task_sets]
    hint = f"it has {', '.join(names)}" if names else "it has none; leave the key out to run every task"
    return [], [Issue("tasks.task_set", f"the benchmark has no task set {wanted!r}: {hint}", closest(wanted, names))]


def _unknown_tasks(names: Sequence[str], known: Collection[str], unavailable: Mapping[str, str]) -> Iterator[Issue]:
    """A likely intended name is looked for as long as that is quick."""
    key, listed = "tasks.task_names", list(known)
    looked_for = min(MOST, max(1, _COMPARISONS // max(1, len(listed))))
    for place, name in enumerate(names[:MOST]):
        if name in unavailable:
            yield Issue(key, f"the task {name!r} can't be run: {unavailable[name]}")
        else:
            meant = closest(name, listed) if place < looked_for else None
            yield Issue(key, f"there is no task {name!r} in this version", meant)
    if len(names) > MOST:
        yield more(key, len(names) - MOST)
