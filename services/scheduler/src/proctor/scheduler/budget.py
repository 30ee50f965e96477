"""Whether a run may use more: what its budget says, against what it and its workspace's month have used."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from proctor.contracts.events import Budget, BudgetReached
from proctor.contracts.folds.run import RunState

Scope = Literal["run", "month"]
Unit = Literal["usd", "attempts"]


class Used(NamedTuple):
    attempts: int = 0
    usd: float = 0.0


def used_by(state: RunState) -> Used:
    return Used(state.dispatches, state.llm_usd + state.sandbox_usd)


def total(parts: Iterable[Used]) -> Used:
    listed = list(parts)
    return Used(sum(part.attempts for part in listed), sum(part.usd for part in listed))


def reached(budget: Budget | None, run: Used, month: Used) -> BudgetReached | None:
    """The first limit that leaves no room for another attempt."""
    if budget is None:
        return None
    limits: tuple[tuple[Scope, Unit, float | None, float], ...] = (
        ("run", "attempts", budget.attempts, run.attempts),
        ("run", "usd", budget.usd, run.usd),
        ("month", "attempts", budget.month_attempts, month.attempts),
        ("month", "usd", budget.month_usd, month.usd),
    )
    for scope, unit, limit, used in limits:
        if limit is not None and used >= limit:
            return BudgetReached(scope=scope, unit=unit, limit=limit, used=used)
    return None


def room(budget: Budget | None, run: Used, month: Used) -> float:
    """How many attempts more may be dispatched; infinite without a limit on them."""
    if budget is None:
        return float("inf")
    if reached(budget, run, month) is not None:
        return 0
    left = (
        limit - used
        for limit, used in ((budget.attempts, run.attempts), (budget.month_attempts, month.attempts))
        if limit is not None
    )
    return min(left, default=float("inf"))
