"""Bearer tokens: only their hashes are stored, so they are compared by looking the hash up."""

import hashlib
import secrets
from datetime import datetime
from typing import Any, Final, NamedTuple

import asyncpg

from proctor.contracts.ids import new_id
from proctor.gateway.access.principal import Principal, Role
from proctor.service.errors import Forbidden, Unauthorized
from proctor.service.postgres import Connection, Pool

_FIND: Final = """
SELECT u.id AS holder, u.name, u.email, u.operator, t.id AS token_id, t.name AS token_name, t.expires_at,
       t.revoked_at IS NOT NULL AS revoked, coalesce(t.expires_at <= now(), false) AS expired,
       coalesce(t.last_used_at < now() - interval '1 minute', true) AS stale,
       w.id AS workspace, w.name AS workspace_name, m.role
FROM gateway.tokens t
JOIN gateway.users u ON u.id = t.holder
LEFT JOIN (gateway.members m JOIN gateway.workspaces w ON w.id = m.workspace)
       ON m.member = u.id AND ($2::text IS NULL OR w.name = $2) AND ($3::text IS NULL OR w.repo = $3)
WHERE t.hash = $1
ORDER BY m.added_at, w.id
LIMIT 1
"""


class Issued(NamedTuple):
    """The only time that the token itself is seen."""

    id: str
    token: str
    expires_at: datetime | None


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


async def issue(connection: Connection, *, holder: str, name: str, expires_at: datetime | None) -> Issued:
    """`expires_at` None: it never does."""
    issued = Issued(new_id(), new_token(), expires_at)
    await connection.execute(
        "INSERT INTO gateway.tokens (hash, id, holder, name, expires_at) VALUES ($1, $2, $3, $4, $5)",
        token_hash(issued.token),
        issued.id,
        holder,
        name,
        expires_at,
    )
    return issued


async def revoke(pool: Pool | Connection, holder: str, token_id: str) -> bool:
    """Whether the holder had such a token that wasn't revoked yet. The home's is none: a new file replaces it."""
    revoked = await pool.fetchval(
        "UPDATE gateway.tokens SET revoked_at = now() "
        "WHERE holder = $1 AND id = $2 AND revoked_at IS NULL AND NOT from_home RETURNING id",
        holder,
        token_id,
    )
    return revoked is not None


async def authenticate(
    pool: Pool, token: str, *, workspace: str | None = None, repo: str | None = None, scoped: bool = True
) -> Principal:
    """The token's holder in the named workspace, in the one bound to the repo (lower-case `owner/name`), or in the
    first one joined. `scoped` False lets holders through who haven't joined any."""
    hashed = token_hash(token)
    row = await pool.fetchrow(_FIND, hashed, workspace, repo)
    if row is None:
        raise Unauthorized("this token isn't known here", code="TOKEN_INVALID")
    if row["revoked"]:
        raise Unauthorized("this token was revoked", code="TOKEN_REVOKED")
    if row["expired"]:
        raise Unauthorized("this token has expired", code="TOKEN_EXPIRED")
    if row["workspace"] is None and (scoped or workspace is not None or repo is not None):
        raise _no_access(workspace, repo)
    if row["stale"]:
        await pool.execute("UPDATE gateway.tokens SET last_used_at = now() WHERE hash = $1", hashed)
    return _principal(row)


def _no_access(workspace: str | None, repo: str | None) -> Forbidden:
    """The same whether there is no such workspace or the caller isn't in it."""
    if repo is not None:
        message = f"no workspace of yours is bound to the repository {repo}; ask for access, or an operator to bind it"
        return Forbidden(message, code="GIT_REPOSITORY_ACCESS_DENIED")
    if workspace is not None:
        message = "there is no such workspace, or you aren't a member of it"
    else:
        message = "you aren't a member of any workspace; ask the owner of one to add you"
    return Forbidden(message, code="WORKSPACE_ACCESS_DENIED")


def _principal(row: asyncpg.Record) -> Principal:
    return Principal(
        user=row["holder"],
        user_name=row["name"],
        email=row["email"],
        workspace=row["workspace"] or "",
        workspace_name=row["workspace_name"] or "",
        role=Role(row["role"] or Role.VIEWER),
        token_id=row["token_id"],
        token_name=row["token_name"],
        expires_at=row["expires_at"],
        operator=row["operator"],
    )


async def tokens_of(pool: Pool, holder: str, before: str | None, limit: int) -> list[dict[str, Any]]:
    """Newest first, without those that were revoked; `before` is the id of the last one seen."""
    rows = await pool.fetch(
        "SELECT id, name, created_at, expires_at, last_used_at FROM gateway.tokens "
        "WHERE holder = $1 AND revoked_at IS NULL AND ($2::text IS NULL OR (created_at, id) < "
        "(SELECT created_at, id FROM gateway.tokens WHERE holder = $1 AND id = $2)) "
        "ORDER BY created_at DESC, id DESC LIMIT $3",
        holder,
        before,
        limit,
    )
    return [dict(row) for row in rows]


async def is_from_home(pool: Pool, holder: str, token_id: str) -> bool:
    query = "SELECT from_home FROM gateway.tokens WHERE holder = $1 AND id = $2 AND revoked_at IS NULL"
    return bool(await pool.fetchval(query, holder, token_id))
