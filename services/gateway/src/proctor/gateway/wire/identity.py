"""Who the caller is, where they belong, and how far they are set up."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from litestar import delete, get, post
from litestar.params import FromPath, QueryParameter

from proctor.gateway import audit
from proctor.gateway.access.middleware import UNSCOPED
from proctor.gateway.access.tokens import revoke
from proctor.gateway.access.workspaces import workspaces_of
from proctor.gateway.body import ApiRequest, read_object
from proctor.gateway.edges import Edges, Opened
from proctor.gateway.wire.scope import GIT_HEADER
from proctor.service.errors import Forbidden, Invalid, Issue, NotFound

ANYWHERE: Final = {UNSCOPED: True}
UNLIMITED: Final = timedelta(days=90)
"""What the command takes for a token without an expiry."""
INTENTS: Final = ("train", "eval", "benchmark", "explore")

Organization = Annotated[str, QueryParameter(name="organizationId", max_length=255)]


@get("/verify", opt=ANYWHERE, sync_to_thread=False)
def verify(request: ApiRequest) -> dict[str, Any]:
    who = request.user
    workspace = {"id": who.workspace, "name": who.workspace_name, "role": who.role}
    return {
        "user": {"id": who.user, "email": who.email, "name": who.user_name},
        "token_id": who.token_id,
        "expires_at": who.expires_at or datetime.now(UTC) + UNLIMITED,
        "workspace": workspace if GIT_HEADER in request.headers else None,
    }


@delete("/tokens/{token:str}", opt=ANYWHERE)
async def revoke_token(request: ApiRequest, edges: Opened, token: FromPath[str]) -> None:
    who = request.user
    async with edges.pool.acquire() as connection, connection.transaction():
        if not await revoke(connection, who.user, token):
            raise NotFound(
                "you have no such token, or it can't be revoked: it was already, or is that of the platform's home"
            )
        await audit.record(
            connection,
            workspace=who.workspace,
            actor=who.user,
            action="token.revoked",
            target=token,
            detail={"holder": who.user},
        )


@get("/workspaces", opt=ANYWHERE)
async def workspaces(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    rows = await workspaces_of(edges.pool, request.user.user)
    return {"workspaces": [_workspace(row) for row in rows]}


@get("/quickstart", opt=ANYWHERE)
async def quickstart(request: ApiRequest, edges: Opened, organization: Organization) -> dict[str, Any]:
    row = await _member_of(edges, request, organization)
    done = await edges.pool.fetchval(
        "SELECT count(*) FROM gateway.quickstarts WHERE workspace = $1 AND member = $2", row["id"], request.user.user
    )
    return {
        "repo": {"connected": row["repo"] is not None, "full_name": row["repo"]},
        "billing_ready": row["billing"] == "ok",
        "completed": bool(done),
    }


@post("/quickstart", opt=ANYWHERE, status_code=200)
async def complete_quickstart(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    body = await read_object(request)
    intent = body.get("intent")
    if intent not in INTENTS:
        message = f"must be one of {', '.join(INTENTS)}"
        raise Invalid(f"intent: {message}", issues=(Issue("intent", message),))
    row = await _member_of(edges, request, body.get("organizationId"))
    await edges.pool.execute(
        "INSERT INTO gateway.quickstarts (workspace, member, intent) VALUES ($1, $2, $3) "
        "ON CONFLICT (workspace, member) DO UPDATE SET intent = excluded.intent",
        row["id"],
        request.user.user,
        intent,
    )
    return {"completed": True}


async def _member_of(edges: Edges, request: ApiRequest, workspace: object) -> dict[str, Any]:
    for row in await workspaces_of(edges.pool, request.user.user):
        if row["id"] == workspace:
            return row
    raise Forbidden("there is no such workspace, or you aren't a member of it", code="WORKSPACE_ACCESS_DENIED")


def _workspace(row: dict[str, Any]) -> dict[str, Any]:
    repo = row["repo"]
    return {
        "id": row["id"],
        "name": row["name"],
        "role": row["role"],
        "has_billing_setup": row["billing"] == "ok",
        "connected_repo": None if repo is None else {"id": repo, "repo_full_name": repo},
    }
