"""What follows from committed rows alone: metrics of agents and boards of benchmarks. Each is a function of the rows
at its position, so it may be computed late, twice or after a crash and comes out the same."""

import asyncio
import logging
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import asyncpg

from proctor.leaderboard.board import board
from proctor.leaderboard.entry import Entry
from proctor.leaderboard.scores import Json, Score, entrant, run_metrics, run_ranks
from proctor.leaderboard.tables import ENTRY_COLUMNS
from proctor.service.postgres import Connection, Pool
from proctor.service.projection import notify
from proctor.statistics import Entrant

logger = logging.getLogger(__name__)

PAUSE_SECONDS: Final = 0.5
"""Between two computations at least: a run that moves fast isn't computed at each step."""


class Deriver:
    """Brings up to date what `schema` lacks. `channel` is told, unless it is None."""

    def __init__(self, pool: Pool, schema: str, channel: str | None = None) -> None:
        self._pool, self._schema, self._channel = pool, schema, channel
        self._awake = asyncio.Event()
        self._awake.set()

    def wake(self) -> None:
        self._awake.set()

    async def follow(self) -> None:
        """For ever, whenever awake."""
        while True:
            await self._awake.wait()
            self._awake.clear()
            begun = asyncio.get_running_loop().time()
            try:
                await self.catch_up()
            except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                logger.warning("metrics and boards wait for the database", exc_info=True)
                self._awake.set()
            spent = asyncio.get_running_loop().time() - begun
            await asyncio.sleep(max(PAUSE_SECONDS, 4 * spent))

    async def catch_up(self) -> None:
        """Everything that is missing now."""
        async with self._pool.acquire() as connection:
            await connection.execute(f'SET search_path TO "{self._schema}"')
            for workspace, run in await _stale_runs(connection):
                with _alone(f"metrics of run {run} of {workspace}"):
                    await self._metrics(connection, workspace, run)
            for workspace, benchmark, position in await _missing_boards(connection):
                with _alone(f"board of {benchmark} of {workspace} at {position}"):
                    await self._board(connection, workspace, benchmark, position)

    async def _metrics(self, connection: Connection, workspace: str, run: str) -> None:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            agents = await connection.fetch(_AGENTS, workspace, run)
            results = await connection.fetch(_SCORES, workspace, run)
        scores = [(row["agent"], Score(*(row[name] for name in Score._fields))) for row in results]
        found = await asyncio.to_thread(_agent_metrics, agents, scores)
        async with connection.transaction():
            await connection.executemany(
                "UPDATE agents SET metrics = $4, metrics_position = $5 "
                "WHERE workspace = $1 AND run = $2 AND agent = $3 AND metrics_position < $5",
                [(workspace, run, agent, value, position) for agent, position, value in found],
            )
            await self._tell(connection, max(position for _, position, _ in found), workspace, run)

    async def _board(self, connection: Connection, workspace: str, benchmark: str, position: int) -> None:
        rows = await connection.fetch(_ENTRIES, workspace, benchmark, position)
        entries = [Entry(**{name: row[name] for name in ENTRY_COLUMNS}) for row in rows]
        found = await asyncio.to_thread(board, position, entries)
        async with connection.transaction():
            await connection.execute(
                "INSERT INTO standings (workspace, benchmark, position, board) VALUES ($1, $2, $3, $4) "
                "ON CONFLICT DO NOTHING",
                workspace,
                benchmark,
                position,
                found,
            )
            await self._tell(connection, position, workspace, benchmark)

    async def _tell(self, connection: Connection, position: int, workspace: str, changed: str) -> None:
        if self._channel is not None:
            await notify(connection, self._channel, position, [(workspace, changed)])


@contextmanager
def _alone(what: str) -> Generator[None]:
    """One that can't be computed stays out, and the others go on."""
    try:
        yield
    except (ValueError, ArithmeticError, LookupError, TypeError):
        logger.exception("no %s", what)


def _agent_metrics(agents: Sequence[Any], scores: Sequence[tuple[int, Score]]) -> list[tuple[int, int, Json | None]]:
    """(agent, position, metrics) of each; no metrics before there is a plan."""
    if not agents[0]["tasks"]:
        return [(row["agent"], row["position"], None) for row in agents]
    own = {row["agent"]: [score for agent, score in scores if agent == row["agent"]] for row in agents}
    entrants = {row["agent"]: _entrant(row, own[row["agent"]]) for row in agents}
    ranks = run_ranks(entrants, ended=agents[0]["ended"])
    return [
        (agent, row["position"], {**ranks[agent], **run_metrics(entrants[agent], own[agent])})
        for row in agents
        for agent in [row["agent"]]
    ]


def _entrant(row: Any, own: Sequence[Score]) -> Entrant:  # noqa: ANN401 - a database row
    return entrant(
        str(row["agent"]),
        finished=row["agent"],
        version=row["version"],
        tasks=[f"{index:06}" for index in range(row["tasks"])],
        attempts_per_task=row["attempts_per_task"],
        scores=own,
    )


async def _stale_runs(connection: Connection) -> list[tuple[str, str]]:
    rows = await connection.fetch(
        "SELECT DISTINCT workspace, run FROM agents WHERE metrics_position < position ORDER BY workspace, run"
    )
    return [(row["workspace"], row["run"]) for row in rows]


async def _missing_boards(connection: Connection) -> list[tuple[str, str, int]]:
    rows = await connection.fetch(
        "SELECT DISTINCT workspace, benchmark, e.position FROM entries e "
        "LEFT JOIN standings s USING (workspace, benchmark, position) WHERE s.board IS NULL ORDER BY e.position"
    )
    return [(row["workspace"], row["benchmark"], row["position"]) for row in rows]


_AGENTS: Final = """
SELECT a.agent, a.position, r.version, r.tasks, r.attempts_per_task, r.ended_at IS NOT NULL AS ended
FROM agents a JOIN runs r USING (workspace, run) WHERE workspace = $1 AND run = $2 ORDER BY a.agent
"""
_SCORES: Final = """
SELECT agent, task, category, counts AND outcome IS NOT NULL AS counts, passed, kind, cost_usd, agent_seconds,
       input_tokens, output_tokens
FROM results WHERE workspace = $1 AND run = $2 AND valid_to IS NULL ORDER BY agent, task, number
"""
_ENTRIES: Final = f"""
SELECT DISTINCT ON (entrant, eligible) {", ".join(f'"{name}"' for name in ENTRY_COLUMNS)}
FROM entries WHERE workspace = $1 AND benchmark = $2 AND position <= $3
ORDER BY entrant, eligible, position DESC, agent DESC
"""  # noqa: S608 - names of our own
