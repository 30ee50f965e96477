"""Tables and log of a run, made once for each place of the log and kept as objects: what is listed with a size is what
is sent, however far the run has gone since."""

import asyncio
import io
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, Final, NamedTuple, cast
from weakref import WeakValueDictionary

from proctor.contracts.catalogue import Names
from proctor.contracts.ids import short_id
from proctor.contracts.manifest import RunLock
from proctor.eventlog import EventLog
from proctor.gateway.outputs import log_text, queries
from proctor.gateway.outputs.cells import write_rows
from proctor.gateway.outputs.columns import RESULTS, result_cells, summary_cells, summary_header
from proctor.gateway.outputs.queries import Row, Stored
from proctor.gateway.outputs.tokens import Snapshot
from proctor.objects import ObjectMissing, Objects
from proctor.service.errors import Conflicting
from proctor.service.postgres import Connection, Pool

MADE: Final = {"summary": "summary.csv", "results": "results.csv", "logs": "logs.txt"}
"""What is made of a run, by kind."""
AT_ONCE: Final = 2
ROWS_AT_ONCE: Final = 1000
IN_MEMORY_BYTES: Final = 4 * 1024 * 1024
_NOT_BEGUN: Final = frozenset({"pending", "queued"})


class Taken(NamedTuple):
    snapshot: Snapshot
    run: Row
    files: Mapping[str, Stored]


class Snapshots:
    def __init__(self, pool: Pool, log: EventLog, objects: Objects) -> None:
        self._pool, self._log, self._objects = pool, log, objects
        self._locks: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def take(self, workspace: str, run: str, kinds: Sequence[str]) -> Taken:
        """The run as it is now, with those files. Raises `Conflicting` for one that hasn't begun."""
        async with self._locks.setdefault((workspace, run), asyncio.Lock()):
            return await self._take(workspace, run, kinds)

    async def _take(self, workspace: str, run: str, kinds: Sequence[str]) -> Taken:
        spools: dict[str, BinaryIO] = {}
        async with self._reading() as connection:
            row = _begun(await queries.run_row(connection, workspace, run))
            snapshot = await queries.place(connection, row)
            found = await queries.stored(connection, snapshot)
            wanted = [kind for kind in MADE if kind in kinds and kind not in found]
            facts = await self._facts(connection, snapshot, row) if wanted else None
            sequences = await queries.logged(connection, snapshot) if "logs" in wanted else ()
            if facts and "summary" in wanted:
                spools["summary"] = _summary(facts)
            if facts and "results" in wanted:
                spools["results"] = await _results(connection, facts)
        if facts and "logs" in wanted:
            spools["logs"] = await _logs(self._log, facts, sequences)
        for kind, spool in spools.items():
            found[kind] = await self._keep(snapshot, kind, spool)
        if spools:
            await self._forget(snapshot)
        return Taken(snapshot, row, {kind: found[kind] for kind in MADE if kind in kinds})

    @asynccontextmanager
    async def _reading(self) -> AsyncGenerator[Connection]:
        """Everything read is of one moment. Others need connections too."""
        async with (
            self._slots,
            self._pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield connection

    async def _facts(self, connection: Connection, snapshot: Snapshot, run: Row) -> "_Facts":
        lock = await self._lock(run["lock"])
        return _Facts(snapshot, run, await queries.agent_rows(connection, snapshot), lock)

    async def _lock(self, name: str | None) -> RunLock | None:
        """None where nothing was planned, or when it is no longer stored."""
        try:
            return None if name is None else RunLock.model_validate_json(await self._objects.get(name))
        except ObjectMissing:
            return None

    async def _keep(self, snapshot: Snapshot, kind: str, spool: BinaryIO) -> Stored:
        """Another process may have made the same meanwhile; then theirs is kept, and ours is of no use."""
        with spool:
            size = spool.seek(0, io.SEEK_END)
            made = Stored(f"output/{snapshot.run}/{snapshot.position}.{short_id()}.{MADE[kind]}", size)
            await self._objects.put_file(made.object, spool)
        await queries.keep(self._pool, snapshot, kind, made)
        kept = (await queries.stored(self._pool, snapshot))[kind]
        if kept != made:
            await self._objects.delete(made.object)
        return kept

    async def _forget(self, snapshot: Snapshot) -> None:
        for name in await queries.forget(self._pool, snapshot):
            await self._objects.delete(name)


class _Facts(NamedTuple):
    snapshot: Snapshot
    run: Row
    agents: Sequence[Row]
    lock: RunLock | None


def _begun(row: Row | None) -> Row:
    if row is None:  # only the log knows it, so nothing of it can have been tried
        raise _too_early("pending")
    if row["status"] in _NOT_BEGUN:
        raise _too_early(row["status"])
    return row


def _too_early(status: str) -> Conflicting:
    return Conflicting(f"the run is {status}, so there is nothing to download; come again once it runs")


def _spool() -> BinaryIO:
    return cast("BinaryIO", tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))


def _summary(facts: _Facts) -> BinaryIO:
    attempts = facts.run["attempts_per_task"]
    digest = facts.run["lock"] and f"sha256:{facts.run['lock'].rpartition('/')[2]}"
    run = {**facts.run, "lock_digest": digest}
    rows = (summary_cells(run, agent, attempts, facts.snapshot.position) for agent in facts.agents)
    spool = _spool()
    spool.write(_csv([summary_header(attempts), *rows]))
    return spool


async def _results(connection: Connection, facts: _Facts) -> BinaryIO:
    agents = {agent["agent"]: agent for agent in facts.agents}
    tasks = dict(enumerate(facts.lock.tasks)) if facts.lock else {}
    spool, rows = _spool(), list[Any]([RESULTS])
    async for row in queries.result_rows(connection, facts.snapshot):
        rows.append(result_cells(row, agents[row["agent"]], tasks.get(row["task"])))
        if len(rows) >= ROWS_AT_ONCE:
            spool.write(await asyncio.to_thread(_csv, rows))
            rows = []
    spool.write(await asyncio.to_thread(_csv, rows))
    return spool


async def _logs(log: EventLog, facts: _Facts, sequences: Sequence[int]) -> BinaryIO:
    names = Names(
        agents=[agent["entrant"] for agent in facts.agents],
        tasks=[task.name for task in facts.lock.tasks] if facts.lock else (),
    )
    spool = _spool()
    async for line in log_text.lines(log, facts.snapshot, sequences, names):
        spool.write(line.encode())
    return spool


def _csv(rows: Sequence[Any]) -> bytes:
    text = io.StringIO(newline="")
    write_rows(text, rows)
    return text.getvalue().encode()
