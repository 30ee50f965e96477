"""The database: one pool, one schema per service, numbered migrations under an advisory lock."""

import asyncio
import re
from importlib import resources
from typing import Any

import asyncpg
from asyncpg.pool import PoolConnectionProxy

type Pool = asyncpg.Pool[asyncpg.Record]
type Connection = asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]

_FILE = re.compile(r"^(\d{4})_.+\.sql$")
_MIGRATING = 0x50524F43


async def open_pool(url: str, *, size: int = 8, patience: float = 60) -> Pool:
    """Waits for a database that isn't up yet."""
    deadline = asyncio.get_running_loop().time() + patience
    # no floor: the pool's own upkeep would go on retrying while a database is away, and outlive a stop
    pool = await asyncpg.create_pool(
        url,
        min_size=0,
        max_size=size,
        init=_prepare,
        command_timeout=60,
        statement_cache_size=256,
        server_settings={"timezone": "UTC"},
    )
    while True:
        try:
            await pool.fetchval("SELECT 1")
        except (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError):
            if asyncio.get_running_loop().time() > deadline:
                pool.terminate()
                raise
            await asyncio.sleep(0.2)
        except BaseException:
            pool.terminate()
            raise
        else:
            return pool


async def _prepare(connection: Connection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, encoder=_dump, decoder=_load, schema="pg_catalog")


def _dump(value: Any) -> str:  # noqa: ANN401 - any JSON value
    from pydantic_core import to_json  # noqa: PLC0415

    return to_json(value).decode()


def _load(text: str) -> Any:  # noqa: ANN401 - any JSON value
    from pydantic_core import from_json  # noqa: PLC0415

    return from_json(text)


async def migrate(pool: Pool, package: str, schema: str) -> None:
    """Apply the package's `migrations/NNNN_*.sql` that `schema` hasn't seen, in order, each in a transaction."""
    folder = resources.files(package) / "migrations"
    steps = sorted(
        (int(match[1]), entry) for entry in folder.iterdir() if (match := _FILE.match(entry.name)) is not None
    )
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MIGRATING)
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        await connection.execute(
            f'CREATE TABLE IF NOT EXISTS "{schema}".migrations (number int PRIMARY KEY, applied_at timestamptz NOT '
            "NULL DEFAULT now())"
        )
        done = {
            row["number"]
            for row in await connection.fetch(f'SELECT number FROM "{schema}".migrations')  # noqa: S608
        }
        await connection.execute(f'SET LOCAL search_path TO "{schema}"')
        for number, entry in steps:
            if number not in done:
                await connection.execute(entry.read_text())
                await connection.execute(
                    f'INSERT INTO "{schema}".migrations (number) VALUES ($1)',  # noqa: S608
                    number,
                )
