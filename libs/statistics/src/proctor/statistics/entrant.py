"""What a board is computed from: one entrant's results, task by task."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

PER_TASK_MEANS = ("costs", "times", "tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """An agent's run of one benchmark, as columns with one place per task of its selection.

    `finished` is the log sequence at which the run finished; it orders rows of equal value. `version` is the
    resolved version of the benchmark. `attempts` counts the attempts that have a result: 0 where none has, never
    counted as a failure. `costs`, `times` and `tokens` are means over the task's attempts, None where any attempt
    lacks the number; an empty column means that nothing was reported.

    The columns are stored in order of task name, so that the order they come in changes no result.
    """

    name: str
    finished: int
    version: str
    attempts_per_task: int
    tasks: tuple[str, ...]
    successes: tuple[int, ...]
    attempts: tuple[int, ...]
    costs: tuple[float | None, ...] = ()
    times: tuple[float | None, ...] = ()
    tokens: tuple[float | None, ...] = ()

    def __post_init__(self) -> None:
        try:
            self._sort_by_task()
            check_counts(self.successes, self.attempts, self.attempts_per_task, self.tasks)
            for column in PER_TASK_MEANS:
                _check_means(column, self.tasks, getattr(self, column))
        except ValueError as problem:
            raise ValueError(f"{self.name}: {problem}") from None

    def _sort_by_task(self) -> None:
        if not self.tasks:
            raise ValueError("tasks is empty; give at least one task")
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError("tasks has a name twice; give each task one place")
        order = sorted(range(len(self.tasks)), key=self.tasks.__getitem__)
        unknown = (None,) * len(order)
        for column in ("successes", "attempts", *PER_TASK_MEANS, "tasks"):
            values: tuple[object, ...] = getattr(self, column)
            if column in PER_TASK_MEANS:
                values = values or unknown
            if len(values) != len(order):
                raise ValueError(f"{column} has {len(values)} values for {len(order)} tasks; give one per task")
            object.__setattr__(self, column, tuple(values[i] for i in order))

    @property
    def complete(self) -> bool:
        """Whether every task has all its attempts, without which the entrant isn't ranked."""
        return all(attempts == self.attempts_per_task for attempts in self.attempts)


def check_counts(
    successes: Sequence[int], attempts: Sequence[int], attempts_per_task: int, tasks: Sequence[str] | None = None
) -> None:
    """Raise ValueError unless 0 <= successes <= attempts <= attempts_per_task on every task."""
    if len(successes) != len(attempts):
        raise ValueError(f"successes has {len(successes)} values and attempts {len(attempts)}; give one per task")
    if attempts_per_task < 1:
        raise ValueError(f"attempts_per_task is {attempts_per_task}; it must be at least 1")
    for place, (passed, made) in enumerate(zip(successes, attempts, strict=True)):
        if not 0 <= passed <= made <= attempts_per_task:
            raise ValueError(
                f"task {tasks[place] if tasks else place}: {passed} successes in {made} attempts of "
                f"{attempts_per_task}; need 0 <= successes <= attempts <= attempts_per_task"
            )


def _check_means(column: str, tasks: Sequence[str], values: Sequence[float | None]) -> None:
    for task, value in zip(tasks, values, strict=True):
        if value is not None and not (isfinite(value) and value >= 0):
            raise ValueError(f"{column} of {task} is {value}; give a finite number >= 0, or None if unknown")
