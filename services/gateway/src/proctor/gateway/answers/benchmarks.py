"""Benchmarks, their tasks, and what was uploaded for them."""

from typing import Literal

from pydantic import Field

from proctor.contracts.events.benchmark import Source
from proctor.contracts.judge import JudgeRule
from proctor.contracts.manifest import Difficulty, UnavailableTask
from proctor.gateway.answers.base import Answer, Moment, Page, Position


class Benchmark(Answer):
    """`sync_total` and `sync_done` count tasks of the sync under way, or of the last; `version` and the counts are of
    the last good one."""

    id: str
    workspace: str
    key: str
    name: str
    description: str | None
    managed: bool
    source: Source | None
    default_harness: str | None
    judge: JudgeRule | None
    pass_threshold: str = Field(examples=["1.0"])
    reward_key: str | None
    status: Literal["pending", "syncing", "ready", "failed", "removed"]
    sync_total: int
    sync_done: int
    error: str | None
    version: str | None
    task_count: int | None
    unavailable_count: int | None
    category_count: int | None
    added_by: str
    added_at: Moment
    updated_at: Moment
    position: Position


class Benchmarks(Page[Benchmark]): ...


class Task(Answer):
    """Limits are the task's own, in seconds."""

    name: str
    digest: str
    category: str | None
    difficulty: Difficulty | None
    tags: list[str]
    agent_timeout: float | None
    verifier_timeout: float
    build_timeout: float
    steps: int
    multi_step_strategy: Literal["mean", "final"]
    min_rewards: list[dict[str, float] | float | None]
    verifier_mode: Literal["shared", "separate"]
    needed_variables: list[str]
    warnings: list[str]


class TaskSetSummary(Answer):
    name: str
    description: str | None
    recommended: bool
    task_count: int


class TaskCategory(Answer):
    name: str
    task_count: int


class TaskList(Answer):
    """Empty until the benchmark is synced."""

    version: str | None
    tasks: list[Task]
    unavailable: list[UnavailableTask]
    task_sets: list[TaskSetSummary]
    categories: list[TaskCategory]


class Upload(Answer):
    object: str
    size: int
