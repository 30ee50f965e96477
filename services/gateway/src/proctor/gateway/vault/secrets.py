"""Secrets of a workspace and of its members: their values go in here and come out for a worker alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, Literal, cast, get_args

import asyncpg

from proctor.contracts.config import SECRET_NAME
from proctor.contracts.ids import new_id
from proctor.gateway import audit
from proctor.gateway.access.principal import Principal, Role
from proctor.gateway.edges import Edges
from proctor.gateway.submission.secrets import name_fault, value_fault
from proctor.gateway.vault.sealed import may_seal, place_of
from proctor.service.errors import Forbidden, Invalid, Issue
from proctor.service.postgres import Connection, Pool

Scope = Literal["workspace", "user"]
Found = Literal["workspace", "user", "user_override"]
"""Where the value of a name comes from; an override is a personal one in place of the workspace's."""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
_NEEDS: Final[dict[Scope, Role]] = {"workspace": Role.ADMIN, "user": Role.MEMBER}
_COLUMNS: Final = (
    "s.id, s.name, s.scope, s.version, s.created_at, s.updated_at, s.creator, s.updater, "
    "c.name AS creator_name, u.name AS updater_name"
)
_NAMED: Final = "LEFT JOIN gateway.users c ON c.id = s.creator LEFT JOIN gateway.users u ON u.id = s.updater"

_CLAIM: Final = """
INSERT INTO gateway.secrets (id, workspace, scope, holder, name, version, sealed, key_id, creator, updater)
VALUES ($1, $2, $3, $4, $5, 1, '', '', $6, $6) ON CONFLICT (workspace, scope, holder, name)
DO UPDATE SET version = secrets.version + 1, updater = $6, updated_at = now() RETURNING *
"""


@dataclass(frozen=True, slots=True)
class Secret:
    """All that is ever shown of one. The names are None once the user is gone."""

    id: str
    name: str
    scope: Scope
    version: int
    created_at: datetime
    updated_at: datetime
    creator: str
    updater: str
    creator_name: str | None
    updater_name: str | None


async def put(edges: Edges, who: Principal, name: object, value: object, scope: object) -> Secret:
    """Set it, verbatim. Raises `Invalid` or `Forbidden`; neither repeats the value."""
    place = _checked(who, name, scope)
    if (fault := value_fault(value)) is not None:
        raise _invalid("value", fault)
    async with edges.pool.acquire() as connection, connection.transaction():
        await may_seal(connection)
        # claims the row, so that two who set it at once get versions of their own
        row = await _claim(connection, who, place)
        await connection.execute(
            "UPDATE gateway.secrets SET sealed = $2, key_id = $3 WHERE id = $1",
            row["id"],
            edges.sealer.seal(cast("str", value).encode(), place_of("secrets", row)),
            edges.sealer.key_id,
        )
        await _audit(connection, who, "secret.set", place, {"version": row["version"]})
        shown = await connection.fetchrow(
            f"SELECT {_COLUMNS} FROM gateway.secrets s {_NAMED} WHERE s.id = $1",  # noqa: S608
            row["id"],
        )
    assert shown is not None  # noqa: S101 - it is locked
    return _secret(shown)


async def remove(edges: Edges, who: Principal, name: object, scope: object) -> bool:
    """Whether it was there. Raises `Invalid` or `Forbidden`."""
    place = _checked(who, name, scope)
    async with edges.pool.acquire() as connection, connection.transaction():
        version = await connection.fetchval(
            "DELETE FROM gateway.secrets WHERE (workspace, scope, holder, name) = ($1, $2, $3, $4) RETURNING version",
            *place,
        )
        if version is not None:
            await _audit(connection, who, "secret.removed", place, {"version": version})
    return version is not None


async def listed(
    pool: Pool,
    who: Principal,
    scope: Literal["all"] | Scope,
    limit: int,
    offset: int = 0,
    *,
    after: tuple[str, str] | None = None,
) -> tuple[list[Secret], int]:
    """A page and how many there are in all, by name and scope: the workspace's, and the caller's own."""
    mine = "s.workspace = $1 AND s.holder = ANY($2) AND s.scope = ANY($3)"
    holders = ("", who.user)
    scopes = SCOPES if scope == "all" else (scope,)
    rows = await pool.fetch(
        f"SELECT {_COLUMNS} FROM gateway.secrets s {_NAMED} WHERE {mine} "  # noqa: S608
        "AND ($4::text IS NULL OR (s.name, s.scope) > ($4, $5)) ORDER BY s.name, s.scope LIMIT $6 OFFSET $7",
        who.workspace,
        holders,
        scopes,
        *(after or (None, None)),
        limit,
        offset,
    )
    total = await pool.fetchval(
        f"SELECT count(*) FROM gateway.secrets s WHERE {mine}",  # noqa: S608
        who.workspace,
        holders,
        scopes,
    )
    return [_secret(row) for row in rows], total


async def scopes_of(pool: Pool, workspace: str, user: str, names: Iterable[str]) -> dict[str, Found]:
    """Where the value of each name would come from for that user; names that have none are left out."""
    rows = await pool.fetch(
        "SELECT name, array_agg(scope) AS scopes FROM gateway.secrets "
        "WHERE workspace = $1 AND holder = ANY($2) AND name = ANY($3) GROUP BY name",
        workspace,
        ("", user),
        list(names),
    )
    return {row["name"]: "user_override" if len(row["scopes"]) > 1 else row["scopes"][0] for row in rows}


def _checked(who: Principal, name: object, scope: object) -> tuple[str, Scope, str, str]:
    """The place: workspace, scope, holder, name."""
    if scope not in SCOPES:
        raise _invalid("scope", f"must be one of {', '.join(SCOPES)}")
    if not isinstance(name, str) or name_fault(name) is not None:
        raise _invalid("name", f"must be of the form {SECRET_NAME}, 255 characters at most")
    needed = _NEEDS[scope]
    if not who.may(needed):
        whose = "the workspace's secrets" if scope == "workspace" else "secrets of your own"
        raise Forbidden(f"to change {whose} you need the role {needed}; yours in this workspace is {who.role}")
    return who.workspace, scope, "" if scope == "workspace" else who.user, name


async def _claim(connection: Connection, who: Principal, place: tuple[str, Scope, str, str]) -> asyncpg.Record:
    try:
        row = await connection.fetchrow(_CLAIM, new_id(), *place, who.user)
    except asyncpg.ForeignKeyViolationError:
        message = "you aren't a member of this workspace any more; ask its owner to add you"
        raise Forbidden(message, code="WORKSPACE_ACCESS_DENIED") from None
    assert row is not None  # noqa: S101 - an upsert returns its row
    return row


async def _audit(
    connection: Connection, who: Principal, action: str, place: tuple[str, Scope, str, str], detail: Mapping[str, Any]
) -> None:
    workspace, scope, _, name = place
    await audit.record(
        connection,
        workspace=workspace,
        actor=who.user,
        action=action,
        target=name,
        detail={"scope": scope, **detail},
    )


def _invalid(key: str, message: str) -> Invalid:
    return Invalid(f"{key}: {message}", issues=(Issue(key, message),))


def _secret(row: asyncpg.Record) -> Secret:
    return Secret(**{field.name: row[field.name] for field in fields(Secret)})
