"""The workspaces' budgets as they are kept, and what counts against them."""

from typing import Any, Final

from proctor.gateway import audit
from proctor.gateway.access.principal import Principal
from proctor.gateway.billing.budget import Used, WorkspaceBudget
from proctor.service.postgres import Connection, Pool

_FIND: Final = """
SELECT b.run_usd, b.run_attempts, b.month_usd, b.month_attempts, b.changed_at, u.email AS changed_by
FROM gateway.budgets b LEFT JOIN gateway.users u ON u.id = b.changed_by WHERE b.workspace = $1
"""
_SET: Final = """
INSERT INTO gateway.budgets (workspace, run_usd, run_attempts, month_usd, month_attempts, changed_by)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (workspace) DO UPDATE SET run_usd = $2, run_attempts = $3, month_usd = $4, month_attempts = $5,
    changed_by = $6, changed_at = now()
"""
# A run counts, whole, in the month in which it was submitted.
_USED: Final = """
SELECT coalesce(sum(coalesce(cost_usd, 0) + coalesce(sandbox_cost_usd, 0)), 0) AS usd,
       coalesce(sum(dispatches), 0) AS attempts
FROM leaderboard.api_runs WHERE workspace = $1 AND submitted_at >= date_trunc('month', now(), 'UTC')
"""


async def find(pool: Pool | Connection, workspace: str) -> dict[str, Any]:
    """The limits, who changed them and when; all None where none were ever set."""
    row = await pool.fetchrow(_FIND, workspace)
    nothing = {**WorkspaceBudget().model_dump(), "changed_at": None, "changed_by": None}
    return dict(row) if row else nothing


async def put(connection: Connection, who: Principal, workspace: str, budget: WorkspaceBudget) -> None:
    """Inside a transaction that holds the workspace."""
    was = limits(await find(connection, workspace))
    if was == budget:
        return
    await connection.execute(_SET, workspace, *budget.model_dump().values(), who.user)
    await audit.record(
        connection,
        workspace=workspace,
        actor=who.user,
        action="budget.changed",
        target=workspace,
        detail={**budget.model_dump(), "was": was.model_dump()},
    )


def limits(row: dict[str, Any]) -> WorkspaceBudget:
    return WorkspaceBudget(**{name: row[name] for name in WorkspaceBudget.model_fields})


async def used(pool: Pool, workspace: str) -> Used:
    row = await pool.fetchrow(_USED, workspace)
    return Used(row["usd"], row["attempts"]) if row else Used()
