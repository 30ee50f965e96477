"""A benchmark's board at one place of the log, from the entries up to it. Pure."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from proctor.leaderboard.entry import STORED_SCORES, Entry
from proctor.leaderboard.scores import Json, metrics
from proctor.statistics import (
    Board,
    Comparison,
    Entrant,
    Metric,
    Standing,
    pareto,
    rank,
    sign_flip_integers,
    sign_flip_reals,
)

RANKED_BY: Final = (Metric.PASS_AT_1, Metric.PASS_AT_K, Metric.COST, Metric.TIME, Metric.TOKENS)


def board(position: int, entries: Sequence[Entry]) -> Json:
    """One row per entrant, from its latest eligible run by log position; below, the latest run of each entrant where
    that one isn't eligible, with the rules it fails."""
    ranked = _latest([entry for entry in entries if entry.eligible])
    scores = {name: STORED_SCORES.validate_python(entry.scores) for name, entry in ranked.items()}
    boards = {metric: rank(list(scores.values()), metric) for metric in RANKED_BY}
    return {
        "position": position,
        "rows": [_row(ranked[name], scores[name]) for name in _order(boards[Metric.PASS_AT_1])],
        "ranks": {metric.value: _ranks(found) for metric, found in boards.items()},
        "ineligible": [
            {**entry.row, "rules": list(entry.rules)}
            for entry in sorted(_latest(entries).values(), key=_age, reverse=True)
            if not entry.eligible
        ],
        "pareto": [asdict(point) for point in pareto(boards[Metric.PASS_AT_1], boards[Metric.COST])],
    }


def _latest(entries: Sequence[Entry]) -> dict[str, Entry]:
    return {entry.entrant: entry for entry in sorted(entries, key=_age)}


def _age(entry: Entry) -> tuple[int, int]:
    return entry.position, entry.agent


def _order(found: Board) -> list[str]:
    return [standing.entrant for standing in found.standings]


def _row(entry: Entry, scores: Entrant) -> Json:
    return {**entry.row, "metrics": metrics(scores)}


def _ranks(found: Board) -> Json:
    tests = sum(standing.comparison is not None for standing in found.standings)
    return {
        "k": found.k,
        "leader": found.leader,
        "standings": [_standing(standing, tests, found.alpha) for standing in found.standings],
    }


def _standing(standing: Standing, tests: int, alpha: float) -> dict[str, Any]:
    return {
        "entrant": standing.entrant,
        "rank": standing.rank,
        "tied": standing.tied,
        "comparable": standing.comparable,
        "reasons": list(standing.reasons),
        "comparison": _comparison(standing.comparison, tests, alpha) if standing.comparison else None,
    }


def _comparison(found: Comparison, tests: int, alpha: float) -> Json:
    apart = found.p_adjusted <= alpha
    return {**asdict(found), "too_few_tasks": not apart and tests * _least_p(found) > alpha}


def _least_p(found: Comparison) -> float:
    """What the same test says of an entrant that is better on each of so many tasks: no result is clearer."""
    if found.method == "sign_flip_mid_p":
        return sign_flip_integers([1] * found.tasks).p
    return sign_flip_reals([1.0] * found.tasks).p
