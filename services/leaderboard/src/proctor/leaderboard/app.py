"""Wires the service: the projection, what derives from it, and health."""

import asyncio
from math import inf

from proctor.eventlog import EventLog, connect
from proctor.leaderboard.derive import Deriver
from proctor.leaderboard.place import CHANNEL, PACKAGE, SCHEMA, place
from proctor.leaderboard.read_models import ReadModels
from proctor.leaderboard.rebuild import rebuild as rebuild_read_models
from proctor.objects import Objects
from proctor.service.broker import answers, open_bus
from proctor.service.postgres import Pool, migrate, open_pool
from proctor.service.process import report_health, run_until, unless_stopped
from proctor.service.projection import Projector
from proctor.service.settings import Settings

WRITER = "leaderboard"


async def serve(settings: Settings, stop: asyncio.Event) -> None:
    connection = await open_bus(settings.nats_url, WRITER, stop)
    pool = await unless_stopped(stop, open_pool(settings.database_url, size=2, patience=inf), "the database")
    try:
        await migrate(pool, PACKAGE, SCHEMA)
        log = EventLog(connection, WRITER)
        deriver = Deriver(pool, SCHEMA, CHANNEL)
        projector = Projector(
            place(), ReadModels(log, Objects(connection)), log, settings.database_url, committed=deriver.wake
        )

        async def healthy() -> bool:
            return await answers(connection) and await _answers(pool)

        await run_until(stop, projector.follow(), deriver.follow(), report_health(settings, healthy))
    finally:
        pool.terminate()
        await connection.close()


async def rebuild(settings: Settings) -> int:
    connection = await connect(settings.nats_url, WRITER)
    try:
        return await rebuild_read_models(EventLog(connection, WRITER), Objects(connection), settings.database_url)
    finally:
        await connection.close()


async def _answers(pool: Pool) -> bool:
    try:
        return await pool.fetchval("SELECT 1", timeout=2) == 1
    except Exception:  # noqa: BLE001 - whatever it is, it is not healthy
        return False
