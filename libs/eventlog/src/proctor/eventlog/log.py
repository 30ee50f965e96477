"""Append with guards, read to the end, and follow live, by position."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Final, cast

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from proctor.contracts import records, subjects
from proctor.contracts.events import Event
from proctor.contracts.ids import is_token, new_id
from proctor.contracts.records import Recorded
from proctor.eventlog.consumer import deliveries
from proctor.eventlog.streams import events_info

logger = logging.getLogger(__name__)

ACK_SECONDS: Final = 5.0
WRONG_LAST_SEQUENCE: Final = 10071
STREAM_FULL: Final = frozenset({10047, 10077})
_GUARD: Final = "Nats-Expected-Last-Subject-Sequence"
_GUARD_SUBJECT: Final = "Nats-Expected-Last-Subject-Sequence-Subject"
_MESSAGE_ID: Final = "Nats-Msg-Id"


class Conflict(Exception):
    """Another decision was written first: refold and decide again."""


class Unavailable(Exception):
    """The bus didn't take the event within the caller's patience."""


class EventLog:
    """Appends as one `writer` and reads anything. An append that returns is on disk."""

    def __init__(self, connection: Client, writer: str) -> None:
        self.connection = connection
        self.writer = _token(writer)
        self._js = connection.jetstream(timeout=5)

    async def append(
        self,
        event: Event,
        *,
        workspace: str,
        aggregate: str,
        id: str,  # noqa: A002 - the aggregate's id
        expected: int | None = None,
        alone: bool = False,
        suffix: str | None = None,
        message_id: str | None = None,
        actor: str | None = None,
        cause: int | None = None,
        trace: Mapping[str, str] | None = None,
        patience: float = 60,
    ) -> int:
        """The event's sequence. `expected` guards this writer's own subjects of the aggregate with their last
        sequence, `alone` the whole aggregate with 0. A lost ack is found again: what was written isn't written
        twice. Raises `Conflict`, or `Unavailable` after `patience` seconds."""
        stem = f"ev.{_token(workspace)}.{_token(aggregate)}.{_token(id)}"
        subject = f"{stem}.{self.writer}.{event.type}" + ("" if suffix is None else f".{_token(suffix)}")
        identity = message_id or new_id()
        headers = _headers(event, identity, actor, cause, trace)
        guarded = f"{stem}.>" if alone else f"{stem}.{self.writer}.>" if expected is not None else None
        if guarded:
            headers[_GUARD], headers[_GUARD_SUBJECT] = str(0 if alone else expected), guarded
        clock = asyncio.get_running_loop().time
        deadline = clock() + patience
        data = records.encode(event)
        while True:
            try:
                ack = await self._js.publish(
                    subject,
                    data,
                    headers=headers,
                    stream=subjects.EVENTS_STREAM,
                    timeout=min(ACK_SECONDS, max(0.2, deadline - clock())),
                )
            except APIError as error:
                if error.err_code == WRONG_LAST_SEQUENCE and guarded:
                    return await self._committed(guarded, 0 if alone else expected or 0, identity)
                if error.err_code in STREAM_FULL or clock() > deadline:
                    raise Unavailable(f"the event log refused {event.type}: {error.description}") from error
            except (nats.errors.Error, NoStreamResponseError, OSError, TimeoutError) as error:
                if clock() > deadline:
                    raise Unavailable(f"the event log doesn't answer: {error}") from error
            else:
                return ack.seq
            await asyncio.sleep(0.2)

    async def _committed(self, subject: str, after: int, identity: str) -> int:
        """Our own message after the guard's sequence: the ack was lost, not the append."""
        async for message in self._messages([subject], after):
            if (message.headers or {}).get(_MESSAGE_ID) == identity:
                return message.metadata.sequence.stream
        raise Conflict(subject)

    async def read(self, *filters: str, after: int = 0) -> AsyncGenerator[Recorded]:
        """What the filters match now, in log order, and then the end."""
        async for message in self._messages(filters, after):
            yield decode(message)

    async def _messages(self, filters: Sequence[str], after: int) -> AsyncGenerator[Msg]:
        async with aclosing(deliveries(self.connection, filters, after, until_end=True)) as batches:
            async for batch in batches:
                for message in batch:
                    yield message

    async def follow(self, *filters: str, after: int = 0) -> AsyncGenerator[list[Recorded]]:
        """The same without an end, in the batches they arrive in; survives restarts of the bus. Never empty."""
        async with aclosing(deliveries(self.connection, filters, after, until_end=False)) as batches:
            async for batch in batches:
                yield [decode(message) for message in batch]

    async def get(self, sequence: int) -> Recorded | None:
        """One event by its place in the log."""
        try:
            raw = await self._js.get_msg(subjects.EVENTS_STREAM, sequence, direct=True)
        except NotFoundError:
            return None
        headers = cast("dict[str, str]", raw.headers or {})
        return _recorded(raw.subject or "", raw.data or b"", headers, sequence, _bus_time(headers["Nats-Time-Stamp"]))

    async def last_sequence(self) -> int:
        """The position of the log's newest event, of any kind."""
        info = await events_info(self.connection)
        return info.state.last_seq


def _bus_time(text: str) -> datetime:
    """RFC 3339 with nanoseconds, rounded as the client rounds it for delivered messages: one event has one time."""
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    whole = int(datetime.fromisoformat(f"{seconds}+00:00").timestamp())
    return datetime.fromtimestamp((whole * 10**9 + int(fraction.ljust(9, "0"))) / 1e9, UTC)


def decode(message: Msg) -> Recorded:
    meta = message.metadata
    return _recorded(
        message.subject, message.data, message.headers or {}, meta.sequence.stream, meta.timestamp.astimezone(UTC)
    )


def _recorded(subject: str, data: bytes, headers: Mapping[str, str], sequence: int, recorded_at: datetime) -> Recorded:
    _, workspace, aggregate, identifier, writer, *_ = subject.split(".")
    occurred = headers.get(records.OCCURRED_HEADER)
    return Recorded.model_construct(
        sequence=sequence,
        workspace=workspace,
        aggregate=aggregate,
        id=identifier,
        writer=writer,
        recorded_at=recorded_at,
        occurred_at=datetime.fromisoformat(occurred) if occurred else None,
        actor=headers.get(records.ACTOR_HEADER),
        event=records.decode(data, headers),
    )


def _headers(
    event: Event, identity: str, actor: str | None, cause: int | None, trace: Mapping[str, str] | None
) -> dict[str, str]:
    headers = {
        _MESSAGE_ID: identity,
        records.VERSION_HEADER: str(records.version_of(event.type)),
        records.OCCURRED_HEADER: datetime.now(UTC).isoformat(),
        **(trace or {}),
    }
    if actor:
        headers[records.ACTOR_HEADER] = actor
    if cause is not None:
        headers[records.CAUSE_HEADER] = str(cause)
    return headers


def _token(text: str) -> str:
    if not is_token(text):
        raise ValueError(f"{text!r} can't be part of a subject: letters, digits, - and _ only")
    return text
