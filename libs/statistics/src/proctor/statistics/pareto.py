"""Score against cost: the entrants that no other beats on both."""

from dataclasses import dataclass

from .ranking import Board


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """`on_front`: no entrant is at least as good on both axes and better on one. `tied`: shares rank 1 on score."""

    entrant: str
    score: float
    cost: float
    on_front: bool
    tied: bool


def pareto(scores: Board, costs: Board) -> tuple[ParetoPoint, ...]:
    """Every entrant ranked on both boards and comparable with the leader on score, cheapest first."""
    cost = {row.entrant: row.value.value for row in costs.standings if row.rank is not None and row.value}
    points = [
        (cost[row.entrant], row.value.value, row)
        for row in scores.standings
        if row.rank is not None and row.value and row.comparable and row.entrant in cost
    ]
    return tuple(
        ParetoPoint(
            row.entrant,
            score,
            paid,
            on_front=not any(p <= paid and s >= score and (p, s) != (paid, score) for p, s, _ in points),
            tied=row.rank == 1,
        )
        for paid, score, row in sorted(points, key=lambda point: (point[0], -point[1], point[2].entrant))
    )
