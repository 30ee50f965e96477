"""An entrant against the leader on the same tasks: the test that decides, and what a reader sees beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm, log
from statistics import median
from typing import Literal

from .entrant import Entrant
from .intervals import mover
from .means import mean_interval
from .metric import COLUMNS, ESTIMATORS, Metric
from .rates import Rate, correlation, rate, task_scores
from .sign_flip import Method, SignFlip, sign_flip_integers, sign_flip_reals

type Incomparable = Literal["version", "task_set"]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Median over tasks of entrant / leader, and Wilcoxon's p of its logarithm. For reading: it decides nothing."""

    median: float
    p: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """`difference` is entrant - leader; `wins` are the tasks where the entrant is better than the leader.

    The test (`p`, `p_adjusted`) decides and the interval `low`..`high` describes; at the margin they may disagree.
    `attempts` is per task, the entrant's and the leader's. The interval is None with one task of cost, time or
    tokens; `ratio` is None for rates, and where a task's value is 0.
    """

    entrant: str
    leader: str
    difference: float
    low: float | None
    high: float | None
    p: float
    p_adjusted: float
    wins: int
    losses: int
    equal: int
    tasks: int
    attempts: tuple[int, int]
    method: Method
    ratio: Ratio | None = None


def incomparable(a: Entrant, b: Entrant) -> tuple[Incomparable, ...]:
    """Why two entrants of one benchmark can't be tested against each other; empty if they can."""
    reasons: dict[Incomparable, bool] = {"version": a.version != b.version, "task_set": a.tasks != b.tasks}
    return tuple(reason for reason, holds in reasons.items() if holds)


def compare(entrant: Entrant, leader: Entrant, metric: Metric, k: int = 1) -> Comparison:
    """Test two complete, comparable entrants; `p_adjusted` is `p`, as for a single test.

    ValueError if either lacks the metric, or if they differ in version or tasks.
    """
    if reasons := incomparable(entrant, leader):
        raise ValueError(f"{entrant.name} and {leader.name} differ in {', '.join(reasons)}; compare like with like")
    for one in (entrant, leader):
        if not one.complete:
            raise ValueError(f"{one.name} has attempts without a result; compare it when it is complete")
    if metric in ESTIMATORS:
        return _compare_rates(entrant, leader, metric, k)
    return _compare_means(entrant, leader, metric)


def _compare_rates(entrant: Entrant, leader: Entrant, metric: Metric, k: int) -> Comparison:
    value, leader_value = (_rate(one, metric, k) for one in (entrant, leader))
    scores = [task_scores(ESTIMATORS[metric], one.successes, one.attempts, k) for one in (entrant, leader)]
    unit = lcm(*(one.unit for one in scores))
    a, b = (one.over(unit) for one in scores)
    gains = [x - y for x, y in zip(a, b, strict=True)]
    difference = sum(gains) / (len(gains) * unit)
    below, above = mover(
        (value.low, value.value, value.high),
        (leader_value.low, leader_value.value, leader_value.high),
        correlation(a, b),
    )
    low, high = max(-1.0, difference - below), min(1.0, difference + above)
    return _comparison(entrant, leader, gains, sign_flip_integers(gains), difference=difference, low=low, high=high)


def _compare_means(entrant: Entrant, leader: Entrant, metric: Metric) -> Comparison:
    a, b = (_reported(one, metric) for one in (entrant, leader))
    differences = [x - y for x, y in zip(a, b, strict=True)]
    difference, interval = mean_interval(differences)
    low, high = interval or (None, None)
    gains, test = [-worse for worse in differences], sign_flip_reals(differences)
    return _comparison(entrant, leader, gains, test, difference=difference, low=low, high=high, ratio=_ratio(a, b))


def _comparison(
    entrant: Entrant,
    leader: Entrant,
    gains: Sequence[float],
    test: SignFlip,
    *,
    difference: float,
    low: float | None,
    high: float | None,
    ratio: Ratio | None = None,
) -> Comparison:
    wins, losses = sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)
    return Comparison(
        entrant=entrant.name,
        leader=leader.name,
        difference=difference,
        low=low,
        high=high,
        p=test.p,
        p_adjusted=test.p,
        wins=wins,
        losses=losses,
        equal=len(gains) - wins - losses,
        tasks=len(gains),
        attempts=(entrant.attempts_per_task, leader.attempts_per_task),
        method=test.method,
        ratio=ratio,
    )


def _rate(one: Entrant, metric: Metric, k: int) -> Rate:
    found = rate(ESTIMATORS[metric], one.successes, one.attempts, k)
    if found is None:
        raise ValueError(f"{one.name} has {one.attempts_per_task} attempts per task; {metric} with k={k} needs {k}")
    return found


def _reported(one: Entrant, metric: Metric) -> list[float]:
    known = [value for value in COLUMNS[metric](one) if value is not None]
    if len(known) < len(one.tasks):
        raise ValueError(f"{one.name} reports {metric} on {len(known)} of {len(one.tasks)} tasks; it needs all")
    return known


def _ratio(a: Sequence[float], b: Sequence[float]) -> Ratio | None:
    if min(*a, *b) <= 0:
        return None
    logs = sorted(log(x) - log(y) for x, y in zip(a, b, strict=True))
    from scipy import stats  # noqa: PLC0415 - takes a second to import, and is for a value to read alone

    found = stats.wilcoxon(logs) if any(logs) else None  # pyright: ignore[reportUnknownMemberType]
    p = 1.0 if found is None else float(found.pvalue)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    return Ratio(median(x / y for x, y in zip(a, b, strict=True)), p)
