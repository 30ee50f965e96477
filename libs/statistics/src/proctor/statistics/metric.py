"""The metrics a board can be sorted by, as tables from metric to what it is computed from."""

from collections.abc import Callable
from enum import StrEnum
from operator import attrgetter

from .entrant import Entrant
from .means import Mean, mean
from .rates import Estimator, Rate, all_pass, any_passes, rate


class Metric(StrEnum):
    """Rates are better when higher; cost, time and tokens when lower."""

    PASS_AT_1 = "pass_at_1"
    PASS_AT_K = "pass_at_k"
    PASS_HAT_K = "pass_hat_k"
    COST = "cost"
    TIME = "time"
    TOKENS = "tokens"


type Column = Callable[[Entrant], tuple[float | None, ...]]

ESTIMATORS: dict[Metric, Estimator] = {
    Metric.PASS_AT_1: any_passes,
    Metric.PASS_AT_K: any_passes,
    Metric.PASS_HAT_K: all_pass,
}
COLUMNS: dict[Metric, Column] = {
    Metric.COST: attrgetter("costs"),
    Metric.TIME: attrgetter("times"),
    Metric.TOKENS: attrgetter("tokens"),
}
NEEDS_K = frozenset({Metric.PASS_AT_K, Metric.PASS_HAT_K})


def measure(entrant: Entrant, metric: Metric, k: int = 1) -> Rate | Mean | None:
    """The entrant's value of the metric; None if it has fewer than k attempts, or didn't report it on every task."""
    if metric in ESTIMATORS:
        return rate(ESTIMATORS[metric], entrant.successes, entrant.attempts, k, entrant.attempts_per_task)
    found = mean(COLUMNS[metric](entrant))
    return found if found and not found.missing else None
