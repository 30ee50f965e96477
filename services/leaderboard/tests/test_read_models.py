"""The read models on a real bus and database: live, restarted and rebuilt, they hold the same rows."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import pytest
from nats.aio.client import Client

from proctor.contracts.events import BenchmarkAdded, ResultsReused, Synced, SyncStarted
from proctor.contracts.events.benchmark import BundledSource
from proctor.eventlog import EventLog
from proctor.leaderboard.derive import Deriver
from proctor.leaderboard.place import CHANNEL, PACKAGE, SCHEMA, place
from proctor.leaderboard.read_models import ReadModels
from proctor.leaderboard.rebuild import fill, rebuild
from proctor.objects import Objects
from proctor.service.errors import Conflicting
from proctor.service.postgres import Pool, migrate, open_pool
from proctor.service.projection import Projector

TABLES = ("agents", "benchmarks", "entries", "log", "position", "quarantine", "results", "runs", "standings")
ADDED = BenchmarkAdded(
    benchmark="b1", key="first-steps", name="First steps", source=BundledSource(name="x"), added_by="u", managed=True
)
Append = Callable[..., Coroutine[Any, Any, int]]


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, size=4)
    await migrate(pool, PACKAGE, SCHEMA)
    yield pool
    pool.terminate()


class Service:
    """The projection and what derives from it, as the service runs them."""

    def __init__(self, bus: Client, pool: Pool, database_url: str) -> None:
        self.log, self.objects = EventLog(bus, "leaderboard"), Objects(bus)
        self.pool, self.database_url = pool, database_url
        self.deriver = Deriver(pool, SCHEMA, CHANNEL)
        self.tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Projector]:
        projector = Projector(
            place(), ReadModels(self.log, self.objects), self.log, self.database_url, committed=self.deriver.wake
        )
        self.tasks = [asyncio.create_task(projector.follow()), asyncio.create_task(self.deriver.follow())]
        try:
            yield projector
        finally:
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

    def log_of(self, writer: str) -> EventLog:
        return EventLog(self.log.connection, writer)

    async def settled(self, position: int) -> None:
        """Everything up to the position is in the tables, metrics and boards too."""
        async with asyncio.timeout(20):
            while await self.position() < position:
                await asyncio.wait(self.tasks, timeout=0.02, return_when=asyncio.FIRST_COMPLETED)
                for task in self.tasks:
                    assert not task.done(), task.exception()
        await self.deriver.catch_up()

    async def position(self) -> int:
        return await self.pool.fetchval(f"SELECT sequence FROM {SCHEMA}.position") or 0

    async def all(self, query: str, *arguments: object) -> list[asyncpg.Record]:
        return await self.pool.fetch(query, *arguments)


@pytest.fixture
def service(own_bus: Client, pool: Pool, database_url: str) -> Service:
    return Service(own_bus, pool, database_url)


async def dump(pool: Pool, schema: str) -> dict[str, list[str]]:
    """Every row of every table as canonical text."""
    return {
        table: [row[0] for row in await pool.fetch(f"SELECT t::text FROM {schema}.{table} t ORDER BY 1")]
        for table in TABLES
    }


def field(history: Any) -> list[Any]:
    """Several runs of two benchmarks, wild ones, a stopped one, a subset and a rerun."""
    return [
        history(1, run="a", agents=("oracle", "nop"), tasks=4, attempts=2, wild=True),
        history(2, run="b", agents=("oracle",), tasks=4, attempts=2, pass_rate=0.9),
        history(3, run="c", agents=("nop",), tasks=4, task_set="subset"),
        history(4, run="d", agents=("nop", "command"), tasks=3, wild=True, stop=True),
        history(5, run="e", benchmark="other", tasks=2, steps=2),
        history(6, run="f", workspace="second", tasks=2, wild=True),
    ]


async def test_the_tables_are_all_there_is(pool: Pool) -> None:
    names = await pool.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", SCHEMA)
    assert {row[0] for row in names} == {*TABLES, "migrations"}


async def test_rebuilt_rows_equal_live_ones_whatever_the_restarts(
    service: Service, append: Append, history: Any, pool: Pool
) -> None:
    first, second = field(history)[:3], field(history)[3:]
    async with service.running():
        writing = asyncio.create_task(append(*first, seed=1))
        await asyncio.sleep(0.15)
    async with service.running():
        await writing
        await asyncio.sleep(0.1)
    async with service.running():
        await service.log_of("gateway").append(ADDED, workspace="acme", aggregate="benchmark", id="b1")
        last = await append(*second, seed=2)
        await service.settled(last)
        live = await dump(pool, SCHEMA)
    await fill(pool, service.log, service.objects, service.database_url, "again")
    again = await dump(pool, "again")
    for table in TABLES:
        assert again[table] == live[table], table
    assert all(live[table] for table in TABLES if table != "quarantine")


async def test_results_of_another_run_come_out_of_a_rebuild_as_well(
    service: Service, append: Append, history: Any, pool: Pool
) -> None:
    async with service.running():
        position = await append(history(2, run="source", tasks=3))
        await service.settled(position)
        found = await service.all("SELECT outcome FROM leaderboard.api_results WHERE valid_to IS NULL ORDER BY task")
        reused = ResultsReused(
            source="source",
            source_name="calm-source",
            position=position,
            agents=(0,),
            tasks=(0, None, None),
            outcomes=(found[0]["outcome"][0] + "..",),
            count=1,
        )
        await service.settled(await append(history(3, run="later", tasks=3, reused=reused)))
        rows = await service.all(
            "SELECT reused_run, outcome, attempt FROM leaderboard.api_results "
            "WHERE run = 'later' AND valid_to IS NULL ORDER BY task"
        )
        assert [row["reused_run"] for row in rows] == ["source", None, None]
        assert rows[0]["outcome"] == found[0]["outcome"]
        live = await dump(pool, SCHEMA)
    await fill(pool, service.log, service.objects, service.database_url, "again")
    assert await dump(pool, "again") == live


async def test_a_rebuild_takes_over_under_a_running_service(
    service: Service, append: Append, history: Any, pool: Pool, database_url: str
) -> None:
    one, two = field(history)[0], field(history)[1]
    async with service.running():
        await service.settled(await append(one))
        before = await dump(pool, SCHEMA)
        position = await rebuild(service.log, service.objects, database_url)
        assert await dump(pool, SCHEMA) == before
        assert position == await service.position()
        await pool.execute("UPDATE leaderboard.results SET score = 7")
        writing = asyncio.create_task(append(two))
        await rebuild(service.log, service.objects, database_url)
        await service.settled(await writing)
    rows = await service.all(
        "SELECT count(*) FILTER (WHERE score = 7) AS wrong, count(*) AS n FROM leaderboard.api_results"
    )
    assert (rows[0]["wrong"], rows[0]["n"] > 0) == (0, True)
    assert await pool.fetchval("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'leaderboard%'") == 1
    await fill(pool, service.log, service.objects, database_url, "again")
    assert await dump(pool, "again") == await dump(pool, SCHEMA)


WIDENED = {
    "benchmarks": ("judge",),
    "runs": ("paused", "budget", "budget_reached", "rates", "rerun_of", "reused_from", "reused", "dispatches"),
    "agents": ("reused", "cpu_seconds", "memory_peak_bytes", "sandbox_cost_usd"),
    "results": ("sandbox_use", "reused_run", "reused_attempt"),
}
"""Columns that migration 3 adds; the one after it adds these indexes."""
INDEXES = ("results_by_identity", "results_by_kind")


async def test_an_upgrade_reads_the_log_again_and_equals_a_rebuild(
    service: Service, append: Append, history: Any, pool: Pool, database_url: str
) -> None:
    async with service.running():
        last = await append(history(9, agents=("oracle", "nop"), wild=True))
        await service.settled(last)
    drops = "; ".join(
        f"ALTER TABLE {table} DROP COLUMN {column} CASCADE" for table, columns in WIDENED.items() for column in columns
    )
    await pool.execute(
        f"SET search_path TO leaderboard; {drops}; DROP INDEX {', '.join(INDEXES)}; "
        "DELETE FROM migrations WHERE number >= 3; RESET search_path"
    )
    await migrate(pool, PACKAGE, SCHEMA)
    assert await service.position() == 0
    async with service.running():
        await service.settled(last)
    await fill(pool, service.log, service.objects, database_url, "again")
    assert await dump(pool, "again") == await dump(pool, SCHEMA)


async def test_two_rebuilds_at_once_are_refused(service: Service, pool: Pool, database_url: str) -> None:
    async with pool.acquire() as other:
        await other.execute("SELECT pg_advisory_lock(hashtextextended('leaderboard_rebuilt', 0))")
        with pytest.raises(Conflicting, match="another rebuild"):
            await rebuild(service.log, service.objects, database_url)


async def test_the_views_tell_a_run_as_its_events_do(service: Service, append: Append, history: Any) -> None:
    one = history(9, agents=("oracle", "nop"), tasks=3, attempts=2)
    async with service.running():
        await service.settled(await append(one))
    (run,) = await service.all("SELECT * FROM leaderboard.api_runs")
    assert {name: run[name] for name in one.tally} == one.tally
    assert (run["status"], run["expected"], run["tasks"], run["in_progress"]) == ("finished", 12, 3, 0)
    assert run["config"] == one.config.model_dump(mode="json")
    assert run["submitted_at"] < run["started_at"] < run["ended_at"] < run["cleaned_at"]
    agents = await service.all("SELECT * FROM leaderboard.api_agents ORDER BY agent")
    assert [agent["entrant"] for agent in agents] == ["oracle", "nop"]
    assert run["best_pass_at_1"] == max(agent["metrics"]["pass_at_1"]["value"] for agent in agents)
    assert sum(agent["metrics"]["pass_at_1"]["value"] for agent in agents) == pytest.approx(one.tally["passed"] / 6)
    assert run["cost_usd"] == pytest.approx(sum(agent["cost_usd"] for agent in agents))
    lines = await service.all("SELECT * FROM leaderboard.api_log ORDER BY sequence")
    assert [line["type"] for line in lines] == [
        event.type for _, event in history(9, agents=("oracle", "nop"), tasks=3, attempts=2).events()
    ]
    (board,) = await service.all("SELECT * FROM leaderboard.api_standings WHERE valid_to IS NULL")
    assert {row["entrant"] for row in board["board"]["rows"]} == {"oracle", "nop"}


async def test_results_of_a_position_stay_what_they_were(service: Service, append: Append, history: Any) -> None:
    at = (
        "SELECT * FROM leaderboard.api_results WHERE valid_from <= $1 AND (valid_to IS NULL OR valid_to > $1) "
        "ORDER BY run, attempt"
    )
    async with service.running():
        then = await append(history(1, run="a", tasks=3, wild=True))
        await service.settled(then)
        frozen = await service.all(at, then - 4)
        await service.settled(await append(history(2, run="b", tasks=3)))
    now = await service.all(at, then - 4)
    unclosed = [{name: value for name, value in row.items() if name != "valid_to"} for row in frozen]
    assert [{name: value for name, value in row.items() if name != "valid_to"} for row in now] == unclosed
    overlaps = await service.all(
        "SELECT FROM leaderboard.api_results a JOIN leaderboard.api_results b USING (workspace, run, attempt) "
        "WHERE a.valid_from < b.valid_from AND coalesce(a.valid_to, 9223372036854775807) > b.valid_from"
    )
    assert overlaps == []


async def test_a_board_has_a_version_for_each_run_that_ended(service: Service, append: Append, history: Any) -> None:
    async with service.running():
        await append(history(1, run="a", pass_rate=1.0))
        await service.settled(await append(history(2, run="b", pass_rate=0.0)))
    first, second = await service.all("SELECT * FROM leaderboard.api_standings ORDER BY position")
    assert (first["valid_to"], second["valid_to"]) == (second["valid_from"], None)
    values = [row["board"]["rows"][0]["metrics"]["pass_at_1"]["value"] for row in (first, second)]
    assert values == [1.0, 0.0]


async def test_a_run_whose_lock_is_gone_is_in_quarantine_and_others_go_on(
    service: Service, append: Append, own_bus: Client, history: Any, pool: Pool
) -> None:
    bad, good = history(1, run="bad"), history(2, run="good")
    logs = {writer: EventLog(own_bus, writer) for writer in ("gateway", "scheduler")}
    async with service.running():
        for writer, event in ((w, e) for w, e in bad.events("lock/none") if w in logs):
            await logs[writer].append(event, workspace="acme", aggregate="run", id="bad")
        await service.settled(await append(good))
        live = await dump(pool, SCHEMA)
    (one,) = await service.all("SELECT * FROM leaderboard.api_quarantine")
    assert (one["aggregate"], one["id"]) == ("run", "bad")
    assert "run.planned: ObjectMissing: lock/none" in one["error"]
    runs = {row["run"]: row for row in await service.all("SELECT * FROM leaderboard.api_runs")}
    assert (runs["bad"]["status"], runs["bad"]["quarantined"]) == ("pending", True)
    assert (runs["good"]["status"], runs["good"]["quarantined"]) == ("finished", False)
    await fill(pool, service.log, service.objects, service.database_url, "again")
    assert await dump(pool, "again") == live


async def test_a_benchmark_row_follows_its_syncs(service: Service, own_bus: Client) -> None:
    gateway, sync = EventLog(own_bus, "gateway"), EventLog(own_bus, "registry-sync")
    of: dict[str, Any] = {"workspace": "acme", "aggregate": "benchmark", "id": "b1"}
    async with service.running():
        await service.settled(await gateway.append(ADDED, **of))
        (row,) = await service.all("SELECT * FROM leaderboard.api_benchmarks")
        assert (row["status"], row["task_count"], row["source"]) == ("pending", None, {"kind": "bundled", "name": "x"})
        await sync.append(SyncStarted(sync="first", total=3), **of)
        done = Synced(sync="first", version="v", manifest="m", tasks=3, unavailable=0, categories=2)
        await service.settled(await sync.append(done, **of))
    (row,) = await service.all("SELECT * FROM leaderboard.api_benchmarks")
    assert (row["status"], row["task_count"], row["category_count"], row["removed"]) == ("ready", 3, 2, False)
    assert row["updated_at"] > row["added_at"]


async def test_a_board_that_cannot_be_computed_harms_no_other(
    service: Service, append: Append, history: Any, pool: Pool
) -> None:
    async with service.running():
        await service.settled(await append(history(1, run="a"), history(2, run="b", benchmark="other")))
    await pool.execute("UPDATE leaderboard.entries SET scores = '{}' WHERE run = 'a'")
    await pool.execute("TRUNCATE leaderboard.standings")
    await service.deriver.catch_up()
    assert [row["benchmark"] for row in await service.all("SELECT * FROM leaderboard.api_standings")] == ["other"]


async def test_a_listener_hears_of_rows_then_of_metrics(
    service: Service, append: Append, history: Any, database_url: str
) -> None:
    heard: list[dict[str, Any]] = []

    def hear(_: object, __: int, ___: str, payload: object) -> None:
        heard.append(json.loads(str(payload)))

    listener = await asyncpg.connect(database_url)
    await listener.add_listener(CHANNEL, hear)
    async with service.running():
        last = await append(history(1, run="a"))
        await service.settled(last)
        async with asyncio.timeout(5):
            while not any(["acme", "bench"] in one["changed"] for one in heard):
                await asyncio.sleep(0.02)
    await listener.close()
    assert max(one["position"] for one in heard) == last
    assert ["acme", "a"] in heard[0]["changed"]
