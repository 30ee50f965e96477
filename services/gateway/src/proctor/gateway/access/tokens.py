"""Bearer tokens: only their hashes are stored, so they are compared by looking the hash up."""

import hashlib
import secrets
from typing import Final

from proctor.gateway.access.principal import Principal, Role
from proctor.service.errors import Forbidden, Unauthorized
from proctor.service.postgres import Pool

_FIND: Final = """
SELECT u.id AS holder, u.name, u.email, t.expires_at, t.revoked_at IS NOT NULL AS revoked,
       coalesce(t.expires_at < now(), false) AS expired,
       coalesce(t.last_used_at < now() - interval '1 minute', true) AS stale,
       w.id AS workspace, w.name AS workspace_name, m.role
FROM gateway.tokens t
JOIN gateway.users u ON u.id = t.holder
LEFT JOIN (gateway.members m JOIN gateway.workspaces w ON w.id = m.workspace)
       ON m.member = u.id AND ($2::text IS NULL OR w.name = $2)
WHERE t.hash = $1
ORDER BY m.added_at, w.id
LIMIT 1
"""


def new_token() -> str:
    return f"proctor_{secrets.token_urlsafe(32)}"


def token_hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def bearer(header: str | None) -> str:
    """The token of an Authorization header."""
    if not header:
        raise Unauthorized("send the header `Authorization: Bearer <token>`", code="AUTH_HEADER_MISSING")
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthorized("the Authorization header must read `Bearer <token>`", code="TOKEN_MISSING")
    return token.strip()


async def authenticate(pool: Pool, token: str, workspace: str | None) -> Principal:
    """The token's holder in the named workspace, or in the first one joined."""
    hashed = token_hash(token)
    row = await pool.fetchrow(_FIND, hashed, workspace)
    if row is None:
        raise Unauthorized("this token isn't known here", code="TOKEN_INVALID")
    if row["revoked"]:
        raise Unauthorized("this token was revoked", code="TOKEN_REVOKED")
    if row["expired"]:
        raise Unauthorized("this token has expired", code="TOKEN_EXPIRED")
    if row["workspace"] is None:
        raise Forbidden("there is no such workspace, or you aren't a member of it", code="WORKSPACE_ACCESS_DENIED")
    if row["stale"]:
        await pool.execute("UPDATE gateway.tokens SET last_used_at = now() WHERE hash = $1", hashed)
    return Principal(
        user=row["holder"],
        user_name=row["name"],
        email=row["email"],
        workspace=row["workspace"],
        workspace_name=row["workspace_name"],
        role=Role(row["role"]),
        expires_at=row["expires_at"],
    )


async def workspaces_of(pool: Pool, user: str) -> list[dict[str, str]]:
    rows = await pool.fetch(
        "SELECT w.id, w.name, m.role FROM gateway.members m JOIN gateway.workspaces w ON w.id = m.workspace "
        "WHERE m.member = $1 ORDER BY m.added_at, w.id",
        user,
    )
    return [dict(row) for row in rows]
