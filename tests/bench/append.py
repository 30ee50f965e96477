"""Appends through the library: guarded decisions one by one, and facts from many writers at once; each is on disk."""

import asyncio
import tempfile
import time
from pathlib import Path

from pieces import bus
from report import Row, row

from proctor.contracts.events import AttemptClaimed
from proctor.eventlog import EventLog

SERIAL, WRITERS, EACH = 2_000, 32, 100


def _event(number: int) -> AttemptClaimed:
    return AttemptClaimed(attempt=f"0-0-{number}", epoch=1, worker="runner-1-host", incarnation="a1b2c3d4", host="host")


async def measure() -> list[Row]:
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as folder:
        async with bus(Path(folder)) as (connection, _, _):
            log = EventLog(connection, "bench")
            guarded = await _guarded(log)
            began = time.perf_counter()
            facts = await asyncio.gather(*(_facts(EventLog(connection, f"w{number}")) for number in range(WRITERS)))
            rate = WRITERS * EACH / (time.perf_counter() - began)
    return [
        row("append, guarded, one writer", "ms", guarded),
        row(f"append, {WRITERS} writers at once", "ms", [each for of_one in facts for each in of_one]),
        Row(f"appends by {WRITERS} writers", "1/s", WRITERS * EACH, rate),
    ]


async def _guarded(log: EventLog) -> list[float]:
    taken, last = list[float](), 0
    for number in range(1, SERIAL + 1):
        began = time.perf_counter()
        last = await log.append(_event(number), workspace="bench", aggregate="run", id="guarded", expected=last)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


async def _facts(log: EventLog) -> list[float]:
    taken = list[float]()
    for number in range(1, EACH + 1):
        began = time.perf_counter()
        await log.append(_event(number), workspace="bench", aggregate="run", id=log.writer)
        taken.append((time.perf_counter() - began) * 1000)
    return taken
