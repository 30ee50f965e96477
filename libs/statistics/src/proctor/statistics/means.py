"""Means over tasks of what has no upper bound: cost, time, tokens, reward."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from .intervals import Interval, student_t


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over the `tasks` that have a value, with its 95 % t interval (None for one task).

    `missing` counts the tasks without a value; a mean with any is not to be ranked.
    """

    value: float
    low: float | None
    high: float | None
    tasks: int
    missing: int


def mean(values: Sequence[float | None]) -> Mean | None:
    """Mean of per-task values, None being unknown and left out; None if all are.

    The lower end is clipped at 0, unless there are values below it.
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    value, interval = mean_interval(known)
    low, high = interval or (None, None)
    if low is not None and min(known) >= 0:
        low = max(0.0, low)
    return Mean(value, low, high, len(known), len(values) - len(known))


def mean_interval(values: Sequence[float]) -> tuple[float, Interval | None]:
    """Mean and t interval of any values (of paired differences: the paired t interval), whatever their order."""
    n = len(values)
    centre = fsum(values) / n
    deviation = sqrt(fsum((value - centre) ** 2 for value in values) / (n - 1)) if n > 1 else 0.0
    return centre, student_t(centre, deviation, n)
