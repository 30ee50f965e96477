"""Whether a workspace may begin a run, and within which limits."""

from typing import Final

from proctor.contracts.events.run import Budget
from proctor.gateway.access.principal import Principal
from proctor.gateway.billing import budgets
from proctor.gateway.billing.budget import RunBudget, Used, effective, refusal
from proctor.service.errors import BillingRequired
from proctor.service.postgres import Pool

_BILLING: Final = "SELECT billing FROM gateway.workspaces WHERE id = $1"


async def admit(pool: Pool, who: Principal, own: RunBudget, attempts: int) -> Budget | None:
    """The limits of a new run that plans so many attempts. Raises `BillingRequired`."""
    name = who.workspace_name
    if await pool.fetchval(_BILLING, who.workspace) == "suspended":
        raise BillingRequired(
            f"the workspace {name} is suspended and can't begin a run: have an owner lift that with "
            f"`proctor workspace billing {name} ok`"
        )
    workspace = budgets.limits(await budgets.find(pool, who.workspace))
    monthly = workspace.month_usd is not None or workspace.month_attempts is not None
    used = await budgets.used(pool, who.workspace) if monthly else Used()
    if why := refusal(name, workspace, used, attempts if own.attempts is None else min(attempts, own.attempts)):
        raise BillingRequired(why)
    return effective(own, workspace)
