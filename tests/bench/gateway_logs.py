"""Pages of a run's log, whose text is read from the event log line by line."""

import asyncio
from collections.abc import Iterable
from itertools import batched
from typing import Any, Final

from folds import attempt_events
from gateway_rows import Shape, add_runs, settle
from gateway_stage import WORKSPACE, Stage, stage
from report import Row, row

from proctor.contracts.catalogue import CATALOGUE, level_of
from proctor.contracts.events import Event
from proctor.contracts.ids import Cell
from proctor.eventlog import EventLog
from proctor.gateway.paging import encode_cursor

COUNT = 100
SHAPES: Final = (Shape(1, 22, 10), Shape(1, 222, 10), Shape(1, 500, 44))
"""With nine events to an attempt: 1,980, 19,980 and 198,000."""
AT_ONCE: Final = 256


async def measure() -> list[Row]:
    rows = list[Row]()
    async with stage() as on:
        for number, shape in enumerate(SHAPES):
            (run,) = await add_runs(on.database, number, 1, shape, history=True)
            sequences = await _write(on, run, shape)
            await settle(on.database)
            rows += await _pages(on, run, sequences)
    return rows


async def _pages(on: Stage, run: str, sequences: list[int]) -> list[Row]:
    log, middle = f"/api/v1/runs/{run}/logs", encode_cursor(sequences[len(sequences) // 2])
    paths = {
        "log, newest page": log,
        "log, middle page": f"{log}?cursor={middle}",
        "log, middle page of 200": f"{log}?limit=200&cursor={middle}",
        "log, errors alone": f"{log}?level=error",
        "log, of one task": f"{log}?task=7",
    }
    size = f"{len(sequences):,} events"
    return [row(f"{what}, {size}", "ms", await on.times(path, COUNT)) for what, path in paths.items()]


async def _write(on: Stage, run: str, shape: Shape) -> list[int]:
    """Events in the log and their lines in the read model, attempt by attempt."""
    log, sequences = EventLog(on.bus, "bench"), list[int]()
    for some in batched(_events(shape), AT_ONCE, strict=False):
        appends = (log.append(event, workspace=WORKSPACE, aggregate="run", id=run) for _, event in some)
        places = await asyncio.gather(*appends)
        lines = [_line(run, place, cell, event) for place, (cell, event) in zip(places, some, strict=True)]
        await on.database.copy_records_to_table("log", schema_name="leaderboard", records=lines)
        sequences += places
    return sorted(sequences)


def _events(shape: Shape) -> Iterable[tuple[Cell, Event]]:
    for task in range(shape.tasks):
        for number in range(1, shape.attempts + 1):
            cell = Cell(0, task, number)
            for event in attempt_events(str(cell)):
                yield cell, event


def _line(run: str, place: int, cell: Cell, event: Event) -> tuple[Any, ...]:
    level, step = level_of(event).value, CATALOGUE[event.type].step.value
    return (WORKSPACE, run, place, event.type, level, step, cell.agent, cell.task, str(cell))
