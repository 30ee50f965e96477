"""From a submitted run and its benchmark's manifest to the lock: which tasks, pinned to which content."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Literal

from proctor.contracts.config import MAX_RESULTS, Tasks
from proctor.contracts.events import RunPlanned, RunSubmitted
from proctor.contracts.manifest import Manifest, ManifestTask, RunLock

PARITY = "parity"


class PlanError(Exception):
    """The run can't be planned; the message is for the person who submitted it."""


def make_lock(submitted: RunSubmitted, manifest: Manifest) -> RunLock:
    """Pure. Raises `PlanError`."""
    tasks = select(submitted.config.tasks, manifest)
    execution = submitted.config.execution
    results = len(tasks) * len(submitted.config.agents) * execution.attempts_per_task
    if results > MAX_RESULTS:
        raise PlanError(
            f"{results} results are more than the {MAX_RESULTS} a run may have: take fewer tasks or attempts"
        )
    return RunLock(
        proctor_version=version("proctor-scheduler"),
        benchmark=submitted.benchmark,
        benchmark_key=submitted.benchmark_key,
        version=submitted.version,
        task_set=coverage(tasks, manifest),
        pass_threshold=submitted.pass_threshold,
        reward_key=submitted.reward_key,
        judge=submitted.judge,
        config=submitted.config,
        tasks=tuple(tasks),
    )


def select(wanted: Tasks, manifest: Manifest) -> list[ManifestTask]:
    """A task set overrides names and categories; these two together mean their union."""
    if wanted.task_set is not None:
        named = next((one for one in manifest.task_sets if one.name == wanted.task_set), None)
        if named is None:
            raise PlanError(f"the benchmark's version {manifest.version} has no task set {wanted.task_set!r}")
        chosen = [task for task in manifest.tasks if task.name in named.task_names]
    elif wanted.task_names is None and wanted.categories is None:
        chosen = list(manifest.tasks)
    else:
        names, categories = set(wanted.task_names or ()), set(wanted.categories or ())
        _check_names(names, manifest)
        chosen = [task for task in manifest.tasks if task.name in names or task.category in categories]
    if not chosen:
        raise PlanError("the selection holds no task that can run")
    return chosen


def _check_names(names: set[str], manifest: Manifest) -> None:
    missing = sorted(names - {task.name for task in manifest.tasks})
    if missing:
        raise PlanError(f"not in the benchmark's version {manifest.version}: {', '.join(missing)}")


def coverage(tasks: Sequence[ManifestTask], manifest: Manifest) -> Literal["full", "parity", "subset"]:
    """By content, however the tasks were selected."""
    names = {task.name for task in tasks}
    if names == {task.name for task in manifest.tasks}:
        return "full"
    parity = next((one for one in manifest.task_sets if one.name == PARITY), None)
    return "parity" if parity and names == set(parity.task_names) else "subset"


def planned(lock: RunLock, name: str) -> RunPlanned:
    execution = lock.config.execution
    return RunPlanned(
        lock=name,
        task_set=lock.task_set,
        agents=len(lock.config.agents),
        tasks=len(lock.tasks),
        attempts_per_task=execution.attempts_per_task,
        max_concurrent_attempts=execution.max_concurrent_attempts,
        max_retries=execution.max_retries,
    )
