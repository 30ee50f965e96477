"""Two agents task by task."""

from typing import Literal

from proctor.gateway.answers.base import Answer


class ComparedAgent(Answer):
    run: str
    run_name: str
    run_status: str
    version: str
    agent: int
    entrant: str
    name: str | None
    harness: str
    model: str | None
    endpoint: str | None
    attempts_per_task: int


class ComparedTasks(Answer):
    common: int
    complete: int
    changed: int
    baseline_only: int
    other_only: int


class Measured(Answer):
    baseline: float | None
    other: float | None
    difference: float
    low: float | None
    high: float | None
    p: float
    method: str
    better: int
    worse: int
    equal: int
    tasks: int
    ratio: float | None


class TaskFigures(Answer):
    made: int
    passed: int
    cost: float | None
    time: float | None
    tokens: float | None


class ComparedTask(Answer):
    task: str
    difference: float | None
    baseline: TaskFigures
    other: TaskFigures


class Pair(Answer):
    """Differences are other - baseline; `rows` begin with the worst regression."""

    baseline: ComparedAgent
    other: ComparedAgent
    tasks: ComparedTasks
    measures: dict[Literal["pass_at_1", "cost", "time", "tokens"], Measured | None]
    rows: list[ComparedTask]


class Comparisons(Answer):
    pairs: list[Pair]
