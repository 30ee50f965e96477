"""A read model kept from the log: its rows and its position commit together, written by one process at a time."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

import asyncpg
import nats.errors
from nats.js.errors import APIError, NoStreamResponseError

from proctor.contracts.records import Recorded, UnknownEvent
from proctor.eventlog import EventLog
from proctor.service.postgres import Connection, open_pool

logger = logging.getLogger(__name__)

BATCH: Final = 1_000
NOTIFICATION_BYTES: Final = 7_000
"""PostgreSQL refuses payloads of 8,000 bytes and more."""

Key = tuple[str, str, str]
"""Workspace, kind and id of an aggregate."""

_PASSING: Final = (
    OSError,
    TimeoutError,
    nats.errors.Error,
    APIError,
    NoStreamResponseError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InvalidCachedStatementError,
    asyncpg.OutdatedSchemaCacheError,
)


class Moved(Exception):
    """Somebody else wrote the position, such as a rebuild that swapped schemas: read it again and go on from there."""


class ReadModel(Protocol):
    """`apply` decides in memory, `write` stores what was decided since the last write, in the caller's transaction.
    An aggregate that isn't in memory is read from the log up to the record at hand."""

    async def apply(self, record: Recorded) -> None: ...

    async def write(self, connection: Connection) -> None: ...

    def forget(self, key: Key | None) -> None:
        """Drop what isn't written, and from memory one aggregate or (None) all."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a read model lives: `schema` holds its tables and `position` and `quarantine` beside them; `channel` is
    told of each commit, unless it is None."""

    name: str
    schema: str
    filters: tuple[str, ...]
    channel: str | None = None


@dataclass(slots=True)
class Projector:
    """Feeds one read model. `committed` is called after each commit, and when this process begins to lead."""

    place: Place
    model: ReadModel
    log: EventLog
    database_url: str
    committed: Callable[[], None] = lambda: None
    position: int = 0
    leading: bool = False
    _quarantined: set[Key] = field(default_factory=set[Key])

    async def follow(self) -> None:
        """For ever: waits while another process leads, starts again from the stored position after any outage.
        Raises `UnknownEvent`: this program is too old for the log."""
        while True:
            try:
                async with self._session() as connection:
                    await self._lead(connection)
                    self.committed()
                    async with aclosing(self.log.follow(*self.place.filters, after=self.position)) as batches:
                        async for batch in batches:
                            await self._commit(connection, batch)
            except (*_PASSING, asyncpg.InterfaceError, Moved) as error:
                logger.warning("%s: again from its stored position: %r", self.place.name, error)
                await asyncio.sleep(0.5)
            finally:
                self.leading = False

    async def catch_up(self) -> None:
        """Up to the end of the log as it is now."""
        async with self._session() as connection:
            await self._lead(connection)
            batch: list[Recorded] = []
            async with aclosing(self.log.read(*self.place.filters, after=self.position)) as records:
                async for record in records:
                    batch.append(record)
                    if len(batch) == BATCH:
                        await self._commit(connection, batch)
                        batch = []
            if batch:
                await self._commit(connection, batch)

    @asynccontextmanager
    async def _session(self) -> AsyncGenerator[Connection]:
        """One connection for the lock and the writes, so that who lost the lock can't write either."""
        pool = await open_pool(self.database_url, size=1, patience=float("inf"))
        try:
            async with pool.acquire() as connection:
                await connection.execute(f'SET search_path TO "{self.place.schema}"')
                yield connection
        finally:
            pool.terminate()

    async def _lead(self, connection: Connection) -> None:
        lock = f"{self.place.schema}.{self.place.name}"
        while not await connection.fetchval("SELECT pg_try_advisory_lock(hashtextextended($1, 0))", lock):
            await asyncio.sleep(1)
        self.model.forget(None)
        stored = await connection.fetchval("SELECT sequence FROM position WHERE name = $1", self.place.name)
        if stored is None:
            await connection.execute("INSERT INTO position (name, sequence) VALUES ($1, 0)", self.place.name)
        self.position = stored or 0
        rows = await connection.fetch("SELECT workspace, aggregate, id FROM quarantine")
        self._quarantined = {(row["workspace"], row["aggregate"], row["id"]) for row in rows}
        self.leading = True

    async def _commit(self, connection: Connection, batch: Sequence[Recorded]) -> None:
        try:
            await self._together(connection, batch)
        except Exception as error:
            if _passing(error, connection):
                raise
            logger.exception("%s: a batch failed; its events one by one", self.place.name)
            self.model.forget(None)
            await self._singly(connection, batch)
        self.position = batch[-1].sequence
        self.committed()

    async def _together(self, connection: Connection, batch: Sequence[Recorded]) -> None:
        for record in batch:
            if _key(record) not in self._quarantined:
                await self.model.apply(record)
        async with connection.transaction():
            await self._advance(connection, batch)
            await self.model.write(connection)

    async def _singly(self, connection: Connection, batch: Sequence[Recorded]) -> None:
        """So that it is the event alone, and not how the batch was cut, that decides what is in quarantine."""
        async with connection.transaction():
            await self._advance(connection, batch)
            for record in batch:
                if _key(record) not in self._quarantined:
                    await self._one(connection, record)

    async def _one(self, connection: Connection, record: Recorded) -> None:
        try:
            async with connection.transaction():
                await self.model.apply(record)
                await self.model.write(connection)
        except Exception as error:
            if _passing(error, connection):
                raise
            logger.exception("%s: %s is in quarantine from %d on", self.place.name, _key(record), record.sequence)
            self.model.forget(_key(record))
            self._quarantined.add(_key(record))
            await connection.execute(
                "INSERT INTO quarantine (workspace, aggregate, id, sequence, error, since) VALUES ($1,$2,$3,$4,$5,$6)",
                *_key(record),
                record.sequence,
                f"{record.event.type}: {type(error).__name__}: {error}".replace("\0", ""),
                record.recorded_at,
            )

    async def _advance(self, connection: Connection, batch: Sequence[Recorded]) -> None:
        last = batch[-1].sequence
        moved = await connection.execute(
            "UPDATE position SET sequence = $3 WHERE name = $1 AND sequence = $2",
            self.place.name,
            self.position,
            last,
        )
        if moved != "UPDATE 1":
            raise Moved(f"position isn't {self.position}")
        if self.place.channel is not None:
            await notify(connection, self.place.channel, last, {(record.workspace, record.id) for record in batch})


async def notify(connection: Connection, channel: str, position: int, changed: Iterable[tuple[str, str]]) -> None:
    """Tell listeners at commit what changed, as (workspace, run or benchmark)."""
    for payload in notifications(position, changed):
        await connection.execute("SELECT pg_notify($1, $2)", channel, payload)


def notifications(position: int, changed: Iterable[tuple[str, str]]) -> list[str]:
    """Payloads `{position, changed: [[workspace, id], ...]}`, as many as the size limit asks for, at least one."""
    chunks: list[list[list[str]]] = [[]]
    size = 0
    for pair in sorted(changed):
        size += len(json.dumps(pair)) + 2
        if size > NOTIFICATION_BYTES:
            chunks.append([])
            size = len(json.dumps(pair)) + 2
        chunks[-1].append(list(pair))
    return [json.dumps({"position": position, "changed": chunk}) for chunk in chunks]


def _key(record: Recorded) -> Key:
    return record.workspace, record.aggregate, record.id


def _passing(error: Exception, connection: Connection) -> bool:
    """Whether the same event may well succeed later: an outage or a move, not the event's fault."""
    return isinstance(error, (*_PASSING, Moved, UnknownEvent)) or connection.is_closed()
