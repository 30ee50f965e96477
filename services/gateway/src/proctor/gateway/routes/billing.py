"""A workspace's budget, and what this month has used of it."""

from typing import Any, Final

from litestar import get, put
from litestar.handlers.base import BaseRouteHandler
from litestar.params import FromPath

from proctor.gateway.access import workspaces
from proctor.gateway.access.middleware import UNSCOPED
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.accounts import BudgetState
from proctor.gateway.billing import budgets
from proctor.gateway.billing.budget import WorkspaceBudget
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import described

_FREE: Final = {UNSCOPED: True}


@get("/workspaces/{name:str}/budget", opt=_FREE, operation_class=described(BudgetState))
async def get_budget(request: ApiRequest, edges: Opened, name: FromPath[str]) -> dict[str, Any]:
    workspace = await workspaces.workspace_of(edges.pool, request.user.user, name)
    return await _shown(edges, workspace["id"])


@put("/workspaces/{name:str}/budget", opt=_FREE, operation_class=described(BudgetState, body=WorkspaceBudget))
async def set_budget(request: ApiRequest, edges: Opened, name: FromPath[str]) -> dict[str, Any]:
    """The whole budget: what is absent is no limit."""
    await workspaces.workspace_of(edges.pool, request.user.user, name, Role.OWNER)
    budget = await read(request, WorkspaceBudget)
    async with edges.pool.acquire() as connection, connection.transaction():
        workspace = await workspaces.hold(connection, request.user.user, name)
        await budgets.put(connection, request.user, workspace["id"], budget)
    return await _shown(edges, workspace["id"])


async def _shown(edges: Edges, workspace: str) -> dict[str, Any]:
    used = await budgets.used(edges.pool, workspace)
    return {**await budgets.find(edges.pool, workspace), "used": used._asdict()}


HANDLERS: Final[list[BaseRouteHandler]] = [get_budget, set_budget]
