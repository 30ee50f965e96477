"""Fills a second schema from the log and puts it in the live one's place."""

import logging
from typing import Final

from proctor.eventlog import EventLog
from proctor.leaderboard.derive import Deriver
from proctor.leaderboard.place import CHANNEL, NAME, PACKAGE, SCHEMA, place
from proctor.leaderboard.read_models import ReadModels
from proctor.objects import Objects
from proctor.service.errors import Conflicting
from proctor.service.postgres import Pool, migrate, open_pool
from proctor.service.projection import Projector, notify

logger = logging.getLogger(__name__)

REBUILT: Final = f"{SCHEMA}_rebuilt"
REPLACED: Final = f"{SCHEMA}_replaced"


async def rebuild(log: EventLog, objects: Objects, database_url: str) -> int:
    """The position that the new read models hold when they take over; readers and the service go on meanwhile.
    Raises `Conflicting` when another rebuild is at work."""
    pool = await open_pool(database_url, size=3)
    try:
        async with pool.acquire() as lock:
            if not await lock.fetchval("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", REBUILT):
                raise Conflicting("another rebuild is at work; wait until it has ended")
            await migrate(pool, PACKAGE, SCHEMA)
            await fill(pool, log, objects, database_url, REBUILT)
            while (position := await _swap(pool)) is None:
                await _catch_up(pool, log, objects, database_url, REBUILT)
            return position
    finally:
        pool.terminate()


async def fill(pool: Pool, log: EventLog, objects: Objects, database_url: str, schema: str) -> None:
    """`schema` from nothing to the end of the log; what it held before is dropped."""
    await pool.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
    await migrate(pool, PACKAGE, schema)
    await _catch_up(pool, log, objects, database_url, schema)


async def _catch_up(pool: Pool, log: EventLog, objects: Objects, database_url: str, schema: str) -> None:
    await Projector(place(schema, channel=None), ReadModels(log, objects), log, database_url).catch_up()
    await Deriver(pool, schema).catch_up()


async def _swap(pool: Pool) -> int | None:
    """Rename in one transaction, unless the live read models have got further meanwhile. The lock makes the service
    wait; it then sees that its position moved and goes on from the new one."""
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute(f'LOCK TABLE "{SCHEMA}".position IN ACCESS EXCLUSIVE MODE')
        live = await connection.fetchval(f'SELECT sequence FROM "{SCHEMA}".position WHERE name = $1', NAME)  # noqa: S608
        new = await connection.fetchval(f'SELECT sequence FROM "{REBUILT}".position WHERE name = $1', NAME)  # noqa: S608
        if (live or 0) > (new or 0):
            logger.info("the live read models are at %d, the rebuilt ones at %d: going on", live, new)
            return None
        await connection.execute(f'ALTER SCHEMA "{SCHEMA}" RENAME TO "{REPLACED}"')
        await connection.execute(f'ALTER SCHEMA "{REBUILT}" RENAME TO "{SCHEMA}"')
        await connection.execute(f'DROP SCHEMA "{REPLACED}" CASCADE')
        await notify(connection, CHANNEL, new or 0, [])
        return new or 0
