"""Who is best, who can't be told from the best, and in what order the rest follow.

Every entrant comparable with the leader is tested against it, Holm-adjusted; those that the data can't separate
from it share rank 1. That keeps the chance that an entrant as good as the best is left out of rank 1 below 1 in 20
for each entrant. A tied entrant may stand above one with a better value, whose difference is less noisy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Literal

from .comparison import Comparison, compare, incomparable
from .entrant import Entrant
from .means import Mean
from .metric import COLUMNS, NEEDS_K, Metric, measure
from .rates import Rate

ALPHA = 0.05

type Reason = Literal["version", "task_set", "incomplete", "metric_k", "unreported"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A row of the board. `tied`: shares rank 1 with the leader, which itself is not tied.

    `reasons` says why it wasn't tested against the leader; with `incomplete`, `metric_k` (too few attempts) or
    `unreported` (unknown on some task) it has no rank either.
    """

    entrant: str
    rank: int | None
    tied: bool
    value: Rate | Mean | None
    reasons: tuple[Reason, ...] = ()
    comparison: Comparison | None = None

    @property
    def comparable(self) -> bool:
        return not self.reasons


@dataclass(frozen=True, slots=True)
class Board:
    """Standings in display order: leader, tied, others by value, unranked."""

    metric: Metric
    k: int | None
    alpha: float
    leader: str | None
    standings: tuple[Standing, ...]


@dataclass(frozen=True, slots=True)
class _Row:
    entrant: Entrant
    value: Rate | Mean | None
    badness: float
    barred: tuple[Reason, ...]

    @property
    def name(self) -> str:
        return self.entrant.name

    @property
    def order(self) -> tuple[float, int, str]:
        return self.badness, self.entrant.finished, self.name


def rank(entrants: Sequence[Entrant], metric: Metric, k: int | None = None) -> Board:
    """Rank the entrants of one benchmark; k is for pass@k and pass^k, by default `default_k(entrants)`.

    ValueError for two entrants of one name, and for a k that the metric doesn't take.
    """
    if len({one.name for one in entrants}) < len(entrants):
        raise ValueError("two entrants have the same name; give the later run of the two")
    if k is not None and (metric not in NEEDS_K or k < 1):
        raise ValueError(f"k is {k}; {metric} takes {'k >= 1' if metric in NEEDS_K else 'no k'}")
    if metric in NEEDS_K and k is None:
        k = default_k(entrants)
    rows = sorted((_row(one, metric, k) for one in entrants), key=lambda row: row.order)
    ranked = [row for row in rows if not row.barred]
    unranked = [Standing(row.name, None, False, row.value, row.barred) for row in rows if row.barred]
    leader = ranked[0].name if ranked else None
    return Board(metric, k, ALPHA, leader, (*_standings(ranked, metric, k or 1), *unranked))


def default_k(entrants: Sequence[Entrant]) -> int | None:
    """The largest k that all complete entrants with more than one attempt have; None if there are none."""
    return min((one.attempts_per_task for one in entrants if one.complete and one.attempts_per_task > 1), default=None)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment, in the order given."""
    adjusted, floor = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        floor = max(floor, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = floor
    return adjusted


def _row(entrant: Entrant, metric: Metric, k: int | None) -> _Row:
    value = None if metric in NEEDS_K and k is None else measure(entrant, metric, k or 1)
    unmeasured: Reason = "unreported" if metric in COLUMNS else "metric_k"
    bars: dict[Reason, bool] = {"incomplete": not entrant.complete, unmeasured: value is None}
    sign = 1 if metric in COLUMNS else -1
    badness = inf if value is None else sign * value.value
    return _Row(entrant, value, badness, tuple(reason for reason, holds in bars.items() if holds))


def _standings(ranked: Sequence[_Row], metric: Metric, k: int) -> list[Standing]:
    """Standings of rows that are in order of value, the leader first."""
    if not ranked:
        return []
    leader, others = ranked[0], ranked[1:]
    apart = {row.name: incomparable(row.entrant, leader.entrant) for row in others}
    tests = _adjusted([compare(row.entrant, leader.entrant, metric, k) for row in others if not apart[row.name]])
    tied = {name for name, test in tests.items() if test.p_adjusted > ALPHA}
    rest = [row for row in others if row.name not in tied]

    def standing(row: _Row, place: int) -> Standing:
        return Standing(row.name, place, row.name in tied, row.value, apart[row.name], tests.get(row.name))

    return [
        Standing(leader.name, 1, False, leader.value),
        *(standing(row, 1) for row in others if row.name in tied),
        *(standing(row, 2 + len(tied) + sum(o.badness < row.badness for o in rest)) for row in rest),
    ]


def _adjusted(tests: Sequence[Comparison]) -> dict[str, Comparison]:
    adjusted = holm([test.p for test in tests])
    return {test.entrant: replace(test, p_adjusted=p) for test, p in zip(tests, adjusted, strict=True)}
