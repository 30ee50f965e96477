"""Limits on what runs use, and whether they let a new run in. No I/O."""

from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from proctor.contracts.events.run import Budget

MOST: Final = 1_000_000_000

Dollars = Annotated[float, Field(gt=0, le=MOST, strict=True, allow_inf_nan=False)]
Attempts = Annotated[int, Field(gt=0, le=MOST, strict=True)]


class RunBudget(BaseModel):
    """`[budget]` of a submit: what the run itself may use."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usd: Dollars | None = None
    attempts: Attempts | None = None


NO_BUDGET: Final = RunBudget()


class WorkspaceBudget(BaseModel):
    """What each run of a workspace may use, and all that it submits in a calendar month (UTC). Null is no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_usd: Dollars | None = None
    run_attempts: Attempts | None = None
    month_usd: Dollars | None = None
    month_attempts: Attempts | None = None


class Used(NamedTuple):
    """By the runs that were submitted this month, so far."""

    usd: float = 0.0
    attempts: int = 0


def effective(own: RunBudget, workspace: WorkspaceBudget) -> Budget | None:
    """The smaller of both. None where nothing is limited."""
    budget = Budget(
        usd=_least(own.usd, workspace.run_usd),
        attempts=_least(own.attempts, workspace.run_attempts),
        month_usd=workspace.month_usd,
        month_attempts=workspace.month_attempts,
    )
    return None if budget == Budget() else budget


def refusal(name: str, workspace: WorkspaceBudget, used: Used, attempts: int) -> str | None:
    """Why a run of so many attempts at most can't begin in the workspace of that name, and what helps."""
    return _month_over(name, workspace, used) or _too_many(name, workspace, used, attempts)


def _month_over(name: str, workspace: WorkspaceBudget, used: Used) -> str | None:
    if workspace.month_usd is not None and used.usd >= workspace.month_usd:
        spent, option = f"${used.usd:,.2f} of ${workspace.month_usd:,.2f}", "month-usd"
    elif workspace.month_attempts is not None and used.attempts >= workspace.month_attempts:
        spent, option = f"{used.attempts:,} of {workspace.month_attempts:,} attempts", "month-attempts"
    else:
        return None
    return (
        f"the workspace {name} has used up its budget of this month (UTC), {spent}: wait for the next month, or have "
        f"an owner raise it with `proctor workspace budget {name} --{option} N`"
    )


def _too_many(name: str, workspace: WorkspaceBudget, used: Used, attempts: int) -> str | None:
    month = workspace.month_attempts
    left = None if month is None else month - used.attempts
    for room, where in ((workspace.run_attempts, "in a run"), (left, "more in this month (UTC)")):
        if room is not None and attempts > room:
            return (
                f"the run has {attempts:,} attempts and the workspace {name} allows {room:,} {where}: choose fewer "
                f"tasks, agents or attempts_per_task, or set attempts in [budget] to {room} or less to stop there"
            )
    return None


def _least[Number: (int, float)](one: Number | None, other: Number | None) -> Number | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)
