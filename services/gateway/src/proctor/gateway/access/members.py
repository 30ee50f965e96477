"""Who is in a workspace, with which role. It always keeps an owner."""

from typing import Any, Final

from proctor.gateway import audit
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.access.workspaces import hold
from proctor.service.errors import Conflicting, NotFound
from proctor.service.postgres import Connection, Pool

_MEMBERS: Final = (
    "SELECT u.id, u.name, u.email, m.role, m.added_at FROM gateway.members m JOIN gateway.users u ON u.id = m.member "
    "WHERE m.workspace = $1 "
)


async def listed(pool: Pool, workspace: str, after: str | None, limit: int) -> list[dict[str, Any]]:
    """By e-mail; `after` is the last one's."""
    query = f"{_MEMBERS}AND ($2::text IS NULL OR lower(u.email) > lower($2)) ORDER BY lower(u.email) LIMIT $3"
    return [dict(row) for row in await pool.fetch(query, workspace, after, limit)]


async def add(pool: Pool, who: Principal, name: str, user: dict[str, Any], role: Role) -> dict[str, Any]:
    """Raises `Conflicting` for one who is a member already."""
    async with pool.acquire() as connection, connection.transaction():
        workspace = await hold(connection, who.user, name)
        added = await connection.fetchval(
            "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING "
            "RETURNING member",
            workspace["id"],
            user["id"],
            role,
        )
        if added is None:
            raise Conflicting(f"{user['email']} is a member of {name} already; change the role instead")
        about = _about(who, workspace, user["id"])
        await audit.record(connection, **about, action="member.added", detail={"role": role})
        return await _member(connection, workspace, user["id"])


async def set_role(pool: Pool, who: Principal, name: str, user: str, role: Role) -> dict[str, Any]:
    async with pool.acquire() as connection, connection.transaction():
        workspace = await hold(connection, who.user, name)
        member = await _member(connection, workspace, user)
        if role is not Role.OWNER:
            await _check_owner_remains(connection, workspace, member)
        if member["role"] == role:
            return member
        await connection.execute(
            "UPDATE gateway.members SET role = $3 WHERE workspace = $1 AND member = $2",
            workspace["id"],
            member["id"],
            role,
        )
        about = _about(who, workspace, member["id"])
        change = {"role": role, "was": member["role"]}
        await audit.record(connection, **about, action="member.role_changed", detail=change)
        return {**member, "role": role}


async def remove(pool: Pool, who: Principal, name: str, user: str) -> None:
    async with pool.acquire() as connection, connection.transaction():
        workspace = await hold(connection, who.user, name)
        member = await _member(connection, workspace, user)
        await _check_owner_remains(connection, workspace, member)
        await connection.execute(
            "DELETE FROM gateway.members WHERE workspace = $1 AND member = $2", workspace["id"], member["id"]
        )
        about = _about(who, workspace, member["id"])
        await audit.record(connection, **about, action="member.removed", detail={"was": member["role"]})


async def _member(connection: Connection, workspace: dict[str, Any], user: str) -> dict[str, Any]:
    query = f"{_MEMBERS}AND (u.id = $2 OR lower(u.email) = lower($2))"
    row = await connection.fetchrow(query, workspace["id"], user)
    if row is None:
        raise NotFound(f"there is no member {user!r} in the workspace {workspace['name']}")
    return dict(row)


async def _check_owner_remains(connection: Connection, workspace: dict[str, Any], leaving: dict[str, Any]) -> None:
    others = await connection.fetchval(
        "SELECT count(*) FROM gateway.members WHERE workspace = $1 AND role = 'owner' AND member <> $2",
        workspace["id"],
        leaving["id"],
    )
    if not others:
        raise Conflicting(
            f"{leaving['email']} is the only owner of {workspace['name']}; make another member an owner first",
            code="LAST_OWNER",
        )


def _about(who: Principal, workspace: dict[str, Any], user: str) -> dict[str, str]:
    return {"workspace": workspace["id"], "actor": who.user, "target": user}
