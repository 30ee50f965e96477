"""Who the caller is and where they belong."""

from typing import Any

from litestar import get

from proctor.gateway.access.tokens import workspaces_of
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened


@get("/whoami", sync_to_thread=False)
def whoami(request: ApiRequest) -> dict[str, Any]:
    who = request.user
    return {
        "user": {"id": who.user, "name": who.user_name, "email": who.email},
        "workspace": {"id": who.workspace, "name": who.workspace_name, "role": who.role},
        "token": {"expires_at": who.expires_at},
    }


@get("/workspaces")
async def workspaces(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    return {"items": await workspaces_of(edges.pool, request.user.user), "next_cursor": None}
