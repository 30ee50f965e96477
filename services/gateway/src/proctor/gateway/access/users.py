"""The people of an installation."""

from typing import Any, Final

import asyncpg

from proctor.contracts.ids import new_id
from proctor.gateway import audit
from proctor.gateway.access.principal import Principal
from proctor.service.errors import Conflicting, NotFound
from proctor.service.postgres import Pool

_USERS: Final = "SELECT id, name, email, operator, created_at FROM gateway.users "


async def listed(pool: Pool, after: str | None, limit: int) -> list[dict[str, Any]]:
    """By e-mail; `after` is the last one's."""
    query = f"{_USERS}WHERE $1::text IS NULL OR lower(email) > lower($1) ORDER BY lower(email) LIMIT $2"
    return [dict(row) for row in await pool.fetch(query, after, limit)]


async def by_email(pool: Pool, email: str) -> dict[str, Any]:
    row = await pool.fetchrow(f"{_USERS}WHERE lower(email) = lower($1)", email)
    if row is None:
        raise NotFound(f"there is no user {email!r}; an operator of this installation can create one")
    return dict(row)


async def create(pool: Pool, who: Principal, *, name: str, email: str, operator: bool) -> dict[str, Any]:
    """Raises `Conflicting` when the e-mail is another's."""
    async with pool.acquire() as connection, connection.transaction():
        try:
            row = await connection.fetchrow(
                "INSERT INTO gateway.users (id, name, email, operator) VALUES ($1, $2, $3, $4) "
                "RETURNING id, name, email, operator, created_at",
                new_id(),
                name,
                email,
                operator,
            )
        except asyncpg.UniqueViolationError:
            raise Conflicting(f"there is a user {email!r} already") from None
        assert row is not None  # noqa: S101 - an insert returns its row
        about = {"workspace": who.workspace, "actor": who.user}
        await audit.record(connection, **about, action="user.created", target=row["id"], detail={"operator": operator})
        return dict(row)
