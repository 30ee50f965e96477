"""From a dataset on disk to a version's manifest."""

from collections.abc import Sequence
from typing import Literal

from proctor.contracts.manifest import Manifest, ManifestTask, TaskSet, UnavailableTask
from proctor.tasks import Dataset, PinnedTask, Task, environment_digest, verifier_mode


def package_name(digest: str) -> str:
    return f"task/{digest.removeprefix('sha256:')}"


def make_manifest(dataset: Dataset, sets: Sequence[TaskSet]) -> Manifest:
    """A task set is kept only where every task it names is there."""
    tasks = tuple(manifest_task(pinned) for pinned in sorted(dataset.tasks, key=lambda one: one.task.name))
    names = {task.name for task in tasks}
    return Manifest(
        version=dataset.digest,
        tasks=tasks,
        unavailable=tuple(UnavailableTask(name=one.name, reason=one.reason) for one in dataset.refused),
        task_sets=tuple(one for one in sets if set(one.task_names) <= names),
    )


def manifest_task(pinned: PinnedTask) -> ManifestTask:
    task = pinned.task
    config = task.config
    return ManifestTask(
        name=task.name,
        digest=pinned.digest,
        package=package_name(pinned.digest),
        environment_digest=environment_digest(task),
        category=task.category,
        difficulty=task.difficulty,
        tags=task.tags,
        agent_timeout=_agent_timeout(task),
        verifier_timeout=max([config.verifier.timeout_sec, *(one.config.verifier.timeout_sec for one in task.steps)]),
        build_timeout=config.environment.build_timeout_sec,
        steps=max(1, len(task.steps)),
        multi_step_strategy=config.multi_step_reward_strategy or "mean",
        min_rewards=tuple(one.config.min_reward for one in task.steps),
        verifier_mode=_mode(task),
        needed_variables=task.needed_variables,
        warnings=task.warnings,
    )


def _agent_timeout(task: Task) -> float | None:
    """That of its longest step; None where a step has no limit."""
    own = task.config.agent.timeout_sec
    longest = own if not task.steps else 0.0
    for step in task.steps:
        limit = own if step.config.agent.timeout_sec is None else step.config.agent.timeout_sec
        longest = None if limit is None or longest is None else max(longest, limit)
    return longest


def _mode(task: Task) -> Literal["shared", "separate"]:
    return verifier_mode(task.config, task.steps[0].config if task.steps else None)
