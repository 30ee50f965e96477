"""Erases what a run was given for itself when the run is cleaned, and all values of submits that never became a run."""

import asyncio
import logging
from contextlib import aclosing
from typing import Final

import asyncpg
import nats.errors
from nats.js.errors import APIError, NoStreamResponseError

from proctor.eventlog import EventLog
from proctor.eventlog.streams import open_runs
from proctor.gateway.folds import run_head
from proctor.gateway.vault import values
from proctor.service.postgres import Pool

logger = logging.getLogger(__name__)

CLEANED: Final = "ev.*.run.*.scheduler.run.cleaned"
SWEEP_SECONDS: Final = 3600.0
SUBMIT_MINUTES: Final = 10
"""Longer than a submit can take from storing the values to its append."""
_AGAIN_SECONDS: Final = 2.0
_AWAY: Final = (
    OSError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    nats.errors.Error,
    APIError,
    NoStreamResponseError,
)


async def keep_erasing(log: EventLog, pool: Pool) -> None:
    """Follow the log for ever, with a sweep first and every hour for what was missed while a part was away."""
    while True:
        try:
            after = await log.last_sequence()
            await sweep(log, pool)
            async with asyncio.timeout(SWEEP_SECONDS):
                await _follow(log, pool, after)
        except TimeoutError:
            continue
        except _AWAY as error:
            logger.warning("erasing values again shortly: %r", error)
            await asyncio.sleep(_AGAIN_SECONDS)


async def sweep(log: EventLog, pool: Pool, minutes: int = SUBMIT_MINUTES) -> None:
    """Of what is older than that, erase secrets of no open run and literals of no run at all."""
    if stored := await values.provided_before(pool, minutes):
        opened = set(await open_runs(log.connection))
        await values.erase_provided(pool, [run for run in stored if run not in opened], minutes=minutes)
    for run in await values.unkept_before(pool, minutes):
        if await run_head(log, *run) is not None:
            await values.keep_literals(pool, [run])
        else:
            await values.erase_literals(pool, [run], minutes=minutes)


async def _follow(log: EventLog, pool: Pool, after: int) -> None:
    async with aclosing(log.follow(CLEANED, after=after)) as batches:
        async for batch in batches:
            await values.erase_provided(pool, [(record.workspace, record.id) for record in batch])
