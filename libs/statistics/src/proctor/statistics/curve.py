"""pass@k and pass^k as functions of k."""

from collections.abc import Sequence
from dataclasses import dataclass

from .rates import Rate, pass_at_k, pass_hat_k


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """`pass_at_k`: at least one of k attempts passes; `pass_hat_k`: all of them do."""

    k: int
    pass_at_k: Rate
    pass_hat_k: Rate


def curve(
    successes: Sequence[int], attempts: Sequence[int], attempts_per_task: int | None = None
) -> tuple[CurvePoint, ...]:
    """Points for k = 1 up to the fewest attempts of a task that has any; arguments as for `pass_at_k`."""
    points: list[CurvePoint] = []
    for k in range(1, min((made for made in attempts if made), default=0) + 1):
        any_of = pass_at_k(successes, attempts, k, attempts_per_task)
        all_of = pass_hat_k(successes, attempts, k, attempts_per_task)
        if any_of and all_of:
            points.append(CurvePoint(k, any_of, all_of))
    return tuple(points)
