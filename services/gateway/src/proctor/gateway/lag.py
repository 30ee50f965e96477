"""How far the read models are behind the log."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Final

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from proctor.contracts import subjects

LATE_SECONDS: Final = 15.0
_SHOWN: Final = (subjects.RUN_EVENTS, subjects.BENCHMARK_EVENTS)


def late(oldest: datetime | None, now: datetime) -> bool:
    """Whether the oldest event that isn't shown yet should have been by now."""
    return oldest is not None and now - oldest > timedelta(seconds=LATE_SECONDS)


async def oldest_unseen(connection: Client, position: int) -> datetime | None:
    """When the first event after the position that the read models show was recorded."""
    stream = connection.jetstream(timeout=2)
    times = await asyncio.gather(*(_first_after(stream, shown, position) for shown in _SHOWN))
    return min((time for time in times if time is not None), default=None)


async def _first_after(stream: JetStreamContext, subject: str, position: int) -> datetime | None:
    try:
        message = await stream.get_msg(subjects.EVENTS_STREAM, seq=position + 1, subject=subject, next=True)
    except NotFoundError:
        return None
    return message.time.astimezone(UTC) if message.time else None
