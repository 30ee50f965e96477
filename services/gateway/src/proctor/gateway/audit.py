"""Who changed what: rows that are only ever added, in the transaction of the change itself."""

from typing import Any

from proctor.service.postgres import Connection, Pool


async def record(
    connection: Connection,
    *,
    workspace: str,
    actor: str,
    action: str,
    target: str,
    detail: dict[str, Any] | None = None,
) -> None:
    """`actor` is a user's id, `action` is `noun.past_participle`; `detail` holds nothing secret."""
    await connection.execute(
        "INSERT INTO gateway.audit (workspace, actor, action, target, detail) VALUES ($1, $2, $3, $4, $5)",
        workspace,
        actor,
        action,
        target,
        detail,
    )


async def listed(pool: Pool, workspace: str, before: int | None, limit: int) -> list[dict[str, Any]]:
    """Newest first, with the e-mail of the actor, and of the target where that is a user."""
    rows = await pool.fetch(
        "SELECT a.id, a.at, a.actor, u.email AS actor_email, a.action, a.target, t.email AS target_email, a.detail "
        "FROM gateway.audit a LEFT JOIN gateway.users u ON u.id = a.actor LEFT JOIN gateway.users t ON t.id = a.target "
        "WHERE a.workspace = $1 AND ($2::bigint IS NULL OR a.id < $2) ORDER BY a.id DESC LIMIT $3",
        workspace,
        before,
        limit,
    )
    return [dict(row) for row in rows]
