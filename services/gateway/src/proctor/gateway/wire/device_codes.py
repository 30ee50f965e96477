"""Sign-in of a device that has no browser (RFC 8628): it shows a code, and polls until somebody approves that."""

import hashlib
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

from proctor.gateway import audit
from proctor.gateway.access.principal import Principal
from proctor.gateway.access.tokens import Issued, issue
from proctor.service.errors import Conflicting, NotFound
from proctor.service.postgres import Connection, Pool

LIFETIME: Final = timedelta(minutes=15)
INTERVAL_SECONDS: Final = 5
TOKEN_LIFETIME: Final = timedelta(days=90)

_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so no words; none that looks like a digit."""
_USER_CODE_LENGTH: Final = 8

type Waiting = Literal["authorization_pending", "slow_down", "expired_token", "access_denied", "invalid_grant"]

_FIND: Final = """
SELECT hash, device_name, approved, approved_by, approver_expires_at, workspace, expires_at <= now() AS expired,
       coalesce(polled_at + make_interval(secs => interval_seconds - 1) > now(), false) AS early
FROM gateway.device_codes WHERE hash = $1 FOR UPDATE
"""
_POLLED: Final = """
UPDATE gateway.device_codes
SET polled_at = now(), interval_seconds = CASE WHEN $2 THEN least(interval_seconds + 5, 30) ELSE interval_seconds END
WHERE hash = $1
"""
_SHOW: Final = """
SELECT user_code, device_name, created_at, expires_at, approved FROM gateway.device_codes
WHERE user_code = $1 AND expires_at > now()
"""
_DECIDE: Final = """
UPDATE gateway.device_codes SET approved = $2, approved_by = $3, workspace = $4, approver_expires_at = $5
WHERE user_code = $1 AND expires_at > now() AND approved IS NULL RETURNING user_code, device_name, approved
"""


class Codes(NamedTuple):
    """The only time that the device code itself is seen."""

    device_code: str
    user_code: str


class Granted(NamedTuple):
    user: Mapping[str, Any]
    issued: Issued


async def begin(pool: Pool, device_name: str) -> Codes:
    letters = "".join(secrets.choice(_LETTERS) for _ in range(_USER_CODE_LENGTH))
    codes = Codes(secrets.token_urlsafe(32), f"{letters[:4]}-{letters[4:]}")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("DELETE FROM gateway.device_codes WHERE expires_at < now() - interval '1 hour'")
        await connection.execute(
            "INSERT INTO gateway.device_codes (hash, user_code, device_name, expires_at, interval_seconds) "
            "VALUES ($1, $2, $3, now() + $4, $5)",
            _hash(codes.device_code),
            codes.user_code,
            device_name,
            LIFETIME,
            INTERVAL_SECONDS,
        )
    return codes


async def poll(pool: Pool, device_code: str) -> Granted | Waiting:
    """The token, once, when somebody approved the code; else why there is none."""
    async with pool.acquire() as connection, connection.transaction():
        found = await connection.fetchrow(_FIND, _hash(device_code))
        if found is None:
            return "invalid_grant"
        row = dict(found)
        if (waiting := standing(row)) is not None:
            await connection.execute(_POLLED, row["hash"], waiting == "slow_down")
            return waiting
        return await _grant(connection, row)


def standing(row: Mapping[str, Any]) -> Waiting | None:
    """None when the token may be handed out."""
    if row["expired"]:
        return "expired_token"
    if row["approved"] is not None:
        return None if row["approved"] else "access_denied"
    return "slow_down" if row["early"] else "authorization_pending"


async def shown(pool: Pool, user_code: str) -> dict[str, Any]:
    """What somebody is asked to approve."""
    row = await pool.fetchrow(_SHOW, _written(user_code))
    if row is None:
        raise _unknown(user_code)
    return dict(row)


async def decide(pool: Pool, who: Principal, user_code: str, *, approve: bool) -> dict[str, Any]:
    """Raises `NotFound`, or `Conflicting` when it was decided before."""
    row = await pool.fetchrow(_DECIDE, _written(user_code), approve, who.user, who.workspace, who.expires_at)
    if row is None:
        await shown(pool, user_code)
        raise Conflicting("this code was approved or denied already; start a new sign-in on the device")
    return dict(row)


async def _grant(connection: Connection, row: Mapping[str, Any]) -> Granted:
    holder, name = row["approved_by"], row["device_name"]
    ends = [datetime.now(UTC) + TOKEN_LIFETIME, row["approver_expires_at"]]
    issued = await issue(connection, holder=holder, name=name, expires_at=min(end for end in ends if end is not None))
    await audit.record(
        connection,
        workspace=row["workspace"],
        actor=holder,
        action="token.created",
        target=issued.id,
        detail={"name": name, "holder": holder, "expires_at": issued.expires_at, "device": True},
    )
    await connection.execute("DELETE FROM gateway.device_codes WHERE hash = $1", row["hash"])
    user = await connection.fetchrow("SELECT id, email, name FROM gateway.users WHERE id = $1", holder)
    return Granted(dict(user or {}), issued)


def _written(user_code: str) -> str:
    """As it is stored, however it was typed."""
    letters = user_code.upper().replace("-", "").replace(" ", "")
    return f"{letters[:4]}-{letters[4:]}"


def _unknown(user_code: str) -> NotFound:
    return NotFound(
        f"no device waits with the code {user_code!r}, or it has expired; start a new sign-in on the device"
    )


def _hash(device_code: str) -> bytes:
    return hashlib.sha256(device_code.encode(errors="replace")).digest()
