"""Workspaces: what they are called, which repository is theirs, and whether they may spend."""

from typing import Any, Final

import asyncpg

from proctor.contracts.ids import new_id
from proctor.gateway import audit
from proctor.gateway.access.principal import Principal, Role
from proctor.service.errors import Conflicting, Forbidden, NotFound
from proctor.service.postgres import Connection, Pool

_COLUMNS: Final = "w.id, w.name, m.role, w.repo, w.billing, w.created_at"
_MINE: Final = (
    f"SELECT {_COLUMNS} FROM gateway.members m JOIN gateway.workspaces w ON w.id = m.workspace "  # noqa: S608
    "WHERE m.member = $1 "
)
_ANY: Final = (
    f"SELECT {_COLUMNS} FROM gateway.workspaces w "  # noqa: S608
    "LEFT JOIN gateway.members m ON m.workspace = w.id AND m.member = $1 WHERE w.name = $2"
)


async def workspaces_of(pool: Pool, user: str) -> list[dict[str, Any]]:
    """`{id, name, role, repo, billing, created_at}` of each, the first joined first."""
    return [dict(row) for row in await pool.fetch(f"{_MINE}ORDER BY m.added_at, w.id", user)]


async def workspace_of(pool: Pool | Connection, user: str, name: str, role: Role = Role.VIEWER) -> dict[str, Any]:
    """One of the user's, by name. Raises `NotFound`, also for one the user isn't in, and `Forbidden` below the role."""
    row = await pool.fetchrow(f"{_MINE}AND w.name = $2", user, name)
    if row is None:
        raise NotFound(f"there is no workspace {name!r}, or you aren't a member of it")
    if not Role(row["role"]).at_least(role):
        raise Forbidden(f"this needs the role {role} in the workspace {name}; yours is {row['role']}")
    return dict(row)


async def hold(connection: Connection, user: str, name: str) -> dict[str, Any]:
    """The same for an owner, who alone changes it and its members until the transaction ends."""
    # the role is read by a statement of its own: one that waits for a lock sees the other rows as they were before
    await connection.execute("SELECT FROM gateway.workspaces WHERE name = $1 FOR NO KEY UPDATE", name)
    return await workspace_of(connection, user, name, Role.OWNER)


async def hold_any(connection: Connection, user: str, name: str) -> dict[str, Any]:
    """The same for an operator, whether in it or not: then the role is None."""
    await connection.execute("SELECT FROM gateway.workspaces WHERE name = $1 FOR NO KEY UPDATE", name)
    row = await connection.fetchrow(_ANY, user, name)
    if row is None:
        raise NotFound(f"there is no workspace {name!r}")
    return dict(row)


async def create(connection: Connection, who: Principal, *, name: str, repo: str | None, owner: str) -> str:
    """The new workspace's id; `owner` is its first member."""
    identifier = new_id()
    try:
        await connection.execute(
            "INSERT INTO gateway.workspaces (id, name, repo) VALUES ($1, $2, $3)", identifier, name, repo
        )
    except asyncpg.UniqueViolationError as error:
        raise _taken(error, name, repo) from None
    await connection.execute(
        "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, $2, 'owner')", identifier, owner
    )
    about = {"workspace": identifier, "actor": who.user}
    await audit.record(connection, **about, action="workspace.created", target=identifier, detail={"name": name})
    await audit.record(connection, **about, action="member.added", target=owner, detail={"role": Role.OWNER})
    if repo is not None:
        await _record_repo(connection, identifier, who, repo, None)
    return identifier


async def bind_repo(connection: Connection, who: Principal, workspace: dict[str, Any], repo: str | None) -> None:
    """None binds none. Whose clones lead to a workspace isn't its owner's to say: a repository that is bound is out of
    everyone else's reach. Raises `Forbidden`."""
    if repo is not None and not who.operator:
        raise Forbidden(f"only an operator of this installation binds a repository; ask one to bind {repo} to this one")
    try:
        await connection.execute("UPDATE gateway.workspaces SET repo = $2 WHERE id = $1", workspace["id"], repo)
    except asyncpg.UniqueViolationError as error:
        raise _taken(error, workspace["name"], repo) from None
    await _record_repo(connection, workspace["id"], who, repo, workspace["repo"])


async def set_billing(connection: Connection, who: Principal, workspace: dict[str, Any], billing: str) -> None:
    await connection.execute("UPDATE gateway.workspaces SET billing = $2 WHERE id = $1", workspace["id"], billing)
    await audit.record(
        connection,
        workspace=workspace["id"],
        actor=who.user,
        action="billing.changed",
        target=workspace["id"],
        detail={"billing": billing, "was": workspace["billing"]},
    )


async def _record_repo(
    connection: Connection, workspace: str, who: Principal, repo: str | None, was: str | None
) -> None:
    await audit.record(
        connection,
        workspace=workspace,
        actor=who.user,
        action="workspace.repo_bound",
        target=workspace,
        detail={"repo": repo, "was": was},
    )


def _taken(error: asyncpg.UniqueViolationError, name: str, repo: str | None) -> Conflicting:
    if error.constraint_name == "workspaces_repo_key":
        return Conflicting(f"the repository {repo} is bound to another workspace; unbind it there first")
    return Conflicting(f"there is a workspace {name!r} already; choose another name")
