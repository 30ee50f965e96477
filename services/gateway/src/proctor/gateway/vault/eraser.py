"""Erases a run's values when the run is cleaned, and those of submits that never became a run."""

import asyncio
from contextlib import aclosing
from typing import Final

from proctor.eventlog import EventLog
from proctor.eventlog.streams import open_runs
from proctor.gateway.vault.values import erase, stored_before
from proctor.service.postgres import Pool

CLEANED: Final = "ev.*.run.*.scheduler.run.cleaned"
SWEEP_SECONDS: Final = 3600.0
SUBMIT_MINUTES: Final = 10
"""Longer than a submit can take from storing the values to its append."""


async def erase_when_cleaned(log: EventLog, pool: Pool) -> None:
    """Follows the log from now on; what was cleaned before is found by `sweep`."""
    after = await log.last_sequence()
    async with aclosing(log.follow(CLEANED, after=after)) as batches:
        async for batch in batches:
            await erase(pool, [(record.workspace, record.id) for record in batch])


async def sweep(log: EventLog, pool: Pool, minutes: int = SUBMIT_MINUTES) -> None:
    """Erase what is older than that and belongs to no open run."""
    stored = await stored_before(pool, minutes)
    if stored:
        opened = set(await open_runs(log.connection))
        await erase(pool, [run for run in stored if run not in opened])


async def sweep_regularly(log: EventLog, pool: Pool) -> None:
    while True:
        await sweep(log, pool)
        await asyncio.sleep(SWEEP_SECONDS)
