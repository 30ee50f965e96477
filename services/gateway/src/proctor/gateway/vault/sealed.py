"""The tables that hold something sealed, and where each row's text is bound to."""

from typing import Final

import asyncpg

from proctor.service.postgres import Connection, Pool

_SEALING: Final = 0x53454C44
_ROTATING: Final = 0x524F5441

TABLES: Final[dict[str, tuple[str, ...]]] = {
    "secrets": ("workspace", "scope", "holder", "name", "id", "version"),
    "run_values": ("workspace", "run"),
    "run_secrets": ("workspace", "run"),
}


def place_of(table: str, row: asyncpg.Record) -> str:
    return "/".join((table, *(str(row[column]) for column in TABLES[table])))


def run_place(table: str, workspace: str, run: str) -> str:
    return f"{table}/{workspace}/{run}"


async def may_seal(connection: Connection) -> None:
    """Ask before sealing, in the transaction that stores it: a rotation does away with a key only when nobody is
    about to store what it sealed."""
    await connection.execute("SELECT pg_advisory_xact_lock_shared($1)", _SEALING)


async def nobody_seals(connection: Connection) -> None:
    """Until the end of the transaction."""
    await connection.execute("SELECT pg_advisory_xact_lock($1)", _SEALING)


async def alone_rotates(connection: Connection) -> bool:
    """Whether it is until the end of the transaction: not while another gateway or caller is at it."""
    return bool(await connection.fetchval("SELECT pg_try_advisory_xact_lock($1)", _ROTATING))


async def counted(pool: Pool | Connection) -> dict[str | None, int]:
    """How much is sealed with each key. None: a row that doesn't say."""
    union = " UNION ALL ".join(f"SELECT key_id FROM gateway.{table}" for table in TABLES)  # noqa: S608
    rows = await pool.fetch(f"SELECT key_id, count(*) FROM ({union}) sealed GROUP BY key_id")  # noqa: S608
    return {row["key_id"]: row["count"] for row in rows}
