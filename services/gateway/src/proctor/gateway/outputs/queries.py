"""What the read models and the tables of our own say about a run's outputs."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from proctor.gateway.outputs.tokens import Snapshot
from proctor.service.postgres import Connection, Pool

type Row = Mapping[str, Any]

PREFETCH: Final = 1000

_PLACE: Final = """
SELECT greatest(
           $3::bigint,
           (SELECT max(sequence) FROM leaderboard.api_log WHERE workspace = $1 AND run = $2)
       ) AS position,
       (SELECT coalesce(sum(metrics_position), 0)::bigint FROM leaderboard.api_agents
        WHERE workspace = $1 AND run = $2) AS figures
"""
_RUN: Final = "SELECT * FROM leaderboard.api_runs WHERE workspace = $1 AND run = $2"
_AGENTS: Final = "SELECT * FROM leaderboard.api_agents WHERE workspace = $1 AND run = $2 ORDER BY agent"
_RESULTS: Final = """
SELECT * FROM leaderboard.api_results
WHERE workspace = $1 AND run = $2 AND valid_from <= $3 AND (valid_to IS NULL OR valid_to > $3)
ORDER BY agent, task, number
"""
_FILES: Final = """
SELECT identity, agent_artifacts, verifier_artifacts FROM leaderboard.api_results
WHERE workspace = $1 AND run = $2 AND valid_from <= $3 AND (valid_to IS NULL OR valid_to > $3){}
ORDER BY agent, task, number
"""
_FILES_OF_ALL: Final = _FILES.format("")
_FILES_OF: Final = _FILES.format("""
  AND attempt = ANY(ARRAY(
      SELECT attempt FROM leaderboard.api_results
      WHERE workspace = $1 AND run = $2 AND identity = ANY($4) AND valid_to IS NULL
  ))""")
_LOGGED: Final = """
SELECT coalesce(array_agg(sequence), '{}') FROM leaderboard.api_log
WHERE workspace = $1 AND run = $2 AND sequence <= $3
"""
_STORED: Final = """
SELECT kind, object, size FROM gateway.snapshots
WHERE workspace = $1 AND run = $2 AND position = $3 AND figures = $4
"""
_KEEP: Final = """
INSERT INTO gateway.snapshots (workspace, run, position, figures, kind, object, size)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING
"""
_FORGET: Final = """
DELETE FROM gateway.snapshots
WHERE workspace = $1 AND run = $2 AND (position, figures) <> ($3, $4) AND created_at < now() - interval '1 hour'
RETURNING object
"""


class Stored(NamedTuple):
    """An object that holds one file and nothing else."""

    object: str
    size: int


async def run_row(connection: Connection | Pool, workspace: str, run: str) -> Row | None:
    row = await connection.fetchrow(_RUN, workspace, run)
    return dict(row) if row else None


async def place(connection: Connection, run: Row) -> Snapshot:
    """Where the read models are with the run now."""
    row = await connection.fetchrow(_PLACE, run["workspace"], run["run"], run["position"])
    assert row is not None  # noqa: S101 - it has no FROM
    return Snapshot(run["workspace"], run["run"], row["position"], row["figures"])


async def agent_rows(connection: Connection, snapshot: Snapshot) -> Sequence[Row]:
    return [dict(row) for row in await connection.fetch(_AGENTS, snapshot.workspace, snapshot.run)]


async def result_rows(connection: Connection, snapshot: Snapshot) -> AsyncIterator[Row]:
    """Only within a transaction."""
    async for row in connection.cursor(
        _RESULTS, snapshot.workspace, snapshot.run, snapshot.position, prefetch=PREFETCH
    ):
        yield dict(row)


async def artifact_rows(pool: Pool, snapshot: Snapshot, identities: Sequence[str] | None) -> Sequence[Row]:
    """What each result left; of all results where none is named."""
    place = (snapshot.workspace, snapshot.run, snapshot.position)
    rows = await (
        pool.fetch(_FILES_OF_ALL, *place) if identities is None else pool.fetch(_FILES_OF, *place, identities)
    )
    return [dict(row) for row in rows]


async def logged(connection: Connection, snapshot: Snapshot) -> Sequence[int]:
    """The events that are lines of the log; others changed nothing."""
    return await connection.fetchval(_LOGGED, snapshot.workspace, snapshot.run, snapshot.position)


async def stored(connection: Connection | Pool, snapshot: Snapshot) -> dict[str, Stored]:
    """By kind."""
    rows = await connection.fetch(_STORED, *snapshot)
    return {row["kind"]: Stored(row["object"], row["size"]) for row in rows}


async def keep(pool: Pool, snapshot: Snapshot, kind: str, made: Stored) -> None:
    await pool.execute(_KEEP, *snapshot, kind, *made)


async def forget(pool: Pool, snapshot: Snapshot) -> list[str]:
    """Objects of older snapshots of the run that nobody can still be downloading."""
    rows = await pool.fetch(_FORGET, *snapshot)
    return [row["object"] for row in rows]
