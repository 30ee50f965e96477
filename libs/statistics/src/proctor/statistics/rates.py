"""pass@1, pass@k and pass^k with intervals, from successes and attempts per task.

A task's score is kept as an integer over a unit common to all tasks, so that sums are exact and no result depends
on the order of tasks.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb, lcm, sqrt

from .entrant import check_counts
from .intervals import wilson

type Estimator = Callable[[int, int, int], int]
"""How many of the C(attempts, k) choices of k attempts count: (successes, attempts, k) -> ways."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate with its 95 % Wilson interval on `n_eff` effective tasks.

    `attempts` is per task, the harmonic mean where tasks differ. `provisional`: results are still missing.
    """

    value: float
    low: float
    high: float
    tasks: int
    n_eff: float
    attempts: float
    provisional: bool


@dataclass(frozen=True, slots=True)
class TaskScores:
    """Scores in [0, 1] of tasks, as integers: `values[i] / unit`."""

    values: tuple[int, ...]
    unit: int

    @property
    def mean(self) -> float:
        return sum(self.values) / (len(self.values) * self.unit)

    def over(self, unit: int) -> tuple[int, ...]:
        """The same scores over a multiple of the unit."""
        return tuple(value * (unit // self.unit) for value in self.values)


def any_passes(successes: int, attempts: int, k: int) -> int:
    """Choices of k attempts with at least one success (pass@k: Chen et al. 2021)."""
    return comb(attempts, k) - comb(attempts - successes, k)


def all_pass(successes: int, attempts: int, k: int) -> int:  # noqa: ARG001
    """Choices of k attempts that are all successes (pass^k)."""
    return comb(successes, k)


def task_scores(ways: Estimator, successes: Sequence[int], attempts: Sequence[int], k: int) -> TaskScores:
    """Unbiased per-task estimates; every task needs at least k attempts."""
    tasks = list(zip(successes, attempts, strict=True))
    unit = lcm(*(comb(made, k) for made in set(attempts)))
    value = {(passed, made): ways(passed, made, k) * (unit // comb(made, k)) for passed, made in set(tasks)}
    return TaskScores(tuple(value[task] for task in tasks), unit)


def pass_at_1(successes: Sequence[int], attempts: Sequence[int], attempts_per_task: int | None = None) -> Rate | None:
    """Mean over tasks of successes / attempts. Arguments as for `pass_at_k`."""
    return rate(any_passes, successes, attempts, 1, attempts_per_task)


def pass_at_k(
    successes: Sequence[int], attempts: Sequence[int], k: int, attempts_per_task: int | None = None
) -> Rate | None:
    """Chance that at least one of k attempts passes, mean over tasks; None if a task has fewer than k attempts.

    A task with no attempts yet is left out. `attempts_per_task` is how many were planned (default: the most that
    any task has); fewer on any task makes the rate provisional.
    """
    return rate(any_passes, successes, attempts, k, attempts_per_task)


def pass_hat_k(
    successes: Sequence[int], attempts: Sequence[int], k: int, attempts_per_task: int | None = None
) -> Rate | None:
    """Chance that all of k attempts pass (pass^k), mean over tasks. Arguments as for `pass_at_k`."""
    return rate(all_pass, successes, attempts, k, attempts_per_task)


def rate(
    ways: Estimator, successes: Sequence[int], attempts: Sequence[int], k: int, attempts_per_task: int | None = None
) -> Rate | None:
    """The rate of one estimator; None without results or with fewer than k attempts on a task that has any."""
    if k < 1:
        raise ValueError(f"k is {k}; it must be at least 1")
    planned = max((1, *attempts)) if attempts_per_task is None else attempts_per_task
    check_counts(successes, attempts, planned)
    seen = [(passed, made) for passed, made in zip(successes, attempts, strict=True) if made]
    if not seen or min(made for _, made in seen) < k:
        return None
    passed, made = zip(*seen, strict=True)
    scores = task_scores(ways, passed, made, k)
    per_task = _harmonic_mean(made)
    n_eff = effective_tasks(scores, per_task)
    low, high = wilson(scores.mean, n_eff)
    provisional = any(number < planned for number in attempts)
    return Rate(scores.mean, low, high, len(made), n_eff, per_task, provisional)


def effective_tasks(scores: TaskScores, attempts: float) -> float:
    """How many independent attempts the scores are worth: between the number of tasks and tasks x attempts.

    The design effect runs from 1 (attempts are independent) to `attempts` (a task passes always or never). It is
    trusted only by as many tasks of the rarer outcome as it rests on, and shrunk to the latter by the rest.
    """
    n, total = len(scores.values), sum(scores.values)
    most = n * scores.unit
    if attempts == 1 or total in (0, most):
        return float(n)
    spread = (n * sum(value * value for value in scores.values) - total * total) / (total * (most - total))
    effect = min(max(attempts * spread, 1.0), attempts)
    distrust = 2 / (2 + min(total, most - total) / scores.unit)
    return n * attempts / (effect + (attempts - effect) * distrust)


def correlation(a: Sequence[int], b: Sequence[int]) -> float:
    """Pearson's r of paired integers; 0 if either is constant."""
    n, sum_a, sum_b = len(a), sum(a), sum(b)
    var_a = n * sum(x * x for x in a) - sum_a * sum_a
    var_b = n * sum(y * y for y in b) - sum_b * sum_b
    if var_a == 0 or var_b == 0:
        return 0.0
    return (n * sum(x * y for x, y in zip(a, b, strict=True)) - sum_a * sum_b) / (sqrt(var_a) * sqrt(var_b))


def _harmonic_mean(attempts: Sequence[int]) -> float:
    common = lcm(*attempts)
    return len(attempts) * common / sum(common // made for made in attempts)
