"""Workspaces and their members. The role that counts is the caller's in the workspace that the path names."""

from typing import Any, Final, Literal

from litestar import delete, get, patch, post
from litestar.params import FromPath
from pydantic import BaseModel, ConfigDict

from proctor.gateway.access import members, users
from proctor.gateway.access import workspaces as access
from proctor.gateway.access.fields import Email, Repo, WorkspaceName
from proctor.gateway.access.middleware import UNSCOPED
from proctor.gateway.access.principal import Role
from proctor.gateway.answers.accounts import Member, Members, Workspace, Workspaces
from proctor.gateway.body import ApiRequest
from proctor.gateway.edges import Opened
from proctor.gateway.paging import DEFAULT_LIMIT, decode_cursor, page
from proctor.gateway.routes.accounts import operators
from proctor.gateway.routes.bodies import read
from proctor.gateway.routes.operations import described
from proctor.gateway.routes.parameters import Cursor, Limit

RoleName = Literal["viewer", "member", "admin", "owner"]
_FREE: Final = {UNSCOPED: True}


class NewWorkspace(BaseModel):
    """`owner` is an e-mail; without it, the caller."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: WorkspaceName
    repo: Repo | None = None
    owner: Email | None = None


class WorkspaceChange(BaseModel):
    """What is absent stays; a `repo` of null binds none, another is for operators."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo: Repo | None = None
    billing: Literal["ok", "suspended"] = "ok"


class NewMember(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    email: Email
    role: RoleName = "member"


class MemberChange(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    role: RoleName


@get("/workspaces", opt=_FREE, operation_class=described(Workspaces))
async def list_workspaces(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    return {"items": await access.workspaces_of(edges.pool, request.user.user), "next_cursor": None}


@post("/workspaces", guards=[operators], opt=_FREE, operation_class=described(Workspace, 404, 409, body=NewWorkspace))
async def create_workspace(request: ApiRequest, edges: Opened) -> dict[str, Any]:
    new = await read(request, NewWorkspace)
    owner = (await users.by_email(edges.pool, new.owner))["id"] if new.owner else request.user.user
    async with edges.pool.acquire() as connection, connection.transaction():
        await access.create(connection, request.user, name=new.name, repo=new.repo, owner=owner)
        return await access.workspace_of(connection, owner, new.name)


@get("/workspaces/{name:str}", opt=_FREE, operation_class=described(Workspace))
async def get_workspace(request: ApiRequest, edges: Opened, name: FromPath[str]) -> dict[str, Any]:
    return await access.workspace_of(edges.pool, request.user.user, name)


@patch("/workspaces/{name:str}", opt=_FREE, operation_class=described(Workspace, 409, body=WorkspaceChange))
async def change_workspace(request: ApiRequest, edges: Opened, name: FromPath[str]) -> dict[str, Any]:
    """For its owners; operators bind a repository to any, and nobody else does."""
    who = request.user
    if not who.operator:
        await access.workspace_of(edges.pool, who.user, name, Role.OWNER)
    change = await read(request, WorkspaceChange)
    hold = access.hold_any if who.operator and change.model_fields_set == {"repo"} else access.hold
    async with edges.pool.acquire() as connection, connection.transaction():
        workspace = await hold(connection, who.user, name)
        if "repo" in change.model_fields_set and change.repo != workspace["repo"]:
            await access.bind_repo(connection, who, workspace, change.repo)
        if "billing" in change.model_fields_set and change.billing != workspace["billing"]:
            await access.set_billing(connection, who, workspace, change.billing)
    return workspace | change.model_dump(exclude_unset=True)


@get("/workspaces/{name:str}/members", opt=_FREE, operation_class=described(Members))
async def list_members(
    request: ApiRequest, edges: Opened, name: FromPath[str], limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> dict[str, Any]:
    workspace = await access.workspace_of(edges.pool, request.user.user, name, Role.ADMIN)
    after = decode_cursor(cursor, str)
    return page(
        await members.listed(edges.pool, workspace["id"], after[0] if after else None, limit + 1), limit, "email"
    )


@post("/workspaces/{name:str}/members", opt=_FREE, operation_class=described(Member, 409, body=NewMember))
async def add_member(request: ApiRequest, edges: Opened, name: FromPath[str]) -> dict[str, Any]:
    await access.workspace_of(edges.pool, request.user.user, name, Role.OWNER)
    new = await read(request, NewMember)
    user = await users.by_email(edges.pool, new.email)
    return await members.add(edges.pool, request.user, name, user, Role(new.role))


@patch(
    "/workspaces/{name:str}/members/{user:str}", opt=_FREE, operation_class=described(Member, 409, body=MemberChange)
)
async def change_member(request: ApiRequest, edges: Opened, name: FromPath[str], user: FromPath[str]) -> dict[str, Any]:
    await access.workspace_of(edges.pool, request.user.user, name, Role.OWNER)
    change = await read(request, MemberChange)
    return await members.set_role(edges.pool, request.user, name, user, Role(change.role))


@delete("/workspaces/{name:str}/members/{user:str}", opt=_FREE, operation_class=described(None, 409))
async def remove_member(request: ApiRequest, edges: Opened, name: FromPath[str], user: FromPath[str]) -> None:
    await members.remove(edges.pool, request.user, name, user)


HANDLERS: Final = [
    list_workspaces,
    create_workspace,
    get_workspace,
    change_workspace,
    list_members,
    add_member,
    change_member,
    remove_member,
]
