"""A benchmark version's task list, and the lock that pins a run to it. Both are objects, named by digest."""

from typing import Literal

from proctor.contracts.config import RunConfig
from proctor.contracts.judge import JudgeRule
from proctor.contracts.work import Frozen, TaskRef

Difficulty = Literal["easy", "medium", "hard"]


class ManifestTask(TaskRef):
    """Limits are the task's own, in seconds, unmultiplied. `steps` counts the task's steps, 1 where it has none."""

    environment_digest: str
    category: str | None = None
    difficulty: Difficulty | None = None
    tags: tuple[str, ...] = ()
    agent_timeout: float | None = None
    verifier_timeout: float = 600.0
    build_timeout: float = 600.0
    steps: int = 1
    multi_step_strategy: Literal["mean", "final"] = "mean"
    min_rewards: tuple[dict[str, float] | float | None, ...] = ()
    verifier_mode: Literal["shared", "separate"] = "shared"
    needed_variables: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


class UnavailableTask(Frozen):
    name: str
    reason: str


class TaskSet(Frozen):
    name: str
    description: str | None = None
    recommended: bool = False
    task_names: tuple[str, ...]


class Manifest(Frozen):
    """`version` is the dataset's digest, so equal content is the same version."""

    version: str
    tasks: tuple[ManifestTask, ...]
    unavailable: tuple[UnavailableTask, ...] = ()
    task_sets: tuple[TaskSet, ...] = ()


class RunLock(Frozen):
    """Everything a run's result depends on. `task_set`: full, parity, or subset."""

    proctor_version: str
    benchmark: str
    benchmark_key: str
    version: str
    task_set: Literal["full", "parity", "subset"]
    pass_threshold: str
    reward_key: str | None = None
    judge: JudgeRule | None = None
    config: RunConfig
    tasks: tuple[ManifestTask, ...]
