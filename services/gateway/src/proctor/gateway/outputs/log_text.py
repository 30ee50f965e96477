"""A run's log as text: a line per event, as `proctor run logs` prints it, with the whole time."""

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from datetime import UTC
from typing import Final

from proctor.contracts import catalogue, subjects
from proctor.contracts.catalogue import CATALOGUE, Names
from proctor.contracts.records import Recorded
from proctor.eventlog import EventLog
from proctor.gateway.outputs.tokens import Snapshot

_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


async def lines(log: EventLog, snapshot: Snapshot, sequences: Iterable[int], names: Names) -> AsyncIterator[str]:
    """Those of `sequences`, all up to the snapshot's position."""
    shown = set(sequences)
    async with aclosing(log.read(subjects.run_events(snapshot.workspace, snapshot.run))) as records:
        async for record in records:
            if record.sequence > snapshot.position:
                return
            if record.sequence in shown:
                yield text_line(record, names)


def text_line(record: Recorded, names: Names) -> str:
    time = record.recorded_at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    level, step = catalogue.level_of(record.event), CATALOGUE[record.event.type].step
    message = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", catalogue.line(record.event, "en", names))
    return f"{time} {level:<7} {step:<10} {message}\n"
